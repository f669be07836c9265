"""The documentation as a site: every page is in it, every link leads somewhere, and nothing comes from elsewhere."""

import json
import re
from pathlib import Path

import pytest
from docs.site.building import NotBuilt, build_site, stage_pages
from docs.site.checking import find_faults
from docs.site.pages import NoPlace, arrange

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("built") / "site"
    build_site(target)
    return target


def write_pages(root: Path, **pages: str) -> Path:
    for name, text in pages.items():
        path = root / "docs" / f"{name.replace('__', '/')}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def test_every_link_leads_somewhere_and_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    assert find_faults(site) == []


def test_every_page_of_the_docs_is_in_the_site_and_in_its_navigation(site: Path) -> None:
    home = (site / "index.html").read_text(encoding="utf-8")
    pages = {page.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for page in ROOT.glob("docs/**/*.md")}

    linked = set(re.findall(r'href="(?:\./)?([^"#]+\.html)"', home))

    assert len(pages) > 60
    assert {page for page in pages if not (site / page).is_file()} == set()
    assert pages - linked == set()


def test_what_stands_outside_of_the_docs_can_be_read_in_the_site_too(site: Path) -> None:
    pages = [
        site / f"project/{name}.html" for name in ("readme", "architecture", "contributing", "security", "changelog")
    ]

    assert [page for page in pages if not page.is_file()] == []
    assert (site / "files/src/kb/engine/words.py.txt").read_bytes() == (ROOT / "src/kb/engine/words.py").read_bytes()


def test_the_search_of_the_site_knows_its_pages(site: Path) -> None:
    index = json.loads((site / "search.json").read_text(encoding="utf-8"))

    assert "how-to/repair.html" in {item["location"].partition("#")[0] for item in index["items"]}


@pytest.mark.parametrize("link", ["gone.md", "index.md#gone", "../../etc/passwd", "pictures/gone.png"])
def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path, link: str) -> None:
    root = write_pages(tmp_path, index=f"# Home\n\nSee [it]({link}).\n")

    with pytest.raises(NotBuilt, match=r"gone|passwd"):
        build_site(tmp_path / "site", root=root)


def test_a_new_page_is_taken_into_its_section_by_itself(tmp_path: Path) -> None:
    root = write_pages(tmp_path, index="# Home\n", **{"how-to__fly": "# Fly with `kb`\n"})

    titles = stage_pages(root, tmp_path / "staged")

    assert {"How-to": [{"More": [{"Fly with kb": "how-to/fly.md"}]}]} in arrange(titles, titles)


def test_a_page_in_a_folder_that_has_no_section_is_refused_with_what_to_do(tmp_path: Path) -> None:
    root = write_pages(tmp_path, index="# Home\n", recipes__cake="# Cake\n")

    titles = stage_pages(root, tmp_path / "staged")

    with pytest.raises(NoPlace, match=r"docs/recipes/cake\.md: give it one in docs/site/pages\.py"):
        arrange(titles, titles)


def test_links_in_code_are_left_as_they_are(tmp_path: Path) -> None:
    code = "Write `[a](gone.md)`, or:\n\n```md\n[a](gone.md)\n```\n"
    root = write_pages(tmp_path, index=f"# Home\n\n{code}")

    stage_pages(root, tmp_path / "staged")

    assert code in (tmp_path / "staged/index.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("markup", "fault"),
    [
        ('<script src="https://cdn.example/a.js"></script>', "loads https://cdn.example/a.js"),
        ('<img srcset="//cdn.example/a.png 2x">', "loads //cdn.example/a.png"),
        ('<link rel="stylesheet" href="http://cdn.example/a.css">', "loads http://cdn.example/a.css"),
        ("<style>@import 'https://cdn.example/a.css'</style>", "loads https://cdn.example/a.css"),
        ('<p style="background: url(https://cdn.example/a.png)">', "loads https://cdn.example/a.png"),
        ('<img src="gone.png">', "loads gone.png, which is not there"),
        ('<a href="#gone">', "links to #gone, which is not there"),
        ("<p>Colours:\n- red", "has a list without an empty line before it"),
    ],
)
def test_what_a_page_must_not_have_is_found(tmp_path: Path, markup: str, fault: str) -> None:
    (tmp_path / "index.html").write_text(f"<!doctype html><body>{markup}</body>", encoding="utf-8")

    faults = find_faults(tmp_path)

    assert len(faults) == 1
    assert fault in faults[0]
