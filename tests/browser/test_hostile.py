"""W2: whatever is stored, the page shows it as text. Nothing runs, nothing asks, nothing leaves."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect
from tests.browser.filling import add_file, add_note
from tests.browser.watching import Watch
from tests.engine_program import EngineProgram

# The watch of every browser test fails on a dialog, an error of the policy, or a request to another host.
PAYLOADS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    '"><svg/onload=alert(3)>',
    "<svg><animate onbegin=alert(4) attributeName=x dur=1s>",
    "<iframe srcdoc='<script>parent.alert(5)</script>'></iframe>",
    "<a href='javascript:alert(6)'>a</a>",
    "[a](javascript:alert(7)) ![b](http://leak.example/8.png)",
    "<style>@import 'http://leak.example/9.css';</style>",
    "<meta http-equiv=refresh content='0;url=http://leak.example/10'>",
    "{{constructor.constructor('alert(11)')()}} ${alert(12)}",
    "\u202egnp.exe\u202c \u0007 **bold** **",
    "<base href='http://leak.example/13/'><form action=/14><input name=k></form>",
]
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(20)"><script>alert(21)</script>'
    '<image href="http://leak.example/22.png"/><text x="9" y="20">mischief drawing</text></svg>'
)
HTML = (
    "<html><head><title>&lt;img src=x onerror=alert(30)&gt; mischief</title></head>"
    "<body onload=alert(31)><script>alert(32)</script><p>mischief page <img src=http://leak.example/33></p></body></html>"
)


@pytest.fixture(scope="module")
def mischief(shared_engine: EngineProgram, tmp_path_factory: pytest.TempPathFactory) -> list[int]:
    folder = tmp_path_factory.mktemp("mischief")
    ids = [
        add_note(shared_engine, f"mischief {payload}\n\n# {payload}", f"mischief {payload}", [f"m {payload}"])
        for payload in PAYLOADS
    ]
    for name, text in {
        "mischief <img src=x onerror=alert(40)>.svg": SVG,
        "'\"><script>alert(41)<script>.html": HTML,
    }.items():
        path = folder / name.replace("/", "\u2215")
        path.write_text(text)
        ids.append(add_file(shared_engine, path, ["mischief"]))
    return ids


@pytest.fixture
def seen(page: Page) -> Iterator[Page]:
    yield page
    # What was stored stands there as text: no element of it has come to be.
    assert page.locator("#content :is(script, iframe, style, base, [onerror], [onload])").count() == 0


def test_hostile_titles_tags_and_texts_are_text_in_results_and_preview(seen: Page, mischief: list[int]) -> None:
    seen.goto("/#/?q=mischief")
    results = seen.get_by_label("Results").get_by_role("link")

    expect(results.nth(len(mischief) - 1)).to_be_visible()
    for index in range(len(mischief)):
        results.nth(index).focus()
    expect(seen.get_by_role("region", name="Preview")).to_contain_text("mischief")


def test_hostile_queries_are_text_in_the_box_and_the_address(seen: Page, mischief: list[int]) -> None:
    for payload in PAYLOADS[::3]:
        seen.goto("/#/")
        expect(seen.get_by_role("navigation", name="Views").get_by_role("link")).to_have_count(6)
        box = seen.get_by_label("Search", exact=True)
        box.fill(payload)
        seen.reload()
        expect(box).to_have_value(payload)


def test_hostile_documents_are_text_when_they_are_opened(seen: Page, mischief: list[int]) -> None:
    for document_id in mischief:
        seen.goto(f"/#/documents/{document_id}?q=mischief")
        expect(seen.get_by_role("heading", level=1)).to_contain_text("mischief")


def test_hostile_documents_are_text_in_the_list_the_map_and_the_jobs(seen: Page, mischief: list[int]) -> None:
    seen.goto("/#/documents?q=mischief")
    expect(seen.get_by_role("row").first).to_contain_text("mischief")

    seen.goto("/#/map?by=tag&q=mischief")
    expect(seen.get_by_role("heading", name="Map")).to_be_visible()
    seen.goto("/#/jobs")
    expect(seen.get_by_role("heading", name="Jobs")).to_be_visible()


def test_hostile_notes_are_text_while_they_are_edited(seen: Page, mischief: list[int]) -> None:
    for document_id in mischief[:4]:
        seen.goto(f"/#/notes/{document_id}/edit")
        expect(seen.locator("textarea")).to_have_value(re.compile("mischief"))


@pytest.mark.parametrize(
    "place", ["/#/%00", "/#/documents/<script>", "/#/documents/1?page=-1&chunk=NaN&q=%E0%A4%A", "/#/nothing/here"]
)
def test_an_address_that_is_none_says_so_and_leads_back(seen: Page, watch: Watch, place: str) -> None:
    watch.allow("status of 4(04|22)")

    seen.goto(place)

    expect(seen.get_by_role("link", name="Search").first).to_be_visible()
