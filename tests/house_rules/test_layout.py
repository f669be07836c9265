from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.repository_files import repository_files

ROOT = Path(__file__).parents[2]
NAMES_THAT_SAY_NOTHING = {
    *("manager", "handler", "helper", "helpers", "util", "utils", "common", "core", "misc"),
    *("base", "data", "info", "process", "handle", "do"),
}

# Where this copy lies and who works on it: true of one machine only, unless it is a place that many have.
EVERYWHERE = {Path("/tmp"), Path("/home/ada"), Path("/home/me")}  # noqa: S108  named, not written to
MACHINE_FOLDERS = [
    folder
    for folder in (ROOT, Path.home())
    if folder == Path("/root") or (len(folder.parts) > 2 and folder not in EVERYWHERE)
]


def texts() -> Iterator[tuple[Path, str]]:
    for path in repository_files():
        content = path.read_bytes()
        if b"\0" not in content:
            yield path.relative_to(ROOT), content.decode("utf-8", errors="replace")


def test_no_module_has_a_name_that_says_nothing() -> None:
    python_files = [path.relative_to(ROOT) for path in repository_files() if path.suffix == ".py"]

    nameless = [str(path) for path in python_files if NAMES_THAT_SAY_NOTHING & {path.stem, *path.parent.parts}]

    assert not nameless, f"Name each after what it is about: {nameless}"


def test_every_folder_with_modules_under_src_is_a_package() -> None:
    folders = {path.parent for path in repository_files(ROOT / "src") if path.suffix == ".py"}

    missing = [str(folder.relative_to(ROOT)) for folder in folders if not (folder / "__init__.py").exists()]

    assert not missing, f"These want an __init__.py: {missing}"


def test_no_text_names_a_folder_of_this_machine() -> None:
    lines = [(path, number, line) for path, text in texts() for number, line in enumerate(text.splitlines(), start=1)]

    bound = [
        f"{path}:{number}" for path, number, line in lines if any(f"{folder}/" in line for folder in MACHINE_FOLDERS)
    ]

    assert not bound, f"These name a folder that no other machine has: {bound}"


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_the_locks_say_what_to_install_and_not_from_where(name: str) -> None:
    lock = (ROOT / name).read_text(encoding="utf-8")

    assert "://" not in lock
    assert "--index-url" not in lock


def test_each_decision_has_a_number_of_its_own() -> None:
    pages = sorted((ROOT / "docs/decisions").glob("*.md"))

    assert [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))
    for number, page in enumerate(pages, start=1):
        assert page.read_text(encoding="utf-8").startswith(f"# {number}. "), page.name
