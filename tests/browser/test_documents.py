"""W1: the list of documents: any number of them, sorted, filtered, tagged and deleted, by keyboard alone too."""

import re
from collections.abc import Iterator

import httpx
import pytest
from bench.filled_base import fill_base
from playwright.sync_api import Locator, Page, expect
from tests.browser.accessibility import check_accessibility
from tests.browser.conftest import OpenPage
from tests.browser.filling import add_note, get_document
from tests.browser.looks import DARK, PHONE
from tests.browser.watching import Watch
from tests.engine_program import EngineAlone, EngineProgram

MANY = 240
"""More than the page fetches at once."""

FRUIT = ["Apple", "Banana", "Cherry", "Damson", "Elderberry"]


@pytest.fixture(scope="module")
def full_engine(model_folder: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProgram]:
    program = EngineAlone(tmp_path_factory.mktemp("full-engine"))
    program.data_dir.mkdir()
    fill_base(program.data_dir, MANY, chunks_per_document=1)
    with program.running():
        yield program


@pytest.fixture
def fruit(shared_engine: EngineProgram, request: pytest.FixtureRequest) -> dict[str, int]:
    """Notes of this test alone, known by a tag that is the test's name."""
    tag = request.node.name
    return {name: add_note(shared_engine, f"About the {name}.", name, [tag]) for name in FRUIT}


def show_fruit(page: Page, request: pytest.FixtureRequest, **params: str) -> None:
    address = httpx.QueryParams({"tag": request.node.name, "sort": "title", **params})
    page.goto(f"/#/documents?{address}")
    expect(rows(page)).to_have_count(len(FRUIT))


def rows(page: Page) -> Locator:
    return page.get_by_role("grid", name="Documents").get_by_role("row")


def row(page: Page, title: str) -> Locator:
    return rows(page).filter(has=page.get_by_role("link", name=title, exact=True))


def titles(page: Page) -> list[str]:
    return page.get_by_role("grid").get_by_role("link").all_inner_texts()


def is_there(engine: EngineProgram, document_id: int) -> bool:
    return httpx.get(f"{engine.url}/api/v1/documents/{document_id}", trust_env=False, timeout=60).status_code == 200


def test_of_many_documents_only_those_in_view_are_in_the_page(open_page: OpenPage, full_engine: EngineProgram) -> None:
    page = open_page(full_engine)
    page.goto("/#/documents?sort=filename")

    grid = page.get_by_role("grid", name="Documents")
    expect(grid).to_have_attribute("aria-rowcount", str(MANY))
    expect(page.get_by_text(f"{MANY} documents", exact=True)).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("End")

    last = grid.locator(f"[aria-rowindex='{MANY}']")
    expect(last).to_be_focused()
    expect(last.get_by_role("link")).to_be_visible()
    expect(last).to_be_in_viewport()
    assert rows(page).count() < 60


def test_a_row_that_is_scrolled_away_keeps_the_focus(open_page: OpenPage, full_engine: EngineProgram) -> None:
    page = open_page(full_engine)
    page.goto("/#/documents")
    expect(rows(page).first).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("j")

    page.mouse.move(600, 500)
    page.mouse.wheel(0, 8000)
    expect(page.locator("[aria-rowindex='150']")).to_be_visible()
    page.keyboard.press("ArrowDown")

    third = page.locator("[aria-rowindex='3']")
    expect(third).to_be_focused()
    expect(third).to_be_in_viewport()


def test_the_order_and_the_filters_stand_in_the_address(
    page: Page, fruit: dict[str, int], request: pytest.FixtureRequest
) -> None:
    """W1, E10."""
    show_fruit(page, request)
    assert titles(page) == FRUIT

    page.get_by_role("button", name=re.compile("^Ascending")).click()
    expect(rows(page).first).to_contain_text("Elderberry")
    assert "order=desc" in page.url
    page.get_by_label(re.compile("^Only with these words")).press_sequentially("an")
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("Banana")
    assert "q=an" in page.url
    page.get_by_role("button", name="Clear filters").click()
    expect(page.get_by_role("button", name=re.compile("^Without the tag"))).to_have_count(0)

    page.go_back()
    expect(rows(page)).to_have_count(1)
    page.go_back()
    assert "order=desc" not in page.url


def test_back_comes_back_to_the_row(open_page: OpenPage, full_engine: EngineProgram) -> None:
    page = open_page(full_engine)
    page.goto("/#/documents?sort=filename")
    expect(rows(page).first).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("End")
    last = page.locator(f"[aria-rowindex='{MANY}']")
    expect(last.get_by_role("link")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).not_to_have_text("Documents")

    page.go_back()

    expect(last).to_be_focused()
    expect(last).to_be_in_viewport()


def test_many_are_tagged_at_once_by_keyboard(
    page: Page, engine: EngineProgram, fruit: dict[str, int], request: pytest.FixtureRequest
) -> None:
    """W1, E16."""
    show_fruit(page, request)
    for key in ("j", "x", "j", "Shift+ArrowDown", "Shift+ArrowDown", "t"):
        page.keyboard.press(key)
    dialog = page.get_by_role("dialog", name="Tags of 4 documents")
    expect(dialog.get_by_label("Add a tag")).to_be_focused()
    page.keyboard.type("basket")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")

    expect(row(page, "Damson")).to_contain_text("basket")
    expect(rows(page).filter(has_text="basket")).to_have_count(4)
    expect(row(page, "Elderberry")).not_to_contain_text("basket")
    assert [name for name in FRUIT if "basket" in get_document(engine, fruit[name])["tags"]] == FRUIT[:4]
    page.keyboard.press("Escape")
    expect(rows(page).and_(page.locator("[aria-selected=true]"))).to_have_count(0)


def test_deleting_can_be_undone_and_is_not_done_before(
    page: Page, engine: EngineProgram, fruit: dict[str, int], request: pytest.FixtureRequest
) -> None:
    """W1, E14."""
    page.clock.install()
    show_fruit(page, request)
    for key in ("j", "j", " ", "j", " ", "#"):
        page.keyboard.press(key)

    expect(rows(page)).to_have_count(3)
    expect(page.get_by_text("3 documents", exact=True)).to_be_visible()
    expect(row(page, "Damson")).to_be_focused()
    assert is_there(engine, fruit["Banana"])
    page.get_by_role("button", name="Undo", exact=True).click()

    expect(rows(page)).to_have_count(5)
    page.clock.run_for(10_000)
    assert is_there(engine, fruit["Banana"])
    assert is_there(engine, fruit["Cherry"])


def test_what_nobody_takes_back_is_deleted(
    page: Page, engine: EngineProgram, fruit: dict[str, int], request: pytest.FixtureRequest
) -> None:
    page.clock.install()
    show_fruit(page, request)
    page.keyboard.press("j")
    page.keyboard.press("Delete")
    expect(rows(page)).to_have_count(4)

    with page.expect_response(lambda answer: answer.request.method == "DELETE") as deleted:
        page.clock.run_for(7_500)

    assert deleted.value.ok
    assert not is_there(engine, fruit["Apple"])
    expect(page.get_by_text("1 document deleted")).to_have_count(0)
    expect(rows(page)).to_have_count(4)


def test_whoever_leaves_has_deleted(
    page: Page, engine: EngineProgram, fruit: dict[str, int], request: pytest.FixtureRequest
) -> None:
    show_fruit(page, request)
    page.get_by_role("checkbox", name="Select all that are loaded").check()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_text("No document matches.")).to_be_visible()
    assert is_there(engine, fruit["Apple"])

    page.goto("about:blank")

    for document_id in fruit.values():
        wait_until_gone(page, engine, document_id)


def wait_until_gone(page: Page, engine: EngineProgram, document_id: int) -> None:
    for _ in range(100):
        if not is_there(engine, document_id):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"Document {document_id} is still there.")


def test_what_cannot_be_deleted_comes_back(
    page: Page, watch: Watch, fruit: dict[str, int], request: pytest.FixtureRequest
) -> None:
    watch.allow("Failed to load resource")
    page.clock.install()
    show_fruit(page, request)
    page.route("**/api/v1/documents/*", lambda route: route.abort())
    page.keyboard.press("j")
    page.keyboard.press("#")
    expect(rows(page)).to_have_count(4)

    page.clock.run_for(7_500)

    expect(page.get_by_role("alert")).to_contain_text("1 document could not be deleted")
    expect(rows(page)).to_have_count(5)


def test_all_that_match_can_be_selected(open_page: OpenPage, full_engine: EngineProgram) -> None:
    page = open_page(full_engine)
    page.goto("/#/documents?tag=all")
    page.get_by_role("checkbox", name="Select all that are loaded").check()
    expect(page.get_by_text("200 documents selected")).to_be_visible()

    page.get_by_role("button", name=f"Select all {MANY} documents that match").click()

    selected = page.get_by_role("main").get_by_text(f"{MANY} documents selected")
    expect(selected).to_be_visible()
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(page.get_by_text("No document matches.")).to_be_visible()
    page.keyboard.press("z")
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", str(MANY))


def test_what_others_add_appears_by_itself(
    page: Page, engine: EngineProgram, fruit: dict[str, int], request: pytest.FixtureRequest
) -> None:
    show_fruit(page, request)

    add_note(engine, "About the Fig.", "Fig", [request.node.name])

    expect(row(page, "Fig")).to_be_visible()


@pytest.mark.parametrize("look", [DARK, PHONE])
def test_the_list_shuts_nobody_out(page: Page, fruit: dict[str, int], request: pytest.FixtureRequest) -> None:
    """W1: at a desk and on a phone, in light and dark, with something selected."""
    show_fruit(page, request)
    page.get_by_role("checkbox", name="Select Banana").check()
    expect(page.get_by_role("button", name="Tag", exact=True)).to_be_visible()

    check_accessibility(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]  # type: ignore[index]
