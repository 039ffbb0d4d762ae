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
from tests.agent.loop.test_with_models import HARD, HARD_TESTS
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


def give_key(page: Page, button: str = "use-key") -> None:
    field = page.locator("#key input")
    if not field.is_visible():
        page.locator("#models button").first.click()
    # The last that a page which was just loaded fills in; what is typed earlier may be lost, and as
    # Gradio begins to listen only then, once more what is typed right after.
    expect(page.locator("#available-keys")).not_to_be_empty()
    for _ in range(20):
        field.fill(KEY)
        page.wait_for_timeout(250)
        if field.input_value() == KEY:
            break
    expect(field).to_have_value(KEY)
    page.locator(f"button#{button}").click()
    expect(field).to_have_value("")


def shows_no_key(context: BrowserContext, page: Page) -> None:
    """Hunts for the key in what the browser shows and keeps."""
    assert KEY not in page.content()
    assert KEY not in page.evaluate(KEPT)
    assert KEY not in json.dumps(context.storage_state())


@pytest.mark.nightly
def test_a_visitors_key_stays_secret(browser: Browser, serve: Serve, tmp_path: Path) -> None:
    with serve() as home, window(browser, home, (1440, 900)) as mine:
        page = mine.page
        expect(page.locator("#plan")).not_to_contain_text("anthropic")
        give_key(page, "test-key")
        expect(page.locator("#key-message")).to_contain_text("3")
        expect(page.locator("#plan")).to_contain_text("anthropic")
        expect(page.locator("#spending")).to_contain_text("$0.50, 200,000")
        page.locator("#roles :is(input, textarea)").fill("arbiter=mock, planner")
        page.locator("#roles :is(input, textarea)").press("Enter")
        expect(page.locator("#key-message")).to_contain_text("'planner'")
        page.locator("#roles :is(input, textarea)").fill("arbiter=mock")
        heal(page, code=HARD, tests=HARD_TESTS)
        page.locator("#tab-trace").click()
        writing = page.locator(".bench[data-phase=running] pre.writing")
        expect(writing.last).to_contain_text("```python")
        expect(page.locator("#writing")).to_be_hidden()
        ended(page, "healed")
        expect(writing).to_have_count(0)
        expect(page.locator(".verdict")).to_contain_text("$0.00")
        page.locator("#tab-trace").click()
        expect(page.locator(".calls li").first).to_contain_text("anthropic/claude")
        expect(page.locator(".place .who li").nth(3)).not_to_contain_text("anthropic")
        fits(page)
        shows_no_key(mine.context, page)
        with page.expect_download() as taken:
            page.locator("a.download[href$=bundle]").click()
        with ZipFile(taken.value.path()) as bundle:
            assert "run.jsonl" in bundle.namelist()
            assert not any(KEY.encode() in bundle.read(name) for name in bundle.namelist())
        with window(browser, home, (390, 844)) as other:
            expect(other.page.locator("#plan")).not_to_contain_text("anthropic")
            other.page.locator("#models button").first.click()
            expect(other.page.locator("#available-keys")).not_to_be_empty()
            expect(other.page.locator("#available-keys")).not_to_contain_text("anthropic")
            fits(other.page)
        mine.reload()
        expect(page.locator("#plan")).to_contain_text("anthropic")
        page.locator("#models button").first.click()
        expect(page.locator("#roles :is(input, textarea)")).to_have_value("arbiter=mock")
        page.locator("button#forget-keys").click()
        expect(page.locator("#plan")).not_to_contain_text("anthropic")
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) >= 3
    assert not [path for path in written if KEY.encode() in path.read_bytes()]


@pytest.mark.nightly
def test_a_capped_run_continues_after_restart_with_a_key(browser: Browser, serve: Serve) -> None:
    def waits(page: Page, cap: bool) -> None:
        expect(page.locator(".bench[data-phase=waiting]")).to_be_visible()
        expect(page.locator("#needed")).to_contain_text(" 2 " if cap else "ANTHROPIC_API_KEY")

    with serve(HEAL_BUDGET_CALLS="2") as home:
        context = browser.new_context(viewport={"width": 390, "height": 844})
        page = Watched(context, home).page
        give_key(page)
        expect(page.locator("#plan")).to_contain_text("anthropic")
        heal(page, code=HARD, tests=HARD_TESTS)
        waits(page, cap=True)
        page.reload()
        waits(page, cap=True)
        fits(page)

    with serve(HEAL_BUDGET_CALLS="2") as home:
        page.goto(home)
        waits(page, cap=True)
        page.locator("button#go-on").click()
        waits(page, cap=False)
        page.locator("button#go-on").click()
        expect(page.locator("#said .sentence")).to_be_visible()
        page.reload()
        waits(page, cap=False)
        give_key(page)
        page.locator("button#go-on").click()
        ended(page, "healed")
        expect(page.locator("#paused")).to_be_hidden()
        shows_no_key(context, page)
    context.close()
