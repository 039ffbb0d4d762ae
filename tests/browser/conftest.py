"""A headless browser, and pages served by processes of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from weakref import WeakKeyDictionary

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from evaluation.screenshots import browser as chromium
from tests.demo.apart import WEAK, free_port, serving, shipped

expect.set_options(timeout=60_000)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium of the system; its lack fails where CI is set and is a visible skip elsewhere."""
    with ExitStack() as stack:
        try:
            launched = stack.enter_context(chromium())
        except SystemExit as missing:
            (pytest.fail if os.environ.get("CI") else pytest.skip)(str(missing))
        yield launched


class Watched:
    """A browser window that notes errors and requests to elsewhere."""

    def __init__(self, context: BrowserContext, home: str, query: str = "") -> None:
        self.context = context
        self.home = home
        self.errors: list[str] = []
        self.elsewhere: list[str] = []
        self.page = self.open(query)

    def open(self, query: str = "") -> Page:
        """A new tab on the page, once its buttons stand."""
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda said: self.errors.append(said.text)
                if said.type in ("error", "warning") else None)
        page.on("request", lambda request: self.elsewhere.append(request.url)
                if not request.url.startswith((self.home, "data:", "blob:")) else None)
        page.goto(f"{self.home}{query}")
        expect(page.locator("#plan .badge").first).to_be_visible()
        return page

    def reload(self) -> None:
        """Reloads the first tab; that the old page's stream breaks off is no complaint."""
        before = len(self.errors)
        self.page.reload()
        del self.errors[before:]


@pytest.fixture(scope="module")
def recorded_home(browser: Browser) -> Iterator[str]:
    """The address of a page that plays recorded runs."""
    port = free_port()
    with serving(str(Path(__file__).with_name("recorded_page.py")), str(port), port=port) as home:
        yield home


@pytest.fixture(scope="module")
def home(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the page as it ships, but that no test finds what another has healed."""
    with shipped(tmp_path_factory.mktemp("page"), HEAL_CROSS_SESSION_MEMORY="0") as address:
        yield address


@pytest.fixture(scope="module")
def weak_home(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a page that other machines can reach, and that runs code behind a weak jail
    all the same."""
    with shipped(tmp_path_factory.mktemp("public"), **WEAK, SANDBOX_ALLOW_WEAK="1") as address:
        yield address


@pytest.fixture
def size() -> tuple[int, int]:
    """A window's width and height: a desk's, where a test names no other."""
    return 1440, 900


@contextmanager
def window(
    browser: Browser, home: str, size: tuple[int, int], query: str = ""
) -> Iterator[Watched]:
    """A window of its own; whatever the page complained about fails the test. What it loaded is in
    the next one's cache, which halves the work; of what it kept there is nothing left."""
    idle = _IDLE.setdefault(browser, {}).setdefault(size, [])
    context = idle.pop() if idle else browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        reduced_motion="reduce",  # what moves is drawn by the processor, all the while
    )
    watched = Watched(context, home, query)
    yield watched
    assert watched.errors == []
    assert watched.elsewhere == []
    for page in context.pages:
        page.close()
    kept = {"origin": home.rstrip("/"), "storageTypes": "cookies,local_storage,indexeddb"}
    blank = context.new_page()
    context.new_cdp_session(blank).send("Storage.clearDataForOrigin", kept)
    context.clear_cookies()
    blank.close()
    idle.append(context)


_IDLE: WeakKeyDictionary[Browser, dict[tuple[int, int], list[BrowserContext]]] = (
    WeakKeyDictionary()
)


@pytest.fixture
def recorded_page(browser: Browser, recorded_home: str, size: tuple[int, int]) -> Iterator[Watched]:
    """A window on recorded runs."""
    with window(browser, recorded_home, size) as watched:
        yield watched


@pytest.fixture
def weak_page(browser: Browser, weak_home: str, size: tuple[int, int]) -> Iterator[Watched]:
    """A window on the page behind a weak jail."""
    with window(browser, weak_home, size) as watched:
        yield watched


@pytest.fixture
def page(browser: Browser, home: str, size: tuple[int, int]) -> Iterator[Watched]:
    """A window on the page as it ships."""
    with window(browser, home, size) as watched:
        yield watched
