"""W1: one document: opened where the words are, read, renamed, tagged, saved and deleted."""

import json
import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Locator, Page, Route, expect
from tests.browser.accessibility import check_accessibility
from tests.browser.filling import add_file, add_note, delete_document, get_document, rewrite_note
from tests.browser.looks import DARK_PHONE, LIGHT
from tests.browser.watching import Watch
from tests.engine_program import EngineProgram

SAMPLES = Path(__file__).parents[1] / "samples"
PARAGRAPHS = 120
MOST_PRESSES = 100
# Each is drawn by a process of its own.
DRAWN_WITHIN_MS = 30_000


@pytest.fixture(scope="module")
def handbook(shared_engine: EngineProgram) -> int:
    return add_file(shared_engine, SAMPLES / "pdf" / "handbook-libreoffice.pdf", ["garden"])


@pytest.fixture(scope="module")
def long_document(shared_engine: EngineProgram, tmp_path_factory: pytest.TempPathFactory) -> int:
    """Each paragraph is a chunk of its own."""
    path = tmp_path_factory.mktemp("long") / "ledger.txt"
    paragraphs = [f"Entry {number}. " + "The clerk wrote down what came in. " * 11 for number in range(PARAGRAPHS)]
    path.write_text("\n\n".join(paragraphs))
    return add_file(shared_engine, path)


def heading(page: Page) -> Locator:
    return page.get_by_role("heading", level=1)


def notice(page: Page) -> Locator:
    return page.locator("#notices")


def test_a_long_document_opens_at_its_chunk_and_is_fetched_as_it_is_read(
    page: Page, engine: EngineProgram, long_document: int
) -> None:
    """W1, E11."""
    chunks = get_document(engine, long_document)["chunks"]
    assert len(chunks) >= PARAGRAPHS
    wanted = chunks[len(chunks) // 2]
    page.goto(f"/#/documents/{long_document}?chunk={wanted['id']}&q=%22clerk%22+-came")

    found = page.locator(".wanted")
    expect(found).to_contain_text(wanted["text"][:10])
    expect(found).to_be_in_viewport()
    expect(found).to_be_focused()
    assert set(found.locator("mark").all_inner_texts()) == {"clerk"}
    assert page.locator(".chunk").count() < len(chunks)

    last = page.get_by_text(chunks[-1]["text"][:12]).last
    # The way to the end is a movement, which ends early where text comes in before it; people press again.
    for _ in range(MOST_PRESSES):
        page.keyboard.press("End")
        page.wait_for_timeout(300)
        if last.is_visible() and last.evaluate("(node) => node.getBoundingClientRect().top < innerHeight"):
            break
    expect(last).to_be_in_viewport()


def test_a_note_opens_at_its_passage_and_the_search_box_is_left(page: Page, engine: EngineProgram) -> None:
    add_note(engine, "# Narwhals\n\nTheir tusk is a tooth.", "On narwhals")
    page.goto("/#/?q=narwhal+tusk")
    expect(page.get_by_label("Results").get_by_role("link").first).to_contain_text("On narwhals")

    page.get_by_label("Search", exact=True).press("Enter")

    expect(page.locator(".wanted")).to_be_focused()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()


def test_pages_stand_beside_the_text_and_can_be_turned(page: Page, handbook: int) -> None:
    page.goto(f"/#/documents/{handbook}?page=2&q=heater")
    picture = page.get_by_role("img", name="Page 2 of Greenhouse Handbook")
    expect(picture).to_be_visible(timeout=DRAWN_WITHIN_MS)
    assert picture.evaluate("(image) => image.naturalWidth") > 400
    expect(page.locator(".reading mark").first).to_have_text("heater")
    expect(page.get_by_role("button", name="Show page 2")).to_be_in_viewport()

    page.keyboard.press("[")

    expect(page.get_by_role("img", name="Page 1 of Greenhouse Handbook")).to_be_visible(timeout=DRAWN_WITHIN_MS)
    expect(page.get_by_text("Page 1 of 2", exact=True)).to_be_visible()
    assert "page=1" in page.url
    page.get_by_role("button", name="Next page").click()
    expect(picture).to_be_visible(timeout=DRAWN_WITHIN_MS)
    page.keyboard.press("]")
    expect(page.get_by_text("Page 2 of 2", exact=True)).to_be_visible()


def test_a_phone_shows_the_text_or_the_pages(phone_page: Page, handbook: int) -> None:
    phone_page.goto(f"/#/documents/{handbook}")
    expect(phone_page.get_by_role("heading", name="Heating")).to_be_visible()
    expect(phone_page.get_by_role("region", name="Pages")).to_be_hidden()

    phone_page.get_by_role("button", name="Pages").click()

    expect(phone_page.get_by_role("img", name=re.compile("^Page 1"))).to_be_visible(timeout=DRAWN_WITHIN_MS)
    expect(phone_page.get_by_role("heading", name="Heating")).to_be_hidden()
    assert phone_page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_title_is_changed_in_place(page: Page, engine: EngineProgram) -> None:
    """W1, E12: a change that somebody else has made meanwhile is not lost."""
    document_id = add_note(engine, "Words.", "Old name")
    page.goto(f"/#/documents/{document_id}")
    expect(heading(page)).to_have_text("Old name")

    page.keyboard.press("r")
    expect(page.get_by_label("Title")).to_be_focused()
    page.keyboard.type("New name")
    page.keyboard.press("Enter")

    expect(heading(page)).to_have_text("New name")
    expect(page.get_by_role("button", name="Rename")).to_be_focused()
    assert get_document(engine, document_id)["title"] == "New name"
    assert page.title() == "New name · kb"


def test_a_stale_title_is_refused(page: Page, engine: EngineProgram, watch: Watch) -> None:
    watch.allow("status of 412")
    document_id = add_note(engine, "Words.", "Mine")
    page.goto(f"/#/documents/{document_id}")
    page.get_by_role("button", name="Rename").click()

    # The page is not told of what happens to the document before it sends its own change.
    def overtake(route: Route) -> None:
        rename(engine, document_id, "Theirs")
        route.continue_()

    page.route("**/api/v1/documents/*", overtake, times=1)

    page.get_by_label("Title").fill("Mine again")
    page.keyboard.press("Enter")

    expect(notice(page)).to_contain_text("Somebody changed this document meanwhile")
    page.get_by_role("button", name="Cancel").click()
    expect(heading(page)).to_have_text("Theirs")


def rename(engine: EngineProgram, document_id: int, title: str) -> None:
    url = f"{engine.url}/api/v1/documents/{document_id}"
    httpx.patch(url, json={"title": title}, trust_env=False).raise_for_status()


def test_metadata_and_tags_are_shown_and_changed(page: Page, engine: EngineProgram) -> None:
    """W1, E12, E16."""
    document_id = add_note(engine, "Words.", "With metadata", ["early"])
    page.goto(f"/#/documents/{document_id}")
    page.get_by_text("About this document").click()
    page.get_by_role("button", name="Change", exact=True).click()
    dialog = page.get_by_role("dialog", name="Change the metadata")
    dialog.get_by_label("Metadata").fill("{not JSON")
    dialog.get_by_role("button", name="Save").click()
    expect(dialog).to_be_visible()
    dialog.get_by_label("Metadata").fill('{"shelf": "north", "copies": 3}')
    dialog.get_by_role("button", name="Save").click()

    expect(page.get_by_role("definition").filter(has_text="north")).to_be_visible()
    assert get_document(engine, document_id)["metadata"] == {"shelf": "north", "copies": 3}
    page.keyboard.press("t")
    page.keyboard.type("late")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.get_by_role("main").get_by_role("link", name="late")).to_be_visible()
    expect(page.get_by_role("main").get_by_role("link", name="early")).to_be_visible()


def test_a_note_is_shown_as_it_was_meant_and_follows_its_changes(page: Page, engine: EngineProgram) -> None:
    document_id = add_note(engine, "# Plan\n\n- **bold** step\n- <script>alert(1)</script>", "Plan")
    page.goto(f"/#/documents/{document_id}?q=step")
    expect(page.locator(".markdown strong")).to_have_text("bold")
    expect(page.locator(".markdown mark")).to_have_text("step")
    expect(page.get_by_text("<script>alert(1)</script>")).to_be_visible()
    assert page.get_by_role("link", name="Edit").get_attribute("href") == f"#/notes/{document_id}/edit"
    assert page.get_by_role("link", name="History").get_attribute("href") == f"#/notes/{document_id}/history"

    rewrite_note(engine, document_id, "# Plan\n\nEverything is **different** now.")

    expect(page.locator(".markdown strong")).to_have_text("different")


def test_the_original_is_saved_as_it_is(page: Page, handbook: int) -> None:
    """W1, E13: through a request with the key in its header, never in an address."""
    page.goto(f"/#/documents/{handbook}")

    with page.expect_download() as downloading:
        page.get_by_role("button", name="Download").click()

    assert downloading.value.suggested_filename == "handbook-libreoffice.pdf"
    assert downloading.value.url.startswith("blob:")
    original = SAMPLES / "pdf" / "handbook-libreoffice.pdf"
    assert Path(downloading.value.path()).read_bytes() == original.read_bytes()


def test_citation_command_and_json_can_be_copied(page: Page, handbook: int) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(f"/#/documents/{handbook}?page=2")
    copied = []
    for item in ("Citation", re.compile("^Command"), "JSON"):
        page.get_by_text("Copy", exact=True).click()
        page.get_by_role("button", name=item).click()
        expect(notice(page).get_by_text("copied").last).to_be_visible()
        copied.append(page.evaluate("navigator.clipboard.readText()"))

    assert copied[0] == f"Greenhouse Handbook, page 2 (handbook-libreoffice.pdf; kb document {handbook})"
    assert copied[1] == f"kb get {handbook}"
    assert json.loads(copied[2])["id"] == handbook


def test_who_presses_a_button_while_the_text_is_fetched_stays_there(page: Page, handbook: int) -> None:
    held: list[Route] = []
    is_held = True

    def hold(route: Route) -> None:
        if is_held:
            held.append(route)
        else:
            route.continue_()

    page.route(re.compile("chunk_limit="), hold)
    page.goto(f"/#/documents/{handbook}?page=2")

    page.get_by_text("Copy", exact=True).click()
    expect(page.get_by_role("button", name="Citation")).to_be_visible()
    is_held = False
    for route in held:
        route.continue_()

    expect(page.get_by_role("button", name="Show page 2")).to_be_in_viewport()
    expect(page.get_by_role("button", name="Citation")).to_be_visible()


def test_a_deleted_document_can_be_brought_back(page: Page, engine: EngineProgram) -> None:
    """W1, E14."""
    document_id = add_note(engine, "Words.", "Precious")
    page.goto(f"/#/documents/{document_id}")
    expect(heading(page)).to_have_text("Precious")

    page.keyboard.press("#")
    expect(heading(page)).to_have_text("Documents")
    expect(page.get_by_role("grid").get_by_role("link", name="Precious", exact=True)).to_have_count(0)
    page.go_back()
    expect(heading(page)).to_have_text("This document is not there")
    page.get_by_role("button", name="Undo", exact=True).click()

    expect(heading(page)).to_have_text("Precious")


def test_what_others_delete_is_told(page: Page, engine: EngineProgram) -> None:
    document_id = add_note(engine, "Words.", "Short-lived")
    page.goto(f"/#/documents/{document_id}")
    expect(heading(page)).to_have_text("Short-lived")

    delete_document(engine, document_id)

    expect(heading(page)).to_have_text("This document is not there")
    page.get_by_role("main").get_by_role("link", name="All documents").click()
    expect(heading(page)).to_have_text("Documents")


def test_an_unknown_document_is_told(page: Page, watch: Watch) -> None:
    watch.allow("status of 404")
    page.goto("/#/documents/999999999")

    expect(heading(page)).to_have_text("This document is not there")
    check_accessibility(page)


@pytest.mark.parametrize("look", [LIGHT, DARK_PHONE])
def test_a_document_shuts_nobody_out(page: Page, handbook: int) -> None:
    page.goto(f"/#/documents/{handbook}?q=heater")
    expect(page.locator(".reading mark").first).to_be_visible()
    page.get_by_text("About this document").click()

    check_accessibility(page)
