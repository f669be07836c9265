"""The page as it opens, before anybody has done anything."""

import pytest
from playwright.sync_api import Page, expect
from tests.browser.accessibility import check_accessibility
from tests.browser.looks import DARK, DARK_PHONE, LIGHT, PHONE, STILL

LOOKS = {"light": LIGHT, "dark": DARK, "phone": PHONE, "dark phone": DARK_PHONE, "still": STILL}


@pytest.mark.parametrize("look", LOOKS.values(), ids=LOOKS.keys())
def test_the_page_opens_and_shuts_nobody_out(page: Page) -> None:
    page.goto("/")

    expect(page.get_by_label("Search", exact=True)).to_be_visible()
    check_accessibility(page)
