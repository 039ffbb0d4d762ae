"""What only a browser can tell: when a person sees the first event of a run."""

from __future__ import annotations

import time

from playwright.sync_api import expect, sync_playwright

ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)


def first_event_s(
    address: str, browser: str, code: str, tests: str, turns: int
) -> list[float]:
    """Seconds from the click to the first step shown in the timeline, for each turn."""
    seconds = []
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=browser, args=list(ARGUMENTS))
        try:
            for _ in range(turns):
                page = chromium.new_page()
                page.goto(address)
                page.locator("#code .cm-content").fill(code)
                page.locator("#tests .cm-content").fill(tests)
                heal = page.get_by_role("button", name="Heal it")
                expect(heal).to_be_enabled(timeout=30_000)
                started = time.perf_counter()
                heal.click()
                page.locator(".moment").first.wait_for(state="visible")
                seconds.append(time.perf_counter() - started)
                page.close()
        finally:
            chromium.close()
    return seconds
