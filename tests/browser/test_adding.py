"""Adding things on the page: dropped, pasted or chosen, and what the tray tells of them."""

import base64
import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Locator, Page, Request, expect
from tests.browser.accessibility import check_accessibility
from tests.browser.conftest import ENGINE_KEY
from tests.browser.dropping import (
    drag_files,
    drop,
    drop_files,
    drop_folder,
    drop_text,
    files_of,
    paste_files,
    paste_text,
)
from tests.browser.looks import DARK_PHONE, LIGHT
from tests.browser.watching import Watch
from tests.engine_program import EngineProgram

SAMPLES = Path(__file__).parents[1] / "samples"
READ_WITHIN_MS = 180_000
# What takes long to send, or to read. The first is no work for the engine: it gets the rest when the page is closed.
MOSTLY_EMPTY = b"The canal boat takes its time." + b"\n" * 1_500_000
LEDGER = b"The harbour master wrote down every ship. " * 50_000
WHITE_PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4////fwAJ+wP9CNHoHgAAAABJRU5ErkJggg=="
)


def tray_of(page: Page) -> Locator:
    return page.get_by_label("Files on their way")


def row_of(page: Page, name: str) -> Locator:
    return tray_of(page).get_by_role("listitem").filter(has_text=name)


def expect_end(page: Page, name: str, told: str) -> None:
    expect(row_of(page, name)).to_contain_text(told, timeout=READ_WITHIN_MS)


def list_documents(engine: EngineProgram, key: str = "", **query: str) -> list[dict[str, object]]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    answer = httpx.get(
        f"{engine.url}/api/v1/documents", params={**query, "limit": 1000}, headers=headers, trust_env=False, timeout=60
    )
    documents: list[dict[str, object]] = answer.raise_for_status().json()["documents"]
    return documents


def slow_uploads(page: Page, bytes_per_second: int) -> None:
    session = page.context.new_cdp_session(page)
    limits = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": bytes_per_second}
    session.send("Network.emulateNetworkConditions", limits)


@pytest.mark.parametrize(("look", "place"), [(LIGHT, "attic"), (DARK_PHONE, "barn")])
def test_what_is_dropped_is_added_and_can_be_opened(page: Page, engine: EngineProgram, place: str) -> None:
    """W1: each of its bytes once, under no path that a browser cannot know."""
    page.goto("/")
    name = f"{place}.md"

    transfer = drag_files(page, {name: f"# The {place}\n\nA marten crossed the {place}.".encode()})
    expect(page.get_by_text("Drop to add it to the knowledge base")).to_be_visible()
    drop(page, transfer)

    expect(page.get_by_text("Drop to add it")).to_have_count(0)
    expect_end(page, name, "Added")
    expect(tray_of(page)).to_contain_text("1 added")
    check_accessibility(page)
    row_of(page, name).get_by_role("link", name="Open").click()
    expect(page).to_have_url(re.compile(r"#/documents/\d+$"))
    (document,) = list_documents(engine, q=name)
    assert document["source_path"] is None
    assert document["filename"] == name


def test_a_folder_is_added_with_all_but_what_is_hidden(page: Page, engine: EngineProgram) -> None:
    """W1, E25: a path is not claimed; the folder's own name and what is below it is kept as metadata."""
    page.goto("/")
    month = {f"day-{day}.txt": f"On day {day} of the harvest the mill stood still." for day in range(5)}

    drop_folder(page, {"harvest": {"june": month, ".git": {"config": "hidden"}, ".hidden.txt": "hidden"}})

    expect(tray_of(page)).to_contain_text("5 added", timeout=READ_WITHIN_MS)
    added = [document for document in list_documents(engine) if document["metadata"] == {"folder": "harvest/june"}]
    assert {document["filename"] for document in added} == set(month)
    assert {document["source_path"] for document in added} == {None}


def test_a_folder_can_be_chosen_by_keyboard(page: Page, engine: EngineProgram, tmp_path: Path) -> None:
    """W1: `u` asks for files, and the tray has a button for a folder."""
    folder = tmp_path / "logbook"
    (folder / "spring").mkdir(parents=True)
    (folder / "spring" / "tides.txt").write_text("The spring tide came over the slipway.")
    (folder / ".secret").write_text("not to be added")
    single = tmp_path / "chosen.txt"
    single.write_text("A file that was chosen by a key.")
    page.goto("/#/jobs")
    expect(page.get_by_role("heading", name="Jobs")).to_be_visible()

    with page.expect_file_chooser() as chosen:
        # A dialog that opens while Playwright still asks the browser to be told of it is never told.
        page.wait_for_timeout(500)
        page.keyboard.press("u")
    chosen.value.set_files(single)
    expect_end(page, "chosen.txt", "Added")
    with page.expect_file_chooser() as chosen:
        page.get_by_role("button", name="Add a folder").press("Enter")
    chosen.value.set_files(folder)

    expect_end(page, "tides.txt", "Added")
    expect(row_of(page, ".secret")).to_have_count(0)
    (document,) = list_documents(engine, q="tides.txt")
    assert document["metadata"] == {"folder": "logbook/spring"}


def test_the_same_file_again_is_told_to_be_there(page: Page, engine: EngineProgram) -> None:
    """E25"""
    page.goto("/")
    content = {"otter.txt": b"An otter was seen below the weir, twice."}
    drop_files(page, content)
    expect_end(page, "otter.txt", "Added")
    page.get_by_role("button", name="Close the tray").click()
    expect(tray_of(page)).to_be_hidden()

    drop_files(page, content)

    expect_end(page, "otter.txt", "Already there")
    assert len(list_documents(engine, q="otter.txt")) == 1


def test_a_pasted_picture_becomes_a_file_of_that_moment(page: Page) -> None:
    """W1: also while somebody is in a field, where a picture cannot go."""
    page.goto("/")
    expect(page.get_by_label("Search", exact=True)).to_be_focused()

    paste_files(page, {"image.png": WHITE_PIXEL})

    expect(tray_of(page).get_by_text(re.compile(r"^pasted-\d{4}-\d\d-\d\d-\d{6}\.png$"))).to_be_visible()
    expect_end(page, "pasted-", "Added")


def test_pasted_and_dropped_text_becomes_a_note(page: Page) -> None:
    """W1: but what is pasted into a field is the field's."""
    page.goto("/#/status")
    page.get_by_label("Search", exact=True).focus()
    paste_text(page, "in the box")
    expect(page).to_have_url(re.compile("#/status$"))

    page.locator("main").focus()
    paste_text(page, "Text that was pasted anywhere")

    expect(page).to_have_url(re.compile("#/notes/new"))
    expect(page.get_by_text("Text that was pasted anywhere").first).to_be_visible()
    page.goto("/#/jobs")
    drop_text(page, "Text that was dropped")
    expect(page).to_have_url(re.compile("#/notes/new"))


def test_the_reason_of_a_failure_is_told_and_it_can_be_tried_again(page: Page, watch: Watch) -> None:
    """W1, I5: the other files go on."""
    watch.allow("status of 415")
    page.goto("/")
    locked = "secret-aes256-pikepdf.pdf"
    files = files_of([SAMPLES / "pdf" / locked])

    drop_files(page, {**files, "program.bin": bytes(range(256)), "fine.txt": b"A fine afternoon.", "empty.txt": b""})

    expect_end(page, locked, "protected by a password")
    expect_end(page, "program.bin", "cannot be read")
    expect_end(page, "empty.txt", "The file is empty")
    expect_end(page, "fine.txt", "Added")
    expect(tray_of(page)).to_contain_text("1 added, 3 failed")
    with page.expect_response(re.compile(r"/jobs/\d+/retry$")) as retried:
        row_of(page, locked).get_by_role("button", name="Try again").press("Enter")
    assert retried.value.ok
    expect_end(page, locked, "protected by a password")
    expect(row_of(page, locked).get_by_role("button")).to_be_focused()


def test_what_is_too_large_is_told_before_it_is_sent(page: Page) -> None:
    page.goto("/")
    sent: list[Request] = []
    page.on("request", lambda request: sent.append(request) if request.method == "POST" else None)

    transfer = page.evaluate_handle(
        """() => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([new Uint8Array(101 * 1048576)], "film.pdf"));
          return transfer;
        }"""
    )
    drop(page, transfer)

    expect_end(page, "film.pdf", "takes files up to 100 MB")
    assert sent == []


def test_an_upload_shows_how_far_it_is_and_leaving_meanwhile_is_warned_of(page: Page) -> None:
    """W1"""
    page.goto("/")
    assert not is_warned_of_leaving(page)
    slow_uploads(page, 20_000)

    drop_files(page, {"slowly.txt": MOSTLY_EMPTY})

    row = row_of(page, "slowly.txt")
    expect(row.get_by_role("progressbar")).to_have_attribute("aria-valuenow", re.compile(r"^[1-9]\d?$"))
    expect(row).to_contain_text("Sending,")
    assert is_warned_of_leaving(page)


def is_warned_of_leaving(page: Page) -> bool:
    """Asked of the page as the browser asks it; the browser's own question would hold the test up."""
    is_free: bool = page.evaluate("dispatchEvent(new Event('beforeunload', { cancelable: true }))")
    return not is_free


def test_a_cancelled_upload_never_becomes_a_document(page: Page, engine: EngineProgram) -> None:
    page.goto("/")
    slow_uploads(page, 20_000)
    drop_files(page, {"abandoned.txt": MOSTLY_EMPTY})
    row = row_of(page, "abandoned.txt")
    expect(row).to_contain_text("Sending,")

    row.get_by_role("button", name="Cancel").press("Enter")

    expect(row).to_contain_text("Cancelled")
    expect(row.get_by_role("button", name="Try again")).to_be_focused()
    assert list_documents(engine, q="abandoned.txt") == []


def test_a_job_under_way_can_be_cancelled(page: Page, engine: EngineProgram) -> None:
    """W1, I4: its progress is told by the event stream meanwhile."""
    page.goto("/")

    drop_files(page, {"ledger.txt": LEDGER})
    row = row_of(page, "ledger.txt")
    expect(row).to_contain_text("Processing part", timeout=READ_WITHIN_MS)
    row.get_by_role("button", name="Cancel").click()

    expect_end(page, "ledger.txt", "Cancelled")
    assert list_documents(engine, q="ledger.txt") == []


def test_a_hundred_files_are_sent_a_few_at_a_time_and_all_can_be_cancelled(page: Page, watch: Watch) -> None:
    """W1: with so many the tray tells numbers, and shows only those that something is going on with."""
    # A job may end while it is being cancelled.
    watch.allow("status of 409")
    page.goto("/")
    under_way: set[Request] = set()
    most = 0

    def begin(request: Request) -> None:
        nonlocal most
        if request.method == "POST" and request.url.endswith("/jobs"):
            under_way.add(request)
            most = max(most, len(under_way))

    page.on("request", begin)
    page.on("response", lambda response: under_way.discard(response.request))
    leaves = {f"leaf-{number}.txt": f"Leaf {number} of the herbarium.".encode() for number in range(120)}
    # While the first is read, the others are not.
    drop_files(page, {"herbarium.txt": LEDGER, **leaves})
    expect(tray_of(page)).to_contain_text(re.compile(r"\d+ waiting"))
    expect(tray_of(page)).not_to_contain_text("waiting", timeout=READ_WITHIN_MS)
    page.get_by_role("button", name="Cancel all").click()

    expect(tray_of(page)).to_contain_text(re.compile(r"\d+ cancelled"), timeout=READ_WITHIN_MS)
    expect(page.get_by_role("button", name="Cancel all")).to_be_hidden(timeout=READ_WITHIN_MS)
    assert tray_of(page).get_by_role("listitem").count() == 0
    assert 1 < most <= 3


def test_everything_in_the_tray_can_be_tagged(page: Page, engine: EngineProgram) -> None:
    page.goto("/")
    drop_files(page, {"first.txt": b"The first swallow."})
    expect_end(page, "first.txt", "Added")

    page.get_by_label("Tag all of these").fill("birds: spring")
    page.get_by_label("Tag all of these").press("Enter")
    expect(page.get_by_role("button", name="Do not tag with birds: spring")).to_be_visible()
    drop_files(page, {"second.txt": b"The second swallow."})
    expect_end(page, "second.txt", "Added")

    tagged = list_documents(engine, tag="birds: spring")
    assert {document["filename"] for document in tagged} == {"first.txt", "second.txt"}


def test_the_key_is_asked_for_once_and_again_in_the_middle_of_adding(
    keyed_page: Page, keyed_engine: EngineProgram, watch: Watch
) -> None:
    """W1: a wrong one is told; a reload does not ask again; a key that is gone does not lose what is on its way."""
    watch.allow("status of 401")
    page = keyed_page
    page.goto("/")
    page.get_by_label("Key", exact=True).fill("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog").get_by_role("alert")).to_be_visible()
    page.get_by_label("Key", exact=True).fill(ENGINE_KEY)
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.reload()
    expect(page.locator(".welcome, .start").first).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)

    # In that very moment: before it, another request could ask for the key, and the page takes nothing meanwhile.
    page.evaluate("addEventListener('drop', () => sessionStorage.clear(), { capture: true, once: true })")
    drop_files(page, {"keyed.txt": b"Behind a locked door."})
    page.get_by_label("Key", exact=True).fill(ENGINE_KEY)
    page.keyboard.press("Enter")

    expect_end(page, "keyed.txt", "Added")
    assert len(list_documents(keyed_engine, ENGINE_KEY, q="keyed.txt")) == 1
    assert page.evaluate("document.cookie + JSON.stringify(localStorage)").count(ENGINE_KEY) == 0


def test_what_is_dropped_while_the_engine_is_away_is_added_when_it_is_back(
    empty_page: Page, empty_engine: EngineProgram, watch: Watch
) -> None:
    """W1"""
    watch.allow("ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET")
    page = empty_page
    page.goto("/")
    expect(page.get_by_text("This knowledge base is empty")).to_be_visible()

    empty_engine.stop()
    expect(page.get_by_role("alert").filter(has_text="does not answer")).to_be_visible()
    drop_files(page, {"patient.txt": b"It waits for the ferry."})
    expect(row_of(page, "patient.txt")).to_contain_text("Sending")
    empty_engine.start()

    expect_end(page, "patient.txt", "Added")
    expect(page.get_by_text("does not answer")).to_have_count(0)
    expect(page.get_by_role("heading", name="Recent")).to_be_visible()
