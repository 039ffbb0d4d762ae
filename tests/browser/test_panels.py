"""What a person does beside the workbench: files, large pastes, options, runs and the memory."""

from __future__ import annotations

import io
import itertools
import re
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.agent.search.project.small_project import pyproject
from tests.browser.test_accessible import EVERYWHERE, SAMPLES, axe, keeps_the_rules
from tests.browser.test_page import HEALED, UNNAMED, ended, fits, heal
from tests.demo.apart import shipped

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CODE = "def fee(days):\n    if days > 14:\n        return 0\n    return days - 14\n"
TESTS = "assert fee(14) == 0\nassert fee(13) == 0\nassert fee(15) == 1"
PASTE = """([place, size]) => {
  const text = new DataTransfer();
  text.setData("text/plain", "x = 1\\n".repeat(size / 6));
  const paste = new ClipboardEvent("paste", {
    clipboardData: text, bubbles: true, cancelable: true,
  });
  return document.querySelector(place).dispatchEvent(paste);
}"""
"""Whether what is pasted is left to the browser."""


@pytest.fixture(scope="module")
def home(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the page as it ships, which remembers what was healed."""
    with shipped(tmp_path_factory.mktemp("panels")) as address:
        yield address


def opened(page: Page, name: str) -> None:
    """Opens a panel, from the menu where its tab does not fit."""
    tab = page.get_by_role("tab", name=name)
    if tab.count() and tab.first.is_visible():
        tab.first.click()
        return
    page.locator(".overflow-menu > button").click()
    page.locator(".overflow-dropdown button", has_text=name).click()


@pytest.mark.nightly
def test_a_paste_that_is_too_large_is_refused_before_an_editor_has_it(page: Any) -> None:
    shown = page.page
    for place in ("#code .cm-content", "#tests .cm-content", "#words textarea"):
        assert shown.evaluate(PASTE, [place, 5_000_000]) is False
        expect(shown.locator("#too-large")).to_contain_text("1,000,000")
    for place in ("#code", "#tests"):
        assert shown.locator(f"{place} .cm-content").inner_text().strip() == ""
    shown.evaluate(PASTE, ["#code .cm-content", 60])
    expect(shown.locator("#too-large")).to_have_count(0)
    expect(shown.locator("#code .cm-content")).to_contain_text("x = 1")


@pytest.mark.nightly
def test_files_are_healed_under_their_names_and_a_zip_by_its_own_suite(page: Any) -> None:
    shown = page.page
    files = [
        {"name": "fees.py", "mimeType": "text/x-python", "buffer": CODE.encode()},
        {"name": "test_fees.py", "mimeType": "text/x-python", "buffer": b"from fees import fee\n\n"
         b"def test_free():\n    assert fee(14) == 0\n\ndef test_due():\n    assert fee(15) == 1\n"
         b"\ndef test_early():\n    assert fee(13) == 0\n"},
    ]
    shown.locator("#files input").set_input_files(files)
    expect(shown.locator("#files .sent")).to_have_text("fees.py, test_fees.py")
    shown.locator("button#heal").click()
    ended(shown, HEALED)
    expect(shown.locator(".downloads")).to_contain_text("fees.py")

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("shop/fees.py", files[0]["buffer"])
        archive.writestr("shop/other.py", "import fees\n")
        archive.writestr("shop/pyproject.toml", pyproject("shop"))
        archive.writestr("shop/test_fees.py", files[1]["buffer"])
    sent = {"name": "shop.zip", "mimeType": "application/zip", "buffer": packed.getvalue()}
    shown.locator("#files input").set_input_files([sent])
    expect(shown.locator("#files .sent")).to_have_text("shop.zip")
    shown.locator("button#heal").click()
    expect(shown.locator("#said")).to_contain_text("3 tests")
    ended(shown, HEALED)
    expect(shown.locator(".downloads")).to_contain_text("fees.py")
    expect(shown.locator("button.use")).to_have_count(0)
    shown.locator("button.use-files").click()
    expect(shown.locator("#files .sent")).to_have_text(re.compile(r"healed-\w{8}\.zip"))
    shown.locator("button#heal").click()
    ended(shown, "healthy")

    shown.locator("button.unsend").click()
    expect(shown.locator("#files .sent")).to_have_text("")
    big = {"name": "big.zip", "mimeType": "application/zip", "buffer": b"0" * 2_000_001}
    shown.locator("#files input").set_input_files([big])
    expect(shown.locator("#files .sent")).to_contain_text("2 MB")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("size", [(1440, 900), (390, 844)], ids=["desk", "phone"])
@pytest.mark.nightly
def test_a_run_is_found_replayed_compared_renamed_and_deleted_on_its_panel(page: Any) -> None:
    shown = page.page
    for days in (20, 30):
        heal(shown, code=CODE, tests=f"{TESTS}\nassert fee({days}) == {days - 14}")
        expect(shown.locator(".matrix")).to_contain_text(f"fee({days})")
        ended(shown, HEALED)
    opened(shown, "Runs")
    rows = shown.locator(".kept-run", has_text="fee")
    expect(rows.first.locator(".standing")).to_be_visible()
    count = rows.count()
    fits(shown)
    assert shown.evaluate(UNNAMED) == []

    search = shown.locator("#runs-search :is(input, textarea)")
    search.fill("no such run")
    for keys, found in (("Control+A", 0), ("Control+X", count), ("Control+V", 0)):
        search.press(keys)
        expect(rows).to_have_count(found)
        expect(shown.locator("#runs-list [data-act=compare]")).to_be_visible(visible=found > 0)
    search.fill("")

    rows.first.locator("[data-act=replay]").click()
    slider = shown.locator("#replay-at input[type=range]")
    verdict = shown.locator("#replayed .verdict strong")
    expect(verdict).to_be_visible()
    begun = verdict.inner_text()
    slider.focus()
    steps = shown.locator("#replayed .moment")
    expect(steps).to_have_count(0)
    asked: list[str] = []
    shown.on("request", lambda one: asked.append(one.url))
    slider.press("End")
    expect(verdict).not_to_have_text(begun)
    expect(steps).not_to_have_count(0)
    slider.press("Home")
    expect(verdict).to_have_text(begun)
    expect(steps).to_have_count(0)
    asked = [url for url in asked if not url.endswith("/healthz")]
    assert asked == [], "no server stands between the slider and what it shows"
    rows.nth(0).locator("[data-pick]").check()
    rows.nth(1).locator("[data-pick]").check()
    shown.locator("#runs-list [data-act=compare]").click()
    expect(shown.locator(".two-runs")).to_be_visible()
    fits(shown)

    shown.once("dialog", lambda dialog: dialog.accept("late fee"))
    rows.first.locator("[data-act=rename]").click()
    expect(shown.locator(".kept-run").first).to_contain_text("late fee")
    shown.once("dialog", lambda dialog: dialog.accept())
    shown.locator(".kept-run").first.locator("[data-act=delete]").click()
    expect(shown.locator(".kept-run", has_text="late fee")).to_have_count(0)
    expect(shown.locator(".kept-run", has_text="fee")).to_have_count(count - 1)

    rows.first.locator("[data-act=again]").click()
    ended(shown, HEALED)


@pytest.mark.nightly
def test_every_panel_keeps_the_rules_with_what_is_opened_on_it_and_does_what_it_offers(
    page: Any, whole: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    themes = itertools.cycle([EVERYWHERE] if whole else SAMPLES)
    shown = page.page
    shown.add_script_tag(path=axe())
    heal(shown, code=CODE.replace("fee", "due"), tests=TESTS.replace("fee", "due"))
    ended(shown, HEALED)
    opened(shown, "Runs")
    shown.locator("[data-act=replay]").first.click()
    expect(shown.locator("#replay-at input[type=range]")).to_be_focused()
    keeps_the_rules(shown, next(themes))

    opened(shown, "Memory")
    rows = shown.locator(".remembered > li")
    expect(rows).not_to_have_count(0)
    for row in rows.locator("summary").all():
        row.click()
    expect(rows.first).to_contain_text("due")
    expect(shown.locator(".remembered .diff").first).to_be_visible()
    keeps_the_rules(shown, next(themes))
    shown.once("dialog", lambda dialog: dialog.accept())
    shown.locator("[data-act=forget-all]").click()
    expect(rows).to_have_count(0)

    opened(shown, "Benchmarks")
    expect(shown.locator("#benchmarks-list pre").first).to_be_visible()
    keeps_the_rules(shown, next(themes))


@pytest.mark.nightly
def test_the_endpoints_for_programs_are_listed_with_a_call_of_each(page: Any) -> None:
    page.page.get_by_role("button", name="Use via API").click()
    expect(page.page.get_by_text("api_name=\"/heal_code\"").first).to_be_visible()
    page.errors.clear()  # Gradio looks for a server of MCP, which the page has not


@pytest.mark.nightly
def test_an_option_that_cannot_be_used_is_told_and_what_is_asked_for_is_said(page: Any) -> None:
    shown = page.page
    shown.locator("#options button").first.click()
    shown.locator("#usd :is(input, textarea)").press_sequentially("a lot", delay=60)
    heal(shown, code=CODE, tests=TESTS)
    expect(shown.locator("#said .sentence")).to_be_visible()
    expect(shown.locator("button#heal")).to_be_enabled()
    expect(shown).not_to_have_url(re.compile("run="))
    shown.locator("#usd :is(input, textarea)").fill("")
    shown.locator("#args :is(input, textarea)").fill("7")
    shown.locator("#stdin :is(input, textarea)").fill("5")
    code = "import sys\nprint(int(input()) * int(sys.argv[1]))\n"
    heal(shown, code=code, tests="assert output == '35\\n'")
    ended(shown, "healthy")
