"""W1, W2, E1: the page's files come from the engine alone, to anybody, and under a policy that trusts no text."""

import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.api_calls import OPEN, assert_problem

from kb import sample
from kb.access import Access
from kb.engine.api import web
from kb.engine.api.web import FOLDERS, MEDIA_TYPES
from kb.engine.model.limits import MAX_GIVEN_TITLE_CHARACTERS

FOLDER = FOLDERS[""]
FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file())
SCRIPTS = [name for name in FILES if name.endswith(".js")]
# Ways from a string to markup or to code, and addresses of others.
FORBIDDEN = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|setAttribute\(.style"
    r"|localStorage\.setItem\(.kb\.key"
)
OTHERS = r"(?:https?:)?//(?!127\.0\.0\.1|localhost|www\.w3\.org/2000/svg)[a-z0-9-]+\.[a-z]{2,}"


IMPORT = r'(?<=from )"(\.[^"]+)"'
LATER_IMPORT = r'(?<=import\()"(\.[^"]+)"'


def imports_of(name: str, pattern: str) -> set[str]:
    """What a module imports, named as modules are."""
    paths = ["".join(found) for found in re.findall(pattern, (FOLDER / name).read_text())]
    return {((FOLDER / name).parent / path).resolve().relative_to(FOLDER.resolve()).as_posix() for path in paths}


@pytest.fixture
def locked(open_api: Callable[[Access], TestClient]) -> TestClient:
    return open_api(replace(OPEN, writing_keys=("sesame",)))


def test_w2_the_page_needs_no_key_and_lets_nothing_in_but_its_own_scripts(locked: TestClient) -> None:
    answer = locked.get("/")

    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert policy["trusted-types"] == "'none'"
    assert policy["frame-ancestors"] == "'none'"
    assert not re.search(r"<script(?![^>]*\ssrc=)|\son[a-z]+=|\sstyle=|javascript:", answer.text)


def named_in_the_page(client: TestClient) -> set[str]:
    return set(re.findall(r'(?:src|href)="(/web/[^"]+)"', client.get("/").text))


def test_w1_every_file_is_served_under_the_same_policy_and_kept_for_good(locked: TestClient) -> None:
    [place] = {"/".join(path.split("/")[:3]) for path in named_in_the_page(locked)}

    shipped = {name: FOLDER / name for name in set(FILES) - {"index.html"}}
    shipped |= {f"sample/{path.name}": path for path in sample.FOLDER.iterdir() if path.suffix in MEDIA_TYPES}
    for name, path in shipped.items():
        answer = locked.get(f"{place}/{name}")

        assert answer.status_code == 200, name
        assert answer.content == path.read_bytes(), name
        assert answer.headers["content-type"].split(";")[0] == MEDIA_TYPES[Path(name).suffix], name
        assert "trusted-types 'none'" in answer.headers["content-security-policy"], name
        assert "immutable" in answer.headers["cache-control"], name


def test_w1_the_page_itself_is_asked_for_each_time_and_names_files_that_exist(locked: TestClient) -> None:
    named = named_in_the_page(locked)

    assert locked.get("/").headers["cache-control"] == "no-store"
    assert [path for path in named if locked.get(path).status_code != 200] == []


def test_w1_the_page_names_all_modules_that_it_needs_to_be_seen_and_no_more(locked: TestClient) -> None:
    named = {path.split("/", 3)[3] for path in named_in_the_page(locked) if path.endswith(".js")}

    imported = {target for name in named for target in imports_of(name, IMPORT)}
    assert named == imported | {"app.js", "views/search/search.js"}


@pytest.mark.parametrize("name", ["views/documents/naming.js", "views/notes/form.js"])
def test_w1_no_field_takes_a_longer_title_than_the_engine(name: str) -> None:
    limits = re.findall(r"(?:maxlength: |MAX_TITLE = )(\d+)", (FOLDER / name).read_text())

    assert limits == [str(MAX_GIVEN_TITLE_CHARACTERS)]


def test_what_others_left_beside_the_files_is_not_served(
    open_api: Callable[[Access], TestClient], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(FOLDER, tmp_path / "web")
    for name in (".DS_Store", ".app.js.swp", ".#app.js", "app.js~"):
        (tmp_path / "web" / name).write_text("of an editor")
    before = named_in_the_page(open_api(OPEN))

    monkeypatch.setitem(web.FOLDERS, "", tmp_path / "web")

    assert named_in_the_page(open_api(OPEN)) == before


def test_e2_the_files_of_the_page_can_only_be_read(locked: TestClient) -> None:
    answer = locked.post(min(named_in_the_page(locked)), headers={"Authorization": "Bearer sesame"})

    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}


def test_w1_every_module_is_used_and_every_import_leads_somewhere() -> None:
    used = {"app.js"}
    for name in SCRIPTS:
        imported = imports_of(name, rf"{IMPORT}|{LATER_IMPORT}")
        assert imported <= set(SCRIPTS), name
        used |= imported

    assert set(SCRIPTS) - used == set()


@pytest.mark.parametrize("name", SCRIPTS)
def test_w2_no_script_makes_markup_of_strings_or_names_another_host(name: str) -> None:
    text = (FOLDER / name).read_text()

    assert FORBIDDEN.findall(text) == []
    assert re.findall(OTHERS, text) == []


@pytest.mark.parametrize(
    "path", ["/web", "/web/", "/web/app.js", "/web/0123456789abcdef/app.js", "/web/%2e%2e/api/app.py", "/index.html"]
)
def test_e2_what_is_no_file_of_the_page_is_not_found(locked: TestClient, path: str) -> None:
    assert_problem(locked.get(path), 404, "not_found")


def test_e1_the_page_is_refused_to_other_names_of_the_engine(locked: TestClient) -> None:
    assert_problem(locked.get("/", headers={"Host": "evil.example"}), 403, "forbidden")
