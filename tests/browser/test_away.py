"""A server that goes away, and what its page says of it and of the run."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.demo.apart import free_port, started
from tests.demo.served import LONG

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_server_that_is_away_is_said_and_so_is_a_run_that_is_taken_up_again(
    browser: Browser, tmp_path: Path
) -> None:
    port = free_port()
    env = {"LLM_PROVIDER": "mock", "PORT": str(port), "HEAL_DATA_DIR": str(tmp_path),
           "HEAL_BUDGET_S": "3000", "HEAL_TEST_S": "300"}
    page = browser.new_context().new_page()
    # Gradio looks for a server only where a stream broke off, which one that leaves in order ends.
    page.route("**/app_id", lambda route: route.abort())
    with started("app.py", port=port, env=env) as (home, process):
        page.goto(home)
        expect(page.locator("#plan .badge").first).to_be_visible()
        page.locator("#code .cm-content").fill(LONG["code"])
        page.locator("#tests .cm-content").fill(LONG["tests"])
        page.get_by_role("button", name="Heal it").click()
        expect(page.locator(".timeline .moment").first).to_be_visible()
        expect(page.locator("#away")).to_be_empty()
        process.terminate()
        expect(page.locator("#away")).to_contain_text("goes on once it is back", timeout=5_000)
        before = page.locator("#bench .clock").inner_text()
        page.get_by_role("button", name="Stop", exact=True).click()
        expect(page.locator("#away")).to_contain_text("Stop is told it then.")
        assert page.locator("#bench .clock").inner_text() == before
    with started("app.py", port=port, env=env):
        expect(page.locator("#away")).to_be_empty()
        expect(page.locator(".bench .sentence", has_text="Taken up again")).to_be_visible()
        expect(page.locator(".bench .verdict strong")).to_have_text("CANCELLED")
    page.context.close()
