"""Writing notes on the page, and two people writing the same one."""

import re

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.accessibility import check_accessibility
from tests.browser.conftest import READING_KEY
from tests.browser.filling import add_note, delete_document, get_document, rewrite_note
from tests.browser.looks import DARK_PHONE, LIGHT, Look
from tests.browser.watching import Watch
from tests.engine_program import EngineProgram

TEXT = "# Tide table\n\nHigh water at **six**.\n\nLow water at noon.\n"
CONFLICT = r"console error: .*412 \(Precondition Failed\)"
UNLOADING = r"dialog beforeunload"
# By an engine that has only just started, and still loads the model.
EMBEDDED_WITHIN_MS = 60_000


def field(page: Page) -> Locator:
    return page.get_by_label("Text", exact=True)


def preview(page: Page) -> Locator:
    return page.get_by_label("Preview", exact=True)


def open_editor(page: Page, note: int) -> Locator:
    page.goto(f"/#/notes/{note}/edit")
    expect(field(page)).to_be_focused()
    return field(page)


def text_of(engine: EngineProgram, note: int) -> str:
    text: str = get_document(engine, note)["text"]
    return text


def expect_text(page: Page, engine: EngineProgram, note: int, text: str) -> None:
    """Soon: it may not have begun to be saved when nothing says any more that it is not."""
    for _ in range(100):
        if text_of(engine, note) == text:
            break
        # Which lets the page's requests through.
        page.wait_for_timeout(100)
    assert text_of(engine, note) == text


@pytest.mark.parametrize("look", [LIGHT, DARK_PHONE], ids=["light", "dark phone"])
def test_the_editor_shuts_nobody_out(page: Page, engine: EngineProgram, look: Look) -> None:
    """W1."""
    open_editor(page, add_note(engine, TEXT, tags=["tide"]))

    if look.is_phone:
        page.get_by_role("button", name="Preview").click()
        expect(field(page)).to_be_hidden()
    expect(preview(page).get_by_role("heading", name="Tide table")).to_be_visible()

    check_accessibility(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]  # type: ignore[index]


def test_a_note_is_written_by_keyboard_alone(page: Page, engine: EngineProgram) -> None:
    """W1: from the start page to the note, tags and emphasis included; its title is its first line."""
    page.goto("/#/documents")
    expect(page.get_by_role("heading", level=1)).to_be_visible()

    page.keyboard.press("n")
    expect(field(page)).to_be_focused()
    page.keyboard.type("# Cormorants\n\nThey dry their wings in the ")
    page.keyboard.press("Control+b")
    page.keyboard.type("wind")
    expect(preview(page).locator("strong")).to_have_text("wind")
    page.keyboard.press("Shift+Tab")
    page.keyboard.type("birds")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Control+Enter")

    expect(page).to_have_url(re.compile(r"#/documents/\d+$"))
    note = get_document(engine, int(page.url.rpartition("/")[2]))
    assert (note["title"], note["tags"]) == ("Cormorants", ["birds"])
    assert note["text"] == "# Cormorants\n\nThey dry their wings in the **wind**"


def test_a_given_title_stays_and_a_derived_one_follows_the_text(page: Page, engine: EngineProgram) -> None:
    """I7."""
    derived, given = add_note(engine, "First words"), add_note(engine, "First words", title="A name")

    for note in (derived, given):
        open_editor(page, note).fill("Other words")
        page.keyboard.press("Control+Enter")
        expect(page).to_have_url(re.compile(rf"#/documents/{note}$"))

    assert get_document(engine, derived)["title"] == "Other words"
    assert get_document(engine, given)["title"] == "A name"


def test_text_from_an_address_becomes_a_note(page: Page) -> None:
    """W1: and is taken out of the address, so that a reload does not add it again."""
    page.goto("/#/notes/new?text=Some%20%2Awords%2A")

    expect(field(page)).to_have_value("Some *words*")
    expect(preview(page).locator("em")).to_have_text("words")
    expect(page).to_have_url(re.compile(r"#/notes/new$"))


def test_unsaved_text_survives_a_reload_and_can_be_discarded(page: Page, engine: EngineProgram, watch: Watch) -> None:
    """W1: it is kept for the tab, and forgotten once it is saved or given up."""
    watch.allow(UNLOADING)
    note = add_note(engine, TEXT)
    open_editor(page, note).fill("Words that nobody saved")

    page.reload()
    expect(field(page)).to_have_value("Words that nobody saved")
    expect(page.get_by_text("did not save is here again")).to_be_visible()
    page.get_by_role("button", name="Discard it").click()

    expect(field(page)).to_have_value(TEXT)
    page.reload()
    expect(field(page)).to_have_value(TEXT)
    expect(page.get_by_text("did not save is here again")).to_have_count(0)
    assert text_of(engine, note) == TEXT


def test_leaving_asks_before_anything_is_lost(page: Page, engine: EngineProgram) -> None:
    """W1: Escape asks; a step elsewhere keeps the text and offers it."""
    note = add_note(engine, TEXT)
    editor = open_editor(page, note)
    page.keyboard.type("Mine. ")

    page.keyboard.press("Escape")
    page.get_by_role("button", name="Cancel").last.click()
    expect(editor).to_have_value("Mine. " + TEXT)
    page.get_by_role("link", name="Map").click()
    page.get_by_role("button", name="Go back to it").click()
    expect(field(page)).to_have_value("Mine. " + TEXT)
    field(page).press("Escape")
    page.get_by_role("button", name="Discard my changes").click()

    expect(page).to_have_url(re.compile(rf"#/documents/{note}$"))
    assert text_of(engine, note) == TEXT


def conflicting_tabs(page: Page, engine: EngineProgram, watch: Watch) -> tuple[int, Page]:
    """Two tabs have a note open; the other has saved, and this one has tried to."""
    watch.allow(CONFLICT)
    note = add_note(engine, TEXT)
    open_editor(page, note)
    other = page.context.new_page()
    open_editor(other, note).fill(TEXT.replace("noon", "one"))
    other.keyboard.press("Control+s")
    expect(other.get_by_text("Not saved")).to_have_count(0)
    expect_text(other, engine, note, TEXT.replace("noon", "one"))

    page.bring_to_front()
    field(page).fill(TEXT.replace("six", "seven"))
    expect(page.get_by_text("This note was changed elsewhere.")).to_be_visible()
    field(page).press("Control+s")
    expect(page.get_by_role("heading", name="Changed elsewhere")).to_be_focused()
    return note, other


def test_a_conflict_shows_both_texts_and_mine_can_be_kept(page: Page, engine: EngineProgram, watch: Watch) -> None:
    """W1, E17: what is stored stays until somebody has chosen, and in the history afterwards."""
    note, _ = conflicting_tabs(page, engine, watch)

    expect(page.get_by_role("region", name="Yours")).to_contain_text("at **seven**")
    expect(page.get_by_role("region", name="Stored now")).to_contain_text("at one")
    expect(page.get_by_label("Differences").locator("ins mark")).to_have_text(["seven", "noon"])
    check_accessibility(page)
    assert text_of(engine, note) == TEXT.replace("noon", "one")
    page.get_by_role("button", name="Keep mine").click()

    expect(field(page)).to_be_focused()
    expect(page.get_by_text("Not saved")).to_have_count(0)
    expect_text(page, engine, note, TEXT.replace("six", "seven"))


def test_after_a_conflict_theirs_can_be_taken_and_mine_brought_back(
    page: Page, engine: EngineProgram, watch: Watch
) -> None:
    """W1."""
    note, _ = conflicting_tabs(page, engine, watch)

    page.get_by_role("button", name="Take the stored one").click()
    expect(field(page)).to_have_value(TEXT.replace("noon", "one"))
    page.get_by_role("button", name="Bring it back").click()
    expect(field(page)).to_have_value(TEXT.replace("six", "seven"))

    assert text_of(engine, note) == TEXT.replace("noon", "one")


def test_after_a_conflict_both_can_be_merged(page: Page, engine: EngineProgram, watch: Watch) -> None:
    """W1: the stored lines first, then mine, and what differs beside them."""
    note, _ = conflicting_tabs(page, engine, watch)

    page.get_by_role("button", name="Merge by hand").click()
    expect(page.get_by_label("Differences").locator("ins")).to_have_count(2)
    page.keyboard.press("Control+a")
    page.keyboard.type("Both")
    page.keyboard.press("Control+s")

    expect(page.get_by_text("Not saved")).to_have_count(0)
    expect_text(page, engine, note, "Both")


def test_a_tag_changed_elsewhere_is_no_conflict(page: Page, engine: EngineProgram, watch: Watch) -> None:
    """W1: both changes stay."""
    watch.allow(CONFLICT)
    note = add_note(engine, TEXT, tags=["tide"])
    open_editor(page, note).fill("New words")
    body = {"add": ["theirs"], "remove": ["tide"]}
    httpx.patch(f"{engine.url}/api/v1/documents/{note}/tags", json=body, trust_env=False).raise_for_status()

    page.keyboard.press("Control+Enter")

    expect(page).to_have_url(re.compile(rf"#/documents/{note}$"))
    expect_text(page, engine, note, "New words")
    assert get_document(engine, note)["tags"] == ["theirs"]


def test_a_change_elsewhere_is_told_at_once_and_taken_over(page: Page, engine: EngineProgram) -> None:
    """W1: without anything written, Look shows the new text."""
    note = add_note(engine, TEXT)
    open_editor(page, note)

    rewrite_note(engine, note, "Written by an agent")
    page.get_by_role("button", name="Look").click()

    expect(field(page)).to_have_value("Written by an agent")
    expect(page.get_by_text("changed elsewhere")).to_have_count(0)


def test_a_note_deleted_elsewhere_is_saved_as_a_new_one(page: Page, engine: EngineProgram) -> None:
    """W1."""
    note = add_note(engine, TEXT)
    open_editor(page, note).fill("Still wanted")

    delete_document(engine, note)
    expect(page.get_by_text("This note was deleted elsewhere.")).to_be_visible()
    field(page).press("Control+Enter")

    expect(page).to_have_url(re.compile(r"#/documents/\d+$"))
    saved = int(page.url.rpartition("/")[2])
    assert saved != note
    assert text_of(engine, saved) == "Still wanted"


def test_an_engine_that_is_away_costs_no_text(empty_page: Page, empty_engine: EngineProgram, watch: Watch) -> None:
    """W1: what is written stays, the page says why, and saving again works, once."""
    watch.allow("net::ERR_")
    watch.allow("console error: Failed to load resource")
    page = empty_page
    page.goto("/#/notes/new")
    field(page).fill("Written in a storm")
    empty_engine.stop()

    page.keyboard.press("Control+s")
    expect(page.get_by_text("The engine cannot be reached. Your text stays here")).to_be_visible()
    expect(field(page)).to_have_value("Written in a storm")
    empty_engine.start()
    expect(page.get_by_text("The engine does not answer.")).to_have_count(0)
    page.keyboard.press("Control+s")

    expect(page).to_have_url(re.compile(r"#/documents/\d+$"), timeout=EMBEDDED_WITHIN_MS)
    answer = httpx.get(f"{empty_engine.url}/api/v1/documents", trust_env=False, timeout=60).json()
    assert [document["title"] for document in answer["documents"]] == ["Written in a storm"]


def test_a_key_that_may_only_read_is_told_plainly(keyed_page: Page, watch: Watch) -> None:
    """W1: the text stays where it is."""
    watch.allow(r"401 \(Unauthorized\)")
    watch.allow(r"403 \(Forbidden\)")
    page = keyed_page
    page.goto("/#/notes/new")
    page.get_by_role("dialog").get_by_label("Key").fill(READING_KEY)
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    field(page).fill("Not to be saved")

    page.keyboard.press("Control+s")

    expect(page.get_by_text("Your key may only read")).to_be_visible()
    expect(field(page)).to_have_value("Not to be saved")


def test_a_note_that_is_too_long_is_not_sent(page: Page) -> None:
    """E4: a million characters; those beyond the first plane count once."""
    page.goto("/#/notes/new")
    field(page).fill("🌊" * 1_000_001)

    page.keyboard.press("Control+s")

    expect(page.get_by_text("1,000,001 characters of 1,000,000")).to_be_visible()
    expect(page.get_by_text("at most 1,000,000 characters")).to_be_visible()
