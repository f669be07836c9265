"""The engine's state on the page: jobs, status, how to connect an agent, and the welcome to an empty base."""

import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.accessibility import check_accessibility
from tests.browser.conftest import ENGINE_KEY
from tests.browser.dropping import drop_files, files_of
from tests.browser.filling import add_note
from tests.browser.looks import DARK_PHONE, LIGHT
from tests.browser.watching import Watch
from tests.engine_program import EngineProgram

SAMPLES = Path(__file__).parents[1] / "samples"
LOCKED = SAMPLES / "pdf" / "secret-rc4-pikepdf.pdf"
READ_WITHIN_MS = 180_000
ADDRESS = "http://127.0.0.1:3000/mcp"
PLACES = ["#/jobs", "#/status", "#/connect?key=1"]


def job_of(page: Page, name: str) -> Locator:
    return page.get_by_role("list", name="Jobs").get_by_role("listitem").filter(has_text=name)


@pytest.mark.parametrize("look", [LIGHT, DARK_PHONE], ids=["light", "dark phone"])
@pytest.mark.parametrize("place", PLACES)
def test_no_view_of_the_engine_shuts_anybody_out(page: Page, engine: EngineProgram, place: str) -> None:
    """W1: nor is any wider than the page."""
    add_note(engine, "Something to be done.")
    page.goto(f"/{place}")

    expect(page.locator("main").get_by_role("heading", level=2).first).to_be_visible()
    check_accessibility(page)
    assert page.evaluate("document.documentElement.scrollWidth <= screen.width")


def test_jobs_appear_as_they_happen_with_what_came_of_them(page: Page, engine: EngineProgram) -> None:
    """W1, E5"""
    page.goto("/#/jobs")
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()

    add_note(engine, "The heron stands in the shallows.", "The heron")

    job = job_of(page, "The heron")
    expect(job).to_contain_text("Done")
    job.get_by_role("link", name="Open").click()
    expect(page).to_have_url(re.compile(r"#/documents/\d+$"))
    page.go_back()
    page.get_by_role("link", name="Failed").click()
    expect(page).to_have_url(re.compile(r"#/jobs\?status=failed$"))
    expect(job_of(page, "The heron")).to_have_count(0)
    page.go_back()
    expect(job_of(page, "The heron")).to_be_visible()


def test_a_failed_job_tells_why_and_can_be_tried_again_by_keyboard(page: Page, engine: EngineProgram) -> None:
    """W1, E7"""
    page.goto("/")
    drop_files(page, files_of([LOCKED]))
    rail = page.get_by_role("navigation", name="Views").get_by_role("link", name="Jobs")
    expect(rail).to_contain_text("1 job failed", timeout=READ_WITHIN_MS)

    rail.press("Enter")
    job = job_of(page, LOCKED.name).first
    expect(job).to_contain_text("encrypted_file")
    expect(job).to_contain_text("protected by a password")
    expect(rail).not_to_contain_text("failed")
    with page.expect_response(re.compile(r"/jobs/\d+/retry$")) as retried:
        job.get_by_role("button", name="Try again").press("Enter")

    assert retried.value.ok
    expect(job).to_contain_text("encrypted_file", timeout=READ_WITHIN_MS)
    expect(job.get_by_role("button", name="Try again")).to_be_focused()


def test_a_job_is_cancelled_while_its_progress_is_watched(page: Page, engine: EngineProgram) -> None:
    """W1, I4, E7"""
    page.goto("/#/jobs")

    drop_files(page, {"logbook.txt": b"Fair wind all night, and nothing to be seen. " * 50_000})
    job = job_of(page, "logbook.txt").first
    expect(job.get_by_role("progressbar")).to_be_visible(timeout=READ_WITHIN_MS)
    job.get_by_role("button", name="Cancel").click()

    expect(job).to_contain_text("Cancelled", timeout=READ_WITHIN_MS)


def test_status_says_in_words_how_the_engine_is(page: Page, engine: EngineProgram) -> None:
    """W1, E20"""
    add_note(engine, "A note, so that there is something to count.")

    page.goto("/#/status")

    health = page.get_by_role("region", name="Health")
    expect(health.get_by_role("heading")).to_have_text("All is well")
    main = page.locator("main")
    for fact in ("kb 3.0.0", "all-MiniLM-L6-v2", str(engine.data_dir), "100 MB", "can read and write"):
        expect(main).to_contain_text(fact)
    expect(main.get_by_role("button", name=re.compile("[Dd]elete"))).to_have_count(0)


def test_the_index_is_made_anew_only_after_a_question(page: Page, engine: EngineProgram) -> None:
    """E21"""
    page.goto("/#/status")

    page.get_by_role("button", name="Make the index anew").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Make the index anew").press("Enter")
    with page.expect_response("**/api/v1/reindex") as answered:
        page.get_by_role("dialog").get_by_role("button", name="Make it anew").click()

    assert answered.value.ok
    page.get_by_role("status").get_by_role("button", name="Jobs").click()
    expect(job_of(page, "Making the index anew").first).to_be_visible()


def test_colours_can_be_chosen_and_stay_chosen(page: Page) -> None:
    """W1"""
    page.goto("/#/status")

    page.get_by_label("Dark", exact=True).check()
    page.reload()

    expect(page.get_by_label("Dark", exact=True)).to_be_checked()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    expect(page.get_by_role("button", name="Colours: dark")).to_be_visible()


def test_the_button_for_colours_goes_on_to_the_next_and_says_so(page: Page) -> None:
    """W1"""
    page.goto("/#/status")

    page.get_by_role("button", name="Colours: as the system").press("Enter")

    expect(page.get_by_role("button", name="Colours: light")).to_be_focused()
    expect(page.locator("#announcer")).to_have_text("Colours: light")


def test_the_key_can_be_forgotten(keyed_page: Page, watch: Watch) -> None:
    """W1"""
    watch.allow("status of 401")
    page = keyed_page
    page.goto("/#/status")
    page.get_by_label("Key", exact=True).fill(ENGINE_KEY)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="All is well")).to_be_visible()

    page.reload()
    page.get_by_role("button", name="Forget the key").click()

    expect(page.get_by_role("dialog", name="This knowledge base has a key")).to_be_visible()


@pytest.mark.parametrize(
    ("client", "title", "address", "key"),
    [
        ("claude-code", "Claude Code", ADDRESS, "a-key"),
        ("vscode", "VS Code", "https://kb.example/mcp", "a-key"),
        ("claude-desktop", "Claude Desktop", "https://kb.example/mcp", ""),
    ],
)
def test_what_is_copied_is_what_kb_connect_prints(
    page: Page, engine: EngineProgram, client: str, title: str, address: str, key: str
) -> None:
    """W1, C1: the page and the command line cannot differ."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/#/connect")

    page.get_by_label("Address of the MCP server").fill(address)
    page.get_by_label("It has a key").set_checked(bool(key))
    page.get_by_role("navigation", name="Clients").get_by_role("link", name=title).click()
    page.get_by_role("region", name=title).get_by_role("button", name="Copy the").first.click()

    expect(page.get_by_role("status").filter(has_text="Copied.").first).to_be_visible()
    printed = engine.run_kb("connect", client, "--url", address, settings={"KB_MCP_API_KEY": key} if key else {})
    assert page.evaluate("navigator.clipboard.readText()") == printed.stdout.rstrip("\n")


def test_an_address_that_is_none_is_not_copied(page: Page) -> None:
    page.goto("/#/connect")
    address = page.get_by_label("Address of the MCP server")
    expect(address).to_have_value(re.compile(r"^http://127\.0\.0\.1:3000/mcp$"))

    address.fill("not an address")

    expect(page.get_by_role("alert")).to_contain_text("begins with http://")
    expect(page.get_by_role("button", name="Copy the")).to_have_count(0)
    page.reload()
    expect(address).to_have_value("not an address")


def test_an_empty_base_welcomes_and_offers_a_sample_to_try(empty_page: Page, empty_engine: EngineProgram) -> None:
    """W1: three searches, each of which finds what it promises, and then what is as it came can all go again."""
    page = empty_page
    page.goto("/")
    expect(page.get_by_role("heading", name="This knowledge base is empty")).to_be_visible()
    check_accessibility(page)

    page.get_by_role("button", name="Load a sample").press("Enter")
    expect(page.get_by_label("Files on their way")).to_contain_text("9 added", timeout=READ_WITHIN_MS)
    results = page.get_by_label("Results").get_by_role("link")
    tried = {"copper tape": "Slugs", "pest control": "Slugs", "water #minutes": "Minutes"}
    for words, found in tried.items():
        page.get_by_role("link", name=words).click()
        expect(results.first).to_contain_text(found)
        page.go_back()
    add_note(empty_engine, "A note of my own", "Mine", ["sample"])
    page.get_by_role("link", name="What is in the shed").click()
    place = f"{empty_engine.url}/api/v1/documents/{page.url.rpartition('/')[2]}"
    httpx.patch(place, json={"title": "My shed"}, trust_env=False).raise_for_status()
    page.go_back()
    page.get_by_role("button", name="Remove the sample").press("Enter")

    expect(page.get_by_text("8 documents deleted")).to_be_visible()
    expect(page.get_by_role("heading", name="Three things to try")).to_have_count(0)
    expect(page.get_by_label("Search", exact=True)).to_be_focused()
    expect(page.get_by_role("link", name="Mine")).to_be_visible()
    expect(page.get_by_role("link", name="My shed")).to_be_visible()
