"""A server that goes away or is cut off, and what its page says of it and of the run."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.cutting import cutting
from tests.browser.test_page import HEALED, ended, heal, ready_to_edit, review_wanted
from tests.demo.apart import free_port, started
from tests.demo.served import LONG, RIGHT, WRONG

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def quick(port: int, folder: Path) -> dict[str, str]:
    """The settings of a page without a model that proves no more than E2."""
    return {"LLM_PROVIDER": "mock", "PORT": str(port), "HEAL_DATA_DIR": str(folder),
            "HEAL_PROOF_S": "0"}


def test_a_server_that_is_away_is_said_and_so_is_a_run_that_is_taken_up_again(
    browser: Browser, tmp_path: Path
) -> None:
    port = free_port()
    env = {**quick(port, tmp_path), "HEAL_BUDGET_S": "3000", "HEAL_TEST_S": "300"}
    page = browser.new_context().new_page()
    with started("app.py", port=port, env=env) as (home, process):
        page.goto(home)
        expect(page.locator("#plan .badge").first).to_be_visible()
        heal(page, **LONG)
        expect(page.locator(".timeline .moment").first).to_be_visible()
        expect(page.locator("#away")).to_be_empty()
        process.terminate()
        expect(page.locator("#away")).not_to_be_empty(timeout=5_000)
        said = page.locator("#away").inner_text()
        before = page.locator("#bench .clock").inner_text()
        page.locator("button#stop").click()
        expect(page.locator("#away")).not_to_have_text(said)  # that Stop is sent then
        assert page.locator("#bench .clock").inner_text() == before
    with started("app.py", port=port, env=env):
        expect(page.locator("#away")).to_be_empty()
        expect(page.locator(".bench .sentence").first).to_be_visible()
        ended(page, "cancelled")
    page.context.close()


@pytest.mark.parametrize("known", [False, True])
def test_an_example_that_is_chosen_while_the_server_is_away_is_healed_when_it_is_back(
    browser: Browser, tmp_path: Path, known: bool
) -> None:
    port = free_port()
    env = quick(port, tmp_path)
    page = browser.new_context().new_page()
    with started("app.py", port=port, env=env) as (home, _):
        page.goto(home)
        expect(page.locator("#plan .badge").first).to_be_visible()
    if known:
        expect(page.locator("#away")).not_to_be_empty()
    said = page.locator("#away").inner_text() if known else ""
    page.get_by_role("button", name="Missing name").click()
    expect(page.locator("#away")).not_to_be_empty()
    expect(page.locator("#away")).not_to_have_text(said)  # that it is healed then
    with started("app.py", port=port, env=env):
        ended(page, "healed")
        expect(page.locator("#away")).to_be_empty()
        expect(page.locator("#code .cm-content")).to_contain_text("def seat_label")
    page.context.close()


def waits_for_a_review(page: Page, code: str, tests: str) -> None:
    """Heals, where the page asks before a repair is kept."""
    heal(page, code=code, tests=tests)
    expect(page.locator("#review")).to_be_visible()


def test_a_server_that_is_killed_while_a_review_waits_asks_again_and_takes_the_answer(
    browser: Browser, tmp_path: Path
) -> None:
    port = free_port()
    env = quick(port, tmp_path)
    page = browser.new_context().new_page()
    with started("app.py", port=port, env=env) as (home, process):
        page.goto(home)
        expect(page.locator("#plan .badge").first).to_be_visible()
        review_wanted(page)
        waits_for_a_review(page, WRONG, RIGHT)
        process.kill()
        process.join()
        expect(page.locator("#away")).not_to_be_empty(timeout=30_000)
    with started("app.py", port=port, env=env):
        expect(page.locator("#away")).to_be_empty()
        expect(page.locator("#review")).to_be_visible()
        expect(page.locator(".bench[data-phase=waiting] .patch")).to_be_visible()
        page.locator("button#approve").click()
        ended(page, HEALED)
    page.context.close()


def test_a_proxy_that_cuts_every_connection_costs_neither_the_run_nor_what_is_typed(
    browser: Browser, tmp_path: Path
) -> None:
    port = free_port()
    env = quick(port, tmp_path)
    page = browser.new_context().new_page()
    loaded: list[Page] = []
    slow = f"import time\ntime.sleep(0.2)\n{RIGHT}"  # a search lasts over some cuts
    with started("app.py", port=port, env=env), cutting(port) as (home, proxy):
        page.goto(home)
        page.on("load", lambda one: loaded.append(one))
        expect(page.locator("#plan .badge").first).to_be_visible()
        review_wanted(page)  # what Gradio loads for the options is not loaded again after a cut
        proxy.every_s = 0.7
        waits_for_a_review(page, WRONG, slow)
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
        for _ in range(5):  # a click that falls into a cut is said to be unheard
            if approve.is_visible():
                approve.evaluate("(button) => button.click()")
            page.wait_for_timeout(2_000)
        ended(page, HEALED)
        assert loaded == []
    page.context.close()


def test_a_stream_that_is_cut_before_its_answer_costs_neither_the_page_nor_the_run(
    browser: Browser, tmp_path: Path
) -> None:
    port = free_port()
    page = browser.new_context().new_page()
    loaded: list[Page] = []
    cut: list[str] = []
    slow = f"import time\ntime.sleep(0.2)\n{RIGHT}"

    def refuse(route: Route) -> None:
        cut.append(route.request.url)
        route.abort("connectionreset")

    with started("app.py", port=port, env=quick(port, tmp_path)) as (home, _):
        page.goto(home)
        expect(page.locator("#plan .badge").first).to_be_visible()
        page.on("load", lambda one: loaded.append(one))
        page.route("**/queue/data?*", refuse, times=2)
        review_wanted(page)
        waits_for_a_review(page, WRONG, slow)
        page.locator("button#approve").click()
        ended(page, HEALED)
        page.wait_for_timeout(2_500)
        assert len(cut) == 2
        assert loaded == []
    page.context.close()
