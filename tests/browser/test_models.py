"""Models on the page, with the engine itself and a server that speaks as Claude does."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from zipfile import ZipFile

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.agent.claude import KEY
from tests.agent.run.test_with_models import HARD, HARD_TESTS
from tests.browser.conftest import Watched, window
from tests.browser.test_page import ended, fits, heal
from tests.demo.apart import free_port, serving

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SERVER = str(Path(__file__).with_name("claude_page.py"))
KEPT = "JSON.stringify(Object.entries(localStorage))"
Serve = Callable[..., AbstractContextManager[str]]


@pytest.fixture
def serve(browser: Browser, tmp_path: Path) -> Serve:
    """Serves a public page at one address, time and again, whose saved runs stay."""
    port = free_port()

    @contextmanager
    def served(**settings: str) -> Iterator[str]:
        env = {"PORT": str(port), "GRADIO_SERVER_NAME": "0.0.0.0", "SANDBOX_ALLOW_WEAK": "1",
               "HEAL_DATA_DIR": str(tmp_path), "HEAL_MAX_CANDIDATES": "50", "HEAL_PROOF_S": "0",
               **settings}
        with serving(SERVER, port=port, env=env) as home:
            yield home

    return served


def give_key(page: Page, button: str = "Use this key") -> None:
    field = page.locator("#key input")
    if not field.is_visible():
        page.get_by_role("button", name="Models and keys").click()
    # The last that a page which was just loaded fills in; what is typed earlier may be lost, and as
    # Gradio begins to listen only then, once more what is typed right after.
    expect(page.locator("#at-hand")).to_contain_text("Keys at hand")
    for _ in range(20):
        field.fill(KEY)
        page.wait_for_timeout(250)
        if field.input_value() == KEY:
            break
    expect(field).to_have_value(KEY)
    page.get_by_role("button", name=button).click()
    expect(field).to_have_value("")


def shows_no_key(context: BrowserContext, page: Page) -> None:
    """Hunts for the key in what the browser shows and keeps."""
    assert KEY not in page.content()
    assert KEY not in page.evaluate(KEPT)
    assert KEY not in json.dumps(context.storage_state())


def test_a_visitors_key_heals_what_search_cannot_and_is_found_nowhere(
    browser: Browser, serve: Serve, tmp_path: Path
) -> None:
    with serve() as home, window(browser, home, (1440, 900)) as mine:
        page = mine.page
        expect(page.locator("#plan")).to_contain_text("no model: memory and search only")
        give_key(page, "Test key")
        expect(page.locator("#came")).to_contain_text("anthropic lists 3 models")
        expect(page.locator("#plan")).to_contain_text("there is a key for it")
        expect(page.locator("#spending")).to_contain_text("At most $0.50, 200,000 tokens")
        page.get_by_label("Roles given to others").fill("arbiter=mock, planner")
        page.get_by_label("Roles given to others").press("Enter")
        expect(page.locator("#came")).to_contain_text("cannot be read: 'planner'")
        page.get_by_label("Roles given to others").fill("arbiter=mock")
        heal(page, code=HARD, tests=HARD_TESTS)
        page.get_by_role("tab", name="Trace").click()
        writing = page.locator(".bench[data-phase=running] pre.writing")
        expect(writing.last).to_contain_text("```python")
        expect(page.locator("#writing")).to_be_hidden()
        ended(page, "HEALED")
        expect(writing).to_have_count(0)
        expect(page.locator(".verdict")).to_contain_text("by model, ")
        expect(page.locator(".verdict")).to_contain_text("tokens, $0.00")
        page.get_by_role("tab", name="Trace").click()
        expect(page.locator(".calls li").first).to_contain_text("debugger: anthropic/claude")
        expect(page.locator(".place .who li").nth(3)).to_contain_text("no model")
        fits(page)
        shows_no_key(mine.context, page)
        with page.expect_download() as taken:
            page.get_by_role("link", name="Bundle").click()
        with ZipFile(taken.value.path()) as bundle:
            assert "run.jsonl" in bundle.namelist()
            assert not any(KEY.encode() in bundle.read(name) for name in bundle.namelist())
        with window(browser, home, (390, 844)) as other:
            expect(other.page.locator("#plan")).to_contain_text("no model: memory")
            other.page.get_by_role("button", name="Models and keys").click()
            expect(other.page.locator("#at-hand")).to_contain_text("none")
            fits(other.page)
        mine.reload()
        expect(page.locator("#plan")).to_contain_text("there is a key for it")
        page.get_by_role("button", name="Models and keys").click()
        expect(page.get_by_label("Roles given to others")).to_have_value("arbiter=mock")
        page.get_by_role("button", name="Forget my keys").click()
        expect(page.locator("#plan")).to_contain_text("no model: memory and search only")
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) >= 3
    assert not [path for path in written if KEY.encode() in path.read_bytes()]


@pytest.mark.nightly
def test_a_run_that_reached_a_cap_goes_on_after_a_restart_once_the_key_is_given_again(
    browser: Browser, serve: Serve
) -> None:
    def waits(page: Page, words: str) -> None:
        expect(page.locator("#paused")).to_contain_text(words)
        expect(page.locator(".bench[data-phase=waiting]")).to_be_visible()

    def clicked(page: Page, name: str) -> None:
        page.locator("#pause-buttons").get_by_role("button", name=name).click()

    with serve(HEAL_BUDGET_CALLS="2") as home:
        context = browser.new_context(viewport={"width": 390, "height": 844})
        page = Watched(context, home).page
        give_key(page)
        expect(page.locator("#plan")).to_contain_text("there is a key for it")
        heal(page, code=HARD, tests=HARD_TESTS)
        waits(page, "cap of 2 calls would be passed")
        page.reload()
        waits(page, "cap of 2 calls would be passed")
        fits(page)

    with serve(HEAL_BUDGET_CALLS="2") as home:
        page = Watched(context, home).page
        waits(page, "cap of 2 calls would be passed")
        clicked(page, "Add 2 calls and go on")
        waits(page, "A key is needed")
        clicked(page, "Go on")
        expect(page.locator("#said")).to_contain_text("still missing")
        page.reload()
        waits(page, "A key is needed")
        give_key(page)
        clicked(page, "Go on")
        ended(page, "HEALED")
        expect(page.locator("#paused")).to_be_hidden()
        shows_no_key(context, page)
    context.close()


