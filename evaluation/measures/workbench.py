"""The page as it ships, measured in a real browser: how soon it can be used, shows events and
stops, and how fast a run is scrubbed."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from agent.core.events import from_jsonl
from agent.log.store import Store
from agent.run.session import Settings, open_session
from evaluation.measures.processes import MINIMAL_PAGE, browser, chromium, served
from evaluation.measures.programs import ROOT, figure, finished, sample, task_of

if TYPE_CHECKING:
    from playwright.sync_api import Page

Measure = Callable[[], Iterator[str]]
TURNS = 5
ARRIVALS = 10
STOPPED = 9
APART_MS = 100
"""How much later each run is stopped than the one before."""
EVENTS = 1_000
ITERATIONS = 10
"""As many as the page lets a run have."""
SCRUBBED_FRAMES = 300
PATIENCE_MS = 180_000

FINISHED = ".bench[data-phase=finished]"
PRESSED = """([button, sign]) => new Promise((done, failed) => {
  const begun = performance.now();
  const look = () => document.querySelector(sign)
    ? done((performance.now() - begun) / 1000) : requestAnimationFrame(look);
  if (document.querySelector(button).disabled) failed(new Error(`${button} is disabled`));
  setTimeout(() => failed(new Error(`${sign} is not there after 30 s`)), 30_000);
  document.querySelector(button).click();
  requestAnimationFrame(look);
})"""
"""Seconds from a click until the page shows something."""
DRAGGED = """(frames) => new Promise((done) => {
  const slider = document.querySelector("#replay-at input[type=range]");
  const shown = document.getElementById("replayed");
  const at = [performance.now()];
  new MutationObserver(() => at.push(performance.now())).observe(shown, {
    childList: true, subtree: true,
  });
  let frame = 0;
  const drag = () => {
    if (frame > frames) return setTimeout(() => done(at), 500);
    slider.value = 1 + Math.round((slider.max - 1) * frame / frames);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    frame += 1;
    requestAnimationFrame(drag);
  };
  drag();
})"""
"""Drags a slider from end to end, and tells at which milliseconds that began and another moment
was shown."""


def _in_browser(measure: Measure) -> Measure:
    @wraps(measure)
    def measured() -> Iterator[str]:
        if find_spec("gradio") and find_spec("playwright") and chromium():
            yield from measure()
        else:
            yield "not measured: it needs gradio, playwright and chromium"

    return measured


@_in_browser
def interactive() -> Iterator[str]:
    """From the address to an editor and a button that can be pressed, beside a minimal Gradio page,
    in pairs."""
    times: list[float] = []
    floors: list[float] = []
    with tempfile.TemporaryDirectory() as folder, browser() as opened:
        minimal = Path(folder) / "minimal.py"
        minimal.write_text(MINIMAL_PAGE, encoding="utf-8")
        with served(ROOT / "app.py", Path(folder) / "data") as ours, \
                served(minimal, Path(folder)) as floor:
            for _ in range(ARRIVALS + 1):
                for server, taken, signs in (
                    (ours, times, ("#code .cm-content", "#heal:enabled")),
                    (floor, floors, ("button.lg:enabled",)),
                ):
                    shown = opened.new_context().new_page()
                    started = time.perf_counter()
                    shown.goto(server.address, wait_until="commit")
                    for sign in signs:
                        shown.locator(sign).wait_for()
                    taken.append(time.perf_counter() - started)
                    shown.context.close()
    yield figure("interactive", times[1:], "minimal Gradio page", floors[1:])


@_in_browser
def click() -> Iterator[str]:
    """From the click to the first event that is seen."""
    times = []
    with _page() as page:
        for number in range(TURNS):
            _filled(page, "mean", number)
            times.append(page.evaluate(PRESSED, ["#heal", "#bench .moment"]))
            _ended(page)
            page.goto(page.url.partition("?")[0])
    yield _spread("click to first visible event", times)


@_in_browser
def stop() -> Iterator[str]:
    """From the click on Stop until the page says that the run is cancelled, amid a search."""
    times = []
    with _page() as page:
        for number in range(STOPPED):
            _filled(page, "hopeless", number)
            page.locator("#heal").click()
            page.locator(".is-running .verdict", has_text="candidates").wait_for()
            page.wait_for_timeout(number * APART_MS)
            times.append(page.evaluate(PRESSED, ["#stop", "#bench .is-cancelled"]))
    yield _spread("Stop to CANCELLED on the page", times)


@_in_browser
def scrub() -> Iterator[str]:
    """A long run dragged through, from its first event to its last."""
    with tempfile.TemporaryDirectory() as folder:
        lengthened(Path(folder), EVENTS)
        with _page(Path(folder)) as page:
            page.get_by_role("tab", name="Runs").click()
            page.get_by_role("button", name="Replay").first.click()
            began = time.perf_counter()
            page.locator("#replayed .verdict").wait_for()
            ready = time.perf_counter() - began
            page.wait_for_timeout(500)
            at = page.evaluate(DRAGGED, SCRUBBED_FRAMES)
    gaps = [(after - before) / 1e3 for before, after in pairwise(at)]
    shown = f"{len(gaps) / sum(gaps):.0f} frames a second, each" if gaps else "none shown"
    yield (
        f"{EVENTS:,} events, there after {ready:.2f} s, scrubbed in {SCRUBBED_FRAMES} steps: "
        + _spread(shown, gaps)
    )


def lengthened(folder: Path, count: int) -> str:
    """Keeps a finished run of so many events and ten iterations in a folder of data, and gives its
    name: the recorded example, whose rounds come again and again, asked for as a true run was."""

    async def short() -> str:
        async with open_session(Settings(provider="mock", data_dir=folder)) as session:
            return await finished(session, task_of(*sample("healthy")))

    text = (ROOT / "demo/assets/example.jsonl").read_text(encoding="utf-8")
    first, *rounds, last = from_jsonl(text)
    true, run = asyncio.run(short()), str(uuid4())
    store = Store(folder / "runs.db")
    store.add_run(run, "a long run", store.run(true).task, store.run(true).options)
    for place in range(count):
        lap, at = divmod(max(place - 1, 0), len(rounds))
        one = first if not place else last if place == count - 1 else rounds[at]
        event = one.event
        if lap and hasattr(event, "iteration"):
            iteration = 1 + lap * ITERATIONS * len(rounds) // count
            event = event.model_copy(update={"iteration": iteration})
        store.append(run, f"{one.task} {lap}", 0, place, event)
    store.close()
    return run


@contextmanager
def _page(data: Path | None = None) -> Iterator[Page]:
    """The page as it ships, in a browser, once a run can be begun."""
    with tempfile.TemporaryDirectory() as fresh, \
            served(ROOT / "app.py", data or Path(fresh)) as server, browser() as opened:
        page = opened.new_page(viewport={"width": 1440, "height": 900})
        page.set_default_timeout(PATIENCE_MS)
        page.goto(server.address)
        page.locator("#plan .badge").first.wait_for()
        yield page


def _filled(page: Page, name: str, number: int) -> None:
    """Types a sample program, which no earlier run has met, and its tests."""
    code, tests = sample(name)
    for place, text in (("code", f"{code}\n# {number}\n"), ("tests", tests)):
        page.locator(f"#{place} .cm-content").fill(text)
    page.locator("#heal:enabled").wait_for()


def _ended(page: Page) -> None:
    page.locator(FINISHED).wait_for()
    page.locator("#heal:enabled").wait_for()


def _spread(what: str, times: Sequence[float]) -> str:
    """Median and 95th percentile of times in seconds."""
    if len(times) < 2:
        return f"{what}: {len(times)} measured"
    high = statistics.quantiles(times, n=20, method="inclusive")[-1]
    return (
        f"{what}: p50 {statistics.median(times) * 1e3:.0f} ms, p95 {high * 1e3:.0f} ms, "
        f"most {max(times) * 1e3:.0f} ms, of {len(times)}"
    )
