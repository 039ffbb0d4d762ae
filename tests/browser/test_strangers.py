"""A page that strangers can reach, as their browsers meet it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import window
from tests.demo.apart import shipped

pytestmark = [pytest.mark.browser, pytest.mark.slow]


@pytest.fixture(scope="module")
def space(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a page as a Space serves it."""
    with shipped(tmp_path_factory.mktemp("space"), SPACE_ID="owner/name") as address:
        yield address


def test_a_space_shows_the_link_by_which_visitors_make_their_own(
    browser: Browser, space: str
) -> None:
    with window(browser, space, (390, 844)) as watched:
        link = watched.page.get_by_role("link", name="Duplicate this Space")
        expect(link).to_be_visible()
        expect(link).to_have_attribute(
            "href", "https://huggingface.co/spaces/owner/name?duplicate=true"
        )
