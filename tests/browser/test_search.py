"""W1: search as you type, by mouse and by keyboard alone."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.accessibility import check_accessibility
from tests.browser.filling import add_note
from tests.browser.looks import DARK_PHONE, LIGHT
from tests.engine_program import EngineProgram


@pytest.fixture(scope="module")
def lighthouse_notes(shared_engine: EngineProgram) -> list[int]:
    return [
        add_note(
            shared_engine,
            "The lighthouse keeper winds the clockwork at dusk.",
            "Keeper's duties",
            ["lamp", "coast", "work"],
        ),
        add_note(
            shared_engine,
            "Paraffin for the lighthouse lamp arrives by boat each spring.",
            "Supplies",
            ["lamp", "coast"],
        ),
        add_note(
            shared_engine, "A lighthouse stands on the reef; its light is seen for twenty miles.", "Reef", ["lamp"]
        ),
    ]


def search_box(page: Page) -> Locator:
    return page.get_by_label("Search", exact=True)


def results(page: Page) -> Locator:
    return page.get_by_label("Results").get_by_role("link")


def test_results_come_while_typing_with_the_words_marked(page: Page, lighthouse_notes: list[int]) -> None:
    page.goto("/")

    search_box(page).press_sequentially("lighthouse paraff")

    expect(results(page).first).to_contain_text("Supplies")
    expect(results(page).first.locator("mark").first).to_have_text("Paraffin")
    preview = page.get_by_role("region", name="Preview")
    expect(preview.get_by_role("heading")).to_have_text("Supplies")
    expect(preview.locator("mark").first).to_be_visible()


def test_a_result_says_its_title_once_and_leaves_out_no_signs_but_those_of_headings(
    page: Page, engine: EngineProgram
) -> None:
    add_note(engine, "# Ropes\n\n## Bowline knots\n\nTie # 1 holds a mooring. #sea", "Ropes")

    page.goto("/#/?q=bowline+mooring")

    first = results(page).first
    expect(first.locator(".snippet")).to_contain_text("Bowline knots Tie # 1 holds a mooring. #sea")
    expect(first.locator(".snippet")).not_to_contain_text("##")
    expect(first.locator(".hit-foot")).to_contain_text(re.compile("^Bowline knots"))
    expect(page.get_by_role("region", name="Preview")).to_contain_text("## Bowline knots")


def test_enter_opens_what_is_found_for_what_was_typed(page: Page, lighthouse_notes: list[int]) -> None:
    page.goto("/#/?q=reef")
    expect(results(page).first).to_contain_text("Reef")

    search_box(page).fill("paraffin by boat")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_have_text("Supplies")


def test_keys_change_nothing_that_is_not_seen(page: Page, lighthouse_notes: list[int]) -> None:
    page.goto("/#/?q=reef")
    expect(results(page).first).to_contain_text("Reef")
    search_box(page).focus()

    for key in ("Escape", "Escape", "Delete", "#", "t"):
        page.keyboard.press(key)

    expect(page.get_by_role("heading", name="Recent")).to_be_visible()
    expect(page.locator("#notices")).to_be_empty()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_what_only_means_the_same_is_found_too(page: Page, lighthouse_notes: list[int]) -> None:
    page.goto("/#/?q=fuel+deliveries+for+a+beacon")

    expect(results(page).filter(has_text="Supplies")).to_be_visible()


def test_the_whole_search_goes_by_keyboard(page: Page, lighthouse_notes: list[int]) -> None:
    page.goto("/#/documents")
    expect(page.get_by_role("heading", name="Documents")).to_be_visible()
    page.keyboard.press("/")
    expect(search_box(page)).to_be_focused()

    page.keyboard.type("lighthouse")
    # Told once both answers are there, and nothing moves any more.
    expect(page.locator("#announcer")).to_have_text(re.compile("results"))
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    second = results(page).nth(1)
    expect(second).to_be_focused()
    name = second.locator(".hit-title").inner_text()
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_contain_text(name)
    page.go_back()
    expect(results(page).filter(has_text=name)).to_be_focused()
    page.go_back()
    expect(page).to_have_url(page.url.partition("#")[0] + "#/documents")


def test_filters_stand_in_the_address_and_back_undoes_them(page: Page, lighthouse_notes: list[int]) -> None:
    page.goto("/#/?q=lighthouse&tag=lamp")
    expect(results(page)).to_have_count(3)

    page.get_by_label("Tag", exact=True).select_option("coast")
    expect(results(page)).to_have_count(2)
    page.get_by_label("Tag", exact=True).select_option("work")
    expect(results(page)).to_have_count(1)
    assert page.url.endswith("#/?q=lighthouse&tag=lamp&tag=coast&tag=work")

    page.go_back()
    expect(results(page)).to_have_count(2)
    page.reload()
    expect(results(page)).to_have_count(2)
    page.get_by_label("Type", exact=True).select_option("note")
    expect(results(page)).to_have_count(2)
    page.get_by_label("Added on or before").fill("2001-01-01")
    expect(page.locator(".summary")).to_have_text("Nothing found")
    page.get_by_role("button", name="Clear filters").click()
    expect(results(page).nth(2)).to_contain_text("lighthouse")


def test_whoever_takes_tags_away_one_by_one_keeps_the_focus(page: Page, lighthouse_notes: list[int]) -> None:
    """W1"""
    page.goto("/#/?q=lighthouse&tag=lamp&tag=coast")
    expect(results(page)).to_have_count(2)

    page.get_by_role("button", name="Without the tag coast").press("Enter")
    expect(page.get_by_role("button", name="Without the tag lamp")).to_be_focused()
    page.keyboard.press("Enter")

    expect(page.get_by_label("Tag", exact=True)).to_be_focused()
    assert page.url.endswith("#/?q=lighthouse")


def test_tags_are_changed_from_a_result_without_the_mouse(page: Page, lighthouse_notes: list[int]) -> None:
    page.goto("/#/?q=lighthouse+reef+miles")
    expect(results(page).first).to_contain_text("Reef")
    page.keyboard.press("ArrowDown")

    page.keyboard.press("t")
    page.keyboard.type("night")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")

    expect(results(page).first.locator(".chip", has_text="night")).to_be_visible()


def test_a_likely_misspelling_is_offered(page: Page, lighthouse_notes: list[int]) -> None:
    page.goto("/#/?q=lighthuose")

    page.get_by_role("button", name="lighthouse").click()

    expect(search_box(page)).to_have_value("lighthouse")
    expect(results(page).nth(2)).to_contain_text("lighthouse")


@pytest.mark.parametrize("look", [LIGHT, DARK_PHONE], ids=["light", "dark phone"])
def test_results_shut_nobody_out(page: Page, lighthouse_notes: list[int]) -> None:
    page.goto("/#/?q=lighthouse&tag=lamp")
    expect(results(page)).to_have_count(3)

    check_accessibility(page)
    # A phone shows a page that is too wide in a wider window: its own width is what counts.
    assert page.evaluate("document.documentElement.scrollWidth <= screen.width")


def test_the_keys_are_listed(page: Page) -> None:
    page.goto("/#/documents")
    expect(page.get_by_role("heading", name="Documents")).to_be_visible()

    page.keyboard.press("?")

    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_contain_text("Write a note")
    check_accessibility(page)
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()
