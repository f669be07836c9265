import pytest
from docs import generate


@pytest.mark.parametrize("name", generate.PAGES)
def test_each_reference_page_says_what_the_code_says(name: str) -> None:
    stale = generate.find_stale_pages()

    assert name not in stale, f"{name} is out of date: run `make docs`."
