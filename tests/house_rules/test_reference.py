import pytest
from docs.making.reference import PAGES, ROOT


@pytest.mark.parametrize("name", PAGES)
def test_each_reference_page_says_what_the_code_says(name: str) -> None:
    written = (ROOT / name).read_text(encoding="utf-8")

    assert written == PAGES[name](), "Run `make docs`."
