"""A server that goes away or is cut off, and what its page says of it and of the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect

from tests.browser.cutting import cutting
from tests.browser.test_page import HEALED, ended, heal, ready_to_edit, review_wanted
from tests.demo.apart import free_port, started
from tests.demo.served import LONG, RIGHT, WRONG

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Serve = Callable[[], AbstractContextManager[tuple[str, BaseProcess]]]


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Serves a page without a model at one address, time and again, whose saved runs stay."""
    port = free_port()
    env = {"LLM_PROVIDER": "mock", "PORT": str(port), "HEAL_DATA_DIR": str(tmp_path),
           "HEAL_PROOF_S": "0", "HEAL_BUDGET_S": "3000", "HEAL_TEST_S": "300"}
    return lambda: started("app.py", port=port, env=env)


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Windows that may complain of a server that is away."""
    with browser.new_context(reduced_motion="reduce") as context:
        yield context


def opened(context: BrowserContext, home: str) -> Page:
    page = context.new_page()
    page.goto(home)
    expect(page.locator("#plan .badge").first).to_be_visible()
    return page


def chooses_an_example(page: Page) -> None:
    """What the page says of the server changes: the example is healed once it is back."""
    said = page.locator("#away").inner_text()
    page.get_by_role("button", name="Missing name").click()
    expect(page.locator("#away")).not_to_be_empty()
    expect(page.locator("#away")).not_to_have_text(said)


def example_healed(page: Page) -> None:
    ended(page, "healed")
    expect(page.locator("#away")).to_be_empty()
    expect(page.locator("#code .cm-content")).to_contain_text("def seat_label")


@pytest.mark.nightly
def test_clicks_during_a_restart_are_done_afterwards(context: BrowserContext, serve: Serve) -> None:
    with serve() as (home, process):
        page, other = opened(context, home), opened(context, home)
        heal(page, **LONG)
        expect(page.locator(".timeline .moment").first).to_be_visible()
        expect(page.locator("#away")).to_be_empty()
        process.terminate()
        expect(page.locator("#away")).not_to_be_empty()
        said = page.locator("#away").inner_text()
        before = page.locator("#bench .clock").inner_text()
        page.locator("button#stop").click()
        expect(page.locator("#away")).not_to_have_text(said)  # that Stop is sent then
        assert page.locator("#bench .clock").inner_text() == before
    expect(other.locator("#away")).not_to_be_empty()
    chooses_an_example(other)
    with serve():
        expect(page.locator("#away")).to_be_empty()
        expect(page.locator(".bench .sentence").first).to_be_visible()
        ended(page, "cancelled")
        example_healed(other)


@pytest.mark.nightly
def test_a_review_survives_a_killed_server(context: BrowserContext, serve: Serve) -> None:
    with serve() as (home, process):
        page, other = opened(context, home), opened(context, home)
        review_wanted(page)
        waits_for_a_review(page, RIGHT)
        process.kill()
        process.join()
        chooses_an_example(other)  # before its page knows of it
        expect(page.locator("#away")).not_to_be_empty()
    with serve():
        expect(page.locator("#away")).to_be_empty()
        expect(page.locator("#review")).to_be_visible()
        expect(page.locator(".bench[data-phase=waiting] .patch")).to_be_visible()
        page.locator("button#approve").click()
        ended(page, HEALED)
        example_healed(other)


SLOW = f"import time\ntime.sleep(0.2)\n{RIGHT}"
"""Tests under which a search lasts over some cuts."""


def waits_for_a_review(page: Page, tests: str) -> None:
    """Heals, where the page asks before a repair is kept."""
    heal(page, code=WRONG, tests=tests)
    expect(page.locator("#review")).to_be_visible()


@pytest.mark.nightly
def test_a_proxy_that_cuts_connections_loses_nothing(context: BrowserContext, home: str) -> None:
    loaded: list[Page] = []
    with cutting(int(home.strip("/").rpartition(":")[2])) as (address, proxy):
        page = opened(context, address)
        page.on("load", lambda one: loaded.append(one))
        review_wanted(page)  # what Gradio loads for the options is not loaded again after a cut
        proxy.every_s = 0.7
        waits_for_a_review(page, SLOW)
        before = proxy.cuts
        ready_to_edit(page)
        page.locator("#edited .cm-content").fill(WRONG.replace("a - b", "sum((a, b))"))
        page.wait_for_timeout(2_000)
        assert proxy.cuts > before > 0
        expect(page.locator("#edited .cm-content")).to_contain_text("sum((a, b))")
        proxy.every_s = None
        page.locator("button#bring").click()
        expect(page.locator(".patch")).to_contain_text("sum((a, b))")
        proxy.every_s = 0.7
        expect(page.locator("#review")).to_be_visible()
        approve = page.locator("button#approve")
        for _ in range(60):  # a click that falls into a cut is said to be unheard
            if page.locator(".bench[data-phase=finished]").count():
                break
            if approve.is_visible():
                approve.evaluate("(button) => button.click()")
            page.wait_for_timeout(500)
        ended(page, HEALED)
        assert loaded == []


@pytest.mark.nightly
def test_a_cut_stream_loses_neither_page_nor_run(context: BrowserContext, home: str) -> None:
    loaded: list[Page] = []
    cut: list[str] = []

    def refuse(route: Route) -> None:
        cut.append(route.request.url)
        route.abort("connectionreset")

    page = opened(context, home)
    page.on("load", lambda one: loaded.append(one))
    page.route("**/queue/data?*", refuse, times=2)
    review_wanted(page)
    waits_for_a_review(page, SLOW)
    page.locator("button#approve").click()
    ended(page, HEALED)
    assert len(cut) == 2
    assert loaded == []
