"""The page by the rules of WCAG AA, in every state it can be in: axe-core reads it in Chromium."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.test_page import ended, fits, heal

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SIZES = ((1440, 900), (1280, 720), (390, 844))
STATES = ("rounds", "waiting", "rivals", "unresolved", "fault", "mute")
RULES = """async () => (await axe.run(document, {
  runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"], resultTypes: ["violations"],
  rules: { "heading-order": { enabled: true } },
})).violations.flatMap((one) => one.nodes.map((node) =>
  `${one.id}: ${node.html.slice(0, 160)}: ${node.failureSummary.slice(0, 200)}`
))"""
CODE = """# Every kind of word that an editor colours, and more lines than it shows.
import os
@print
class Basket(list):
    '''Prices.'''
    fee: int = 5
    def total(self, rate=1.5, name=None):
        if rate is True and not 1 < rate or self.fee != b"x":
            raise ValueError(f"no {name!r}")
        return [one ** 2 for one in range(3)] + {"k": lambda: 0}["k"]
""" + "total = 1\n" * 20
DARK = "(dark) => document.body.classList.toggle('dark', dark)"


def axe() -> Path:
    """The file that a test dependency brings; nothing is fetched."""
    found = find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        pytest.skip("install the test dependencies: axe-playwright-python is missing")
    return Path(found.origin).with_name("axe.min.js")


SAMPLED = 3
"""The states that are looked at on a push, the first ones."""
EVERYWHERE = {1440: (True, False), 1280: (), 390: (True,)}
SAMPLES = ({1440: (False,), 1280: (), 390: ()}, {1440: (), 1280: (), 390: (True,)})
DESK = {1440: (True, False)}
DESK_SAMPLES = ({1440: (False,)}, {1440: (True,)})


def keeps_the_rules(page: Page, themes: Mapping[int, Sequence[bool]]) -> None:
    """At each width without a scroll to the side, and by the rules in each of its themes (whether
    it is dark)."""
    for width, height in SIZES[::-1]:
        if width not in themes:
            continue
        page.set_viewport_size({"width": width, "height": height})
        fits(page)
        for dark in themes[width]:
            page.evaluate(DARK, dark)
            assert page.evaluate(RULES) == [], (width, dark)


@pytest.mark.nightly
def test_every_state_is_accessible(recorded_page: Any, tmp_path: Path, whole: bool) -> None:
    """A push reads the first screen and one state in full, and of some others one theme each."""
    themes = cycle([EVERYWHERE] if whole else SAMPLES)
    on_tabs = cycle([DESK] if whole else DESK_SAMPLES)
    page = recorded_page.page
    page.add_script_tag(path=axe())
    keeps_the_rules(page, EVERYWHERE)
    for place in ("#code", "#tests"):
        page.locator(f"{place} .cm-content").fill(CODE)
    keeps_the_rules(page, next(themes))
    for state in STATES if whole else STATES[:SAMPLED]:
        heal(page, code=CODE, tests=CODE, words=state)
        phase = {"waiting": "waiting", "fault": "failed"}.get(state, "finished")
        expect(page.locator(f".bench[data-phase={phase}]")).to_be_visible()
        if state == "waiting":
            expect(page.locator("#question, #review").first).to_be_visible()
        keeps_the_rules(page, EVERYWHERE if state == "rounds" else next(themes))
        if state == "rounds":
            for tab in page.locator("#bench").get_by_role("tab").all():
                tab.click()
                for one in page.locator("#bench [role=tabpanel]:visible summary:visible").all():
                    one.click()
                keeps_the_rules(page, next(on_tabs))
            page.locator("[data-cell]").first.click()
            page.locator("button.fold").click()
            keeps_the_rules(page, next(themes))
        elif state == "waiting":
            page.locator("button#approve").click()
            ended(page, "healed")
    heal(page, code=CODE, tests=CODE, words=f"rounds held by {tmp_path / 'gate'}")
    expect(page.locator(".timeline .moment").first).to_be_visible()
    keeps_the_rules(page, next(themes))


@pytest.mark.nightly
def test_the_keyboard_moves_through_programs_tabs_and_tests(recorded_page: Any) -> None:
    page = recorded_page.page
    heal(page, words="rounds")
    ended(page, "healed")
    page.locator("#tab-patch").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tab-diagnosis")).to_be_focused()
    expect(page.locator("#bench").get_by_role("tabpanel")).to_have_count(1)
    page.locator(".scrub input[type=range]").focus()
    page.keyboard.press("Home")
    expect(page.locator(".blame .s5").first).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".which [data-at='1']")).to_be_visible()
    cell = page.locator("[data-cell='1'].ring")
    cell.locator("xpath=../..").locator("[data-cell='3']").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(cell).to_have_attribute("aria-expanded", "true")
    expect(page.locator(".opened:visible dt")).to_have_text(["call", "expected", "got"])
    expect(page.locator("[data-row^=adversarial]").first).to_be_hidden()
    page.locator("button.fold").press("Enter")
    expect(page.locator("[data-row^=adversarial]").first).to_be_visible()
    heights = "[...document.querySelectorAll('.tests tr.row')].map((row) => row.offsetHeight)"
    assert len({*page.evaluate(heights)}) == 1, "also of tests that were not run"

    page.locator("#tab-patch").click()
    page.locator(".scrub input[type=range]").press("End")
    page.locator("select.against").select_option("2")
    expect(page.locator("[data-against='2']:visible .added")).to_contain_text("word.upper()")
    page.locator("[data-step='-1']").click()
    page.locator("select.against").select_option("parent")
    page.locator("[data-act=open]").click()
    expect(page.locator("#code .cm-content")).to_contain_text("word + '!'")
