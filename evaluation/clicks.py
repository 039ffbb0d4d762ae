"""Heals again and again in a real browser, with random delays, reloads and double clicks, and
counts the heals that are lost: `python -m evaluation.clicks --runs 500`.

A heal is lost where its run does not end on the page that asked for it, or where its program is not
that run's. Each heal has a program of its own.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

from evaluation.measures.processes import browser, served
from evaluation.screenshots import APP

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

LONGEST_WAIT_S = 120.0
"""Within this a heal of such a program ends, also on a busy machine."""
WAYS = ("calm", "early", "double", "reload", "late reload", "double, reload")


@dataclass
class Counted:
    """What came of the heals."""

    tried: Counter[str] = field(default_factory=Counter)
    """Heals by the way in which they were asked for."""
    lost: list[str] = field(default_factory=list)
    """What was lost, each with its way and why."""

    @property
    def words(self) -> str:
        """The figures in one line."""
        ways = ", ".join(f"{way} {count}" for way, count in sorted(self.tried.items()))
        return f"{self.tried.total()} heals ({ways}): {len(self.lost)} lost"


def clicked(
    browser: Browser, address: str, runs: int, *, seed: int, most_s: float = float("inf")
) -> Counted:
    """Heals so often, or for so many seconds; which way each goes is drawn by the seed."""
    drawn, counted, until = random.Random(seed), Counted(), time.monotonic() + most_s
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    page.goto(address)
    for number in range(runs):
        if time.monotonic() > until:
            break
        way = drawn.choice(WAYS)
        if why := _lost(page, address, number, way, drawn):
            counted.lost.append(f"heal {number}, {way}: {why}")
            print(counted.lost[-1], flush=True)
        counted.tried[way] += 1
    context.close()
    return counted


def _lost(page: Page, address: str, number: int, way: str, drawn: random.Random) -> str:
    """Heals one program; returns why that was lost, or nothing where it was not."""
    from playwright.sync_api import TimeoutError as Late

    name = f"area_{number}"
    typed = {
        "code": f"def {name}(width, height):\n    return width + height\n",
        "tests": f"assert {name}(2, 5) == 10\nassert {name}(1, 1) == 1",
    }
    patience = LONGEST_WAIT_S * 1_000
    try:
        if way == "early" or drawn.random() < 0.1:
            page.goto(address)  # and click while it settles
        for part, text in typed.items():
            page.locator(f"#{part} .cm-content").fill(text, timeout=patience)
        page.wait_for_timeout(drawn.choice((0, 5, 30, 150, 400)))
        heal = page.locator("button#heal")
        if "double" in way:
            heal.dblclick(timeout=patience, delay=drawn.choice((0, 20)))
        else:
            heal.click(timeout=patience)
        if "reload" in way:
            most = 2_500 if "late" in way else 150
            page.wait_for_timeout(drawn.uniform(0, most))
            page.reload()
        page.locator(".bench[data-phase=finished]", has_text=name).wait_for(timeout=patience)
    except Late as late:
        said = page.locator(".sentence, #said").first
        return f"{str(late).splitlines()[0]} {page.url} {said.text_content(timeout=1_000) or ''}"
    run = parse_qs(urlsplit(page.url).query).get("run", [""])[0]
    if not run:
        return "its address names no run"
    with urllib.request.urlopen(f"{address}gradio_api/heal/{run}/log", timeout=60) as log:
        return "" if name in log.read().decode() else f"run {run} is of another program"


def main() -> int:
    """Prints the figures; returns 1 where a heal was lost."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.clicks", description=__doc__)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--minutes", type=float, default=60.0, help="no heal is begun after these")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as saved, served(APP, Path(saved)) as server,
        browser() as chromium,
    ):
        counted = clicked(
            chromium, server.address, asked.runs, seed=asked.seed, most_s=asked.minutes * 60
        )
    print(counted.words)
    return 1 if counted.lost else 0


if __name__ == "__main__":
    sys.exit(main())
