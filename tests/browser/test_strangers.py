"""A page that strangers can reach, as their browsers meet it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from playwright.sync_api import Browser, Error, Page, Response, expect

from tests.browser.conftest import window
from tests.browser.test_page import HEALED, ended, heal, review_wanted
from tests.browser.test_panels import opened
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
        href = "https://huggingface.co/spaces/owner/name?duplicate=true"
        expect(watched.page.locator(f'.masthead a[href="{href}"]')).to_be_visible()


CANARY = "ACME_SECRET_TOKEN_42"
CODE = f"def area({CANARY}, height):\n    return {CANARY} + height\n"
TESTS = "assert area(2, 5) == 10\nassert area(1, 1) == 1"
DESK = (1440, 900)


def everything_told(page: Page, told: list[Response]) -> str:
    """All that a browser was given or keeps: answers, page, storage, cookies."""
    kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}])")
    bodies = []
    for one in told:
        with suppress(Error):  # a stream that goes on, or what the browser has let go of
            bodies.append(one.text())
    return "\n".join([kept, str(page.context.cookies()), page.content(), *bodies])


def test_nothing_of_a_visitor_is_anywhere_in_another_visitors_browser(
    browser: Browser, weak_home: str
) -> None:
    with window(browser, weak_home, DESK) as owner, browser.new_context() as context:
        heal(owner.page, code=CODE, tests=TESTS)
        ended(owner.page, HEALED)
        word = next(one["value"] for one in owner.context.cookies())
        run = owner.page.url.partition("run=")[2]
        page, told = context.new_page(), list[Response]()
        page.on("response", lambda one: told.append(one))
        page.goto(weak_home)
        expect(page.locator("#plan .badge").first).to_be_visible()
        heal(page, code=CODE.replace(CANARY, "width"), tests=TESTS)
        ended(page, HEALED)
        for name in ("Runs", "Memory", "API", "Heal"):
            opened(page, name)
        own = page.url.partition("run=")[2]
        files = [f"gradio_api/heal/{own}/{one}" for one in ("log", "patch", "tests", "moments")]
        page.evaluate("""(paths) => Promise.all(paths.map(
          (one) => fetch(one).then((answer) => answer.text())
        ))""", ["config", "healthz", "gradio_api/info", *files])
        seen = everything_told(page, told)  # which a reload would have the browser forget
        page.reload()
        ended(page, HEALED)
        seen += everything_told(page, told)
        assert "run_started" in seen and own in seen and len(told) > 20
        assert CANARY in everything_told(owner.page, [])
        assert [one for one in (CANARY, word, run) if one in seen] == []


def reviewed(watched: Any) -> Page:
    """A page with a run that waits for its review."""
    page: Page = watched.page
    review_wanted(page)
    heal(page, code=CODE, tests=TESTS)
    expect(page.locator("#review")).to_be_visible()
    return page


def test_a_link_that_decides_is_made_and_taken_back_by_a_click(
    browser: Browser, weak_home: str
) -> None:
    with window(browser, weak_home, DESK) as owner, browser.new_context() as context:
        mine, other = reviewed(owner), context.new_page()
        mine.locator("button.share-control").click()
        link = mine.locator("#said a.lent")
        expect(link).to_be_visible()
        other.goto(mine.url)
        expect(other.locator(".bench .sentence.info")).to_be_visible()
        expect(other.locator("#review")).to_be_hidden()
        other.goto(link.evaluate("(one) => one.href"))
        expect(other.locator("#review")).to_be_visible()
        expect(other.locator("button.share-control")).to_have_count(0)
        word = link.evaluate("(one) => one.href").partition("#control=")[2]
        asked: list[str] = []
        other.on("request", lambda one: asked.append(f"{one.url} {one.headers}"))
        other.reload()
        expect(other.locator("#review")).to_be_visible()
        told = (other.url, other.evaluate("JSON.stringify(localStorage)"), *asked)
        assert word and word not in "".join(told)
        mine.locator("[data-act=unlend]").click()
        expect(mine.locator("#said .sentence.good")).to_be_visible()
        other.locator("button#approve").click()
        expect(other.locator("#said .sentence")).to_be_visible()
        mine.locator("button.share-control").click()
        other.goto(link.evaluate("(one) => one.href"))
        other.locator("button#approve").click()
        ended(other, HEALED)
        ended(mine, HEALED)
