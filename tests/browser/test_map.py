"""W1: the map of the base, by mouse, by keyboard and by its list."""

import pytest
from playwright.sync_api import Page, expect
from tests.browser.accessibility import check_accessibility
from tests.browser.filling import add_note, add_notes, delete_document, read_map
from tests.browser.looks import DARK_PHONE, LIGHT
from tests.engine_program import EngineProgram
from tests.waiting import wait_until

MAPPED_WITHIN_MS = 90_000
BREADS = ["rye sourdough", "wheat rolls", "oven temperature for crusts", "yeast and dough proving"]
BRIDGES = ["steel bridge bolts", "suspension cables", "concrete pillars in the river", "bridge inspection rust"]


@pytest.fixture(scope="module")
def mapped(shared_engine: EngineProgram) -> list[int]:
    notes = [("bread", text) for text in BREADS] + [("bridge", text) for text in BRIDGES]
    added = add_notes(
        shared_engine,
        [{"title": f"On {text}", "text": f"Everything about {text}.", "tags": [f"map-{tag}"]} for tag, text in notes],
    )
    # Until then points move.
    wait_until(lambda: read_map(shared_engine)["state"] == "ready", "the map is made")
    return added


def open_map(page: Page, place: str = "/#/map") -> None:
    page.goto(place)
    expect(page.get_by_label("Legend").get_by_role("listitem").first).to_be_visible(timeout=MAPPED_WITHIN_MS)


def test_documents_are_on_the_map_and_in_the_list_beside_it(page: Page, mapped: list[int]) -> None:
    open_map(page)
    legend = page.get_by_label("Legend")
    expect(legend).to_contain_text("Note (")

    page.get_by_label("Colour by").select_option("tag")

    expect(legend).not_to_contain_text("Note (")
    assert "by=tag" in page.url


def test_a_document_is_opened_by_clicking_on_its_point(page: Page, mapped: list[int]) -> None:
    open_map(page, "/#/map?q=rye+sourdough")
    link = page.get_by_role("link", name="On rye sourdough")

    link.hover()
    tip = page.locator(".map-tip")
    expect(tip).to_contain_text("On rye sourdough")
    point = tip.evaluate(
        "tip => { const c = document.querySelector('.map-canvas').getBoundingClientRect();"
        " return [c.left + tip.offsetLeft, c.top + tip.offsetTop - 14]; }"
    )
    page.mouse.click(*point)

    expect(page.get_by_role("heading", level=1)).to_contain_text("On rye sourdough")
    page.go_back()
    expect(page.get_by_role("heading", name="Map")).to_be_visible()


def test_what_matches_a_search_is_lit_up(page: Page, mapped: list[int]) -> None:
    open_map(page)

    page.get_by_label("Light up what matches").fill("suspension cables")

    expect(page.get_by_role("heading", name="Lit and in view")).to_be_visible()
    expect(page.get_by_role("link", name="On suspension cables")).to_be_visible()
    expect(page.get_by_role("link", name="On rye sourdough")).to_be_hidden()


def test_the_map_is_moved_by_keys_and_stays_where_it_was(page: Page, mapped: list[int]) -> None:
    open_map(page)

    page.keyboard.press("+")
    page.keyboard.press("ArrowLeft")

    page.wait_for_url("**view=**")
    moved = page.url
    page.reload()
    expect(page.get_by_role("heading", name="In view")).to_be_visible()
    assert page.url == moved
    page.keyboard.press("0")
    page.wait_for_url(lambda url: "view=" not in url)


def test_new_documents_appear_and_deleted_ones_vanish_by_themselves(
    page: Page, engine: EngineProgram, mapped: list[int]
) -> None:
    open_map(page, "/#/map?q=pumpernickel")

    document_id = add_note(engine, "Pumpernickel is a dark bread of rye.", "On pumpernickel", ["map-bread"])
    link = page.get_by_role("link", name="On pumpernickel")

    expect(link).to_be_visible(timeout=MAPPED_WITHIN_MS)
    delete_document(engine, document_id)
    expect(link).to_be_hidden()


@pytest.mark.parametrize("look", [LIGHT, DARK_PHONE], ids=["light", "dark phone"])
def test_the_map_shuts_nobody_out(page: Page, mapped: list[int]) -> None:
    open_map(page)

    check_accessibility(page)
    assert page.evaluate("document.documentElement.scrollWidth <= screen.width")
