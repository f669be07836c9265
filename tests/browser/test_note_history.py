"""What a note said before: its versions, what changed, and the way back."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.accessibility import check_accessibility
from tests.browser.filling import add_note, get_document, rewrite_note
from tests.browser.looks import DARK_PHONE, LIGHT
from tests.browser.modules import with_modules
from tests.browser.watching import Watch
from tests.engine_program import EngineProgram

FIRST = "# Tides\n\nHigh water at six.\n\nLow water at noon."
SECOND = FIRST.replace("six", "seven")
THIRD = SECOND + "\n\nSpring tide on Friday."

COMPARE = with_modules("""async ([before, after]) => {
  const { diffTexts } = await load("kit/diff.js");
  const signs = { same: " ", removed: "-", added: "+" };
  const text = (parts) => parts.map((part) => (part.isChanged ? `[${part.text}]` : part.text)).join("");
  return diffTexts(before, after).map(({ kind, parts }) => signs[kind] + text(parts));
}""")
COMPARE_LARGE = with_modules("""async (texts) => {
  const { diffTexts } = await load("kit/diff.js");
  const start = performance.now();
  const grow = (text) => text.repeat(1e6 / text.length);
  for (const [before, after] of texts) diffTexts(grow(before), grow(after));
  return performance.now() - start;
}""")
MOST_MS = 20_000


def versions(page: Page) -> Locator:
    return page.get_by_role("list", name="Versions").get_by_role("link")


def differences(page: Page) -> Locator:
    return page.get_by_label("Differences")


def note_with_history(engine: EngineProgram) -> int:
    note = add_note(engine, FIRST)
    rewrite_note(engine, note, SECOND)
    rewrite_note(engine, note, THIRD)
    return note


@pytest.mark.parametrize("look", [LIGHT, DARK_PHONE], ids=["light", "dark phone"])
def test_each_version_shows_what_it_changed(page: Page, engine: EngineProgram) -> None:
    """W1, E18: words are marked; the address says which version."""
    page.goto(f"/#/notes/{note_with_history(engine)}/history?version=2")

    expect(versions(page)).to_have_count(3)
    expect(differences(page).locator("del mark")).to_have_text("six")
    expect(differences(page).locator("ins mark")).to_have_text("seven")
    check_accessibility(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]  # type: ignore[index]
    page.get_by_role("link", name="Compared with the present").click()

    expect(differences(page).locator("ins")).to_have_text(["Added: ", "Added: Spring tide on Friday."])
    expect(page).to_have_url(re.compile(r"version=2&against=3$"))
    page.go_back()
    expect(differences(page).locator("ins mark")).to_have_text("seven")


def test_a_version_is_found_and_brought_back_by_keyboard(page: Page, engine: EngineProgram) -> None:
    """W1, E18: bringing back is a change like any other, so nothing is lost."""
    note = note_with_history(engine)
    page.goto(f"/#/notes/{note}/history")
    expect(page.get_by_role("heading", name="Version 3")).to_be_visible()

    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("heading", name="Version 2")).to_be_visible()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("heading", name="Version 1")).to_be_visible()
    expect(page.get_by_text("The first version.")).to_be_visible()
    page.get_by_role("button", name="Bring this version back").press("Enter")
    page.get_by_role("button", name="Bring it back").press("Enter")

    expect(page.get_by_role("heading", name="Version 4")).to_be_visible()
    expect(versions(page)).to_have_count(4)
    expect(versions(page).first).to_be_focused()
    assert get_document(engine, note)["text"] == FIRST


def test_a_version_is_not_brought_back_over_what_nobody_has_seen(
    page: Page, engine: EngineProgram, watch: Watch
) -> None:
    """E18: the list as it was read guards it."""
    watch.allow(r"412 \(Precondition Failed\)")
    note = note_with_history(engine)
    # Nobody tells this tab of the change: it never hears anything.
    page.route("**/api/v1/events", lambda route: None)
    page.goto(f"/#/notes/{note}/history?version=1")
    expect(versions(page)).to_have_count(3)
    rewrite_note(engine, note, "Written meanwhile")

    page.get_by_role("button", name="Bring this version back").click()
    page.get_by_role("button", name="Bring it back").click()

    expect(page.get_by_text("The note was changed meanwhile.")).to_be_visible()
    expect(versions(page)).to_have_count(4)
    assert get_document(engine, note)["text"] == "Written meanwhile"


def test_a_new_version_appears_while_it_is_looked_at(page: Page, engine: EngineProgram) -> None:
    """W1."""
    note = note_with_history(engine)
    page.goto(f"/#/notes/{note}/history")
    expect(versions(page)).to_have_count(3)

    rewrite_note(engine, note, "One more")

    expect(versions(page)).to_have_count(4)


def test_texts_are_compared_by_line_and_word(page: Page) -> None:
    """W1."""
    page.goto("/")
    before = ["a", "the tide comes at noon", "b", "c", "", "d"]
    after = ["a", "the tide comes at one", "b", "", "d", "e"]

    rows = page.evaluate(COMPARE, ["\n".join(before), "\n".join(after)])

    assert rows == [
        " a",
        "-the tide comes at [noon]",
        "+the tide comes at [one]",
        " b",
        "-c",
        " ",
        " d",
        "+e",
    ]


def test_a_million_characters_are_compared_in_time(page: Page) -> None:
    """W1: some seconds for all of them; what cannot be told apart in time is a replaced block."""
    page.goto("/")

    took_ms = page.evaluate(COMPARE_LARGE, [["\n", "a\n"], ["a\nb\n", "b\nb\na\n"], ["a", "b"], ["a b \n", "b a c \n"]])

    assert took_ms < MOST_MS
