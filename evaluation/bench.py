"""The figures this project promises, each beside a floor measured in the same run.

    python -m evaluation.bench [NAME ...]      default: all that can be measured here

Machines are shared and noisy: read medians and ratios, not single times.
"""

from __future__ import annotations

import asyncio
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from agent.checks import check, shipping
from agent.checks.screening import screening
from agent.domain import Example, Report, Script, Task
from agent.events import RunFinished, Searched, StepFinished
from agent.intake import paste
from agent.repair.edits import single_edits
from agent.repair.program import Program, spliced
from agent.session import Session, Settings, open_session
from agent.state import State
from evaluation.figures import figures
from evaluation.results import Results
from evaluation.run_benchmark import run, settings_for
from evaluation.suite import read_suite, spread
from sandbox import Job, SandboxUnavailable, open_sandbox

T = TypeVar("T")

VERDICTS = 100
CANDIDATES = 8_000
CANCELLED = 9
HEALING_ROWS = 12
HEALING_S = 10.0
BAREST = "python -I -S -E -c pass"
ROOT = Path(__file__).parent.parent

ONE_BUG = """\
def mean_of_positive(numbers):
    total = 0
    count = 0
    for number in numbers:
        if number > 0:
            total += number
            count += 1
    return total / len(numbers)
"""
ONE_BUG_TESTS = (
    "assert mean_of_positive([2, 4]) == 3\nassert mean_of_positive([2, -1, 4]) == 3"
)

TWO_BUGS = """\
def longest_run(text):
    best = 1
    current = 1
    for index in range(1, len(text) - 1):
        if text[index] == text[index - 1]:
            current += 1
        else:
            current = 0
        best = max(best, current)
    return best
"""
TWO_BUGS_TESTS = """\
assert longest_run('a') == 1
assert longest_run('abc') == 1
assert longest_run('abb') == 2
assert longest_run('aabbb') == 3
assert longest_run('abbbba') == 4
"""

HOPELESS = "def riddle(a, b):\n    total = a\n    if b > 3:\n        total += b\n    return total\n"
HOPELESS_TESTS = "assert riddle(1, 2) == 'no'\nassert riddle(3, 9) == [4, 'x']"
FILLING = """\
def level_{number}(start, days):
    level = start
    for day in range(days):
        if level > {number}:
            level -= day
        else:
            level += 2
    return level


"""
HUGE_FUNCTIONS = 1_100
CANCEL_APART_S = 0.4
"""How much later each cancellation comes than the one before."""

HEALTHY = "def double(number: int) -> int:\n    return number * 2\n"
HEALTHY_TESTS = "assert double(2) == 4"


def main(names: Sequence[str]) -> int:
    """Runs the named measurements and prints one line for each figure."""
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; choose from {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    for name in names or BENCHES:
        for line in BENCHES[name]():
            print(f"{name:<10} {line}", flush=True)
    return 0


# Whole processes.


def cli() -> Iterator[str]:
    """The terminal command healing a file with one bug, beside a bare interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mean.py"
        path.write_text(ONE_BUG, encoding="utf-8")
        command = [
            sys.executable, "-m", "agent", "run", str(path), "--tests", ONE_BUG_TESTS, "--json",
        ]
        times, floors = [], []
        for turn in range(5):
            # A fresh data folder each time, or the second heal would come from memory.
            env = {**os.environ, "HEAL_DATA_DIR": str(Path(folder) / f"data{turn}")}
            times.append(_timed(command, env, expected=0))
            floors.append(_timed([sys.executable, "-c", "pass"], env, expected=0))
    yield _figure("heal of a one-bug file, whole process", times, "python -c pass", floors)


def imports() -> Iterator[str]:
    """What `--help` must load."""
    env = dict(os.environ)
    times = [_timed([sys.executable, "-c", "import agent.cli"], env, 0) for _ in range(5)]
    floors = [_timed([sys.executable, "-c", "pass"], env, 0) for _ in range(5)]
    yield _figure("import of the terminal command", times, "python -c pass", floors)


def page() -> Iterator[str]:
    """From the start of `app.py` to the served page, beside a minimal Gradio app."""
    if find_spec("gradio") is None:
        yield "not measured: gradio is not installed"
        return
    minimal = (
        "import gradio as gr\n"
        "with gr.Blocks() as demo:\n"
        "    box = gr.Textbox()\n"
        "    gr.Button().click(lambda text: text, box, box)\n"
        "demo.launch()\n"
    )
    times, floors = [], []
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "minimal.py").write_text(minimal, encoding="utf-8")
        for turn in range(5):
            env = {"HEAL_DATA_DIR": str(Path(folder) / f"data{turn}"), "LLM_PROVIDER": "mock"}
            with serving([sys.executable, str(ROOT / "app.py")], env) as (_, seconds):
                times.append(seconds)
            with serving([sys.executable, str(Path(folder) / "minimal.py")], {}) as (_, seconds):
                floors.append(seconds)
    yield _figure("page served", times, "minimal Gradio app", floors)


def click() -> Iterator[str]:
    """From the click to the first event the page shows, in a headless browser."""
    browser = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    if find_spec("playwright") is None or not Path(browser).exists():
        yield "not measured: it needs playwright and chromium"
        return
    from evaluation.browsing import first_event_s

    with tempfile.TemporaryDirectory() as folder:
        env = {"HEAL_DATA_DIR": folder, "LLM_PROVIDER": "mock"}
        with serving([sys.executable, str(ROOT / "app.py")], env) as (address, _):
            times = first_event_s(address, browser, ONE_BUG, ONE_BUG_TESTS, turns=5)
    yield f"click to first visible event: median {statistics.median(times) * 1e3:.0f} ms"


@contextmanager
def serving(command: Sequence[str], env: dict[str, str]) -> Iterator[tuple[str, float]]:
    """A server process, with its address and the seconds until it answered."""
    port = _free_port()
    started = time.perf_counter()
    process = subprocess.Popen(
        command,
        env={
            **os.environ, **env, "GRADIO_SERVER_PORT": str(port), "PORT": str(port),
            "GRADIO_ANALYTICS_ENABLED": "0",
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}/"
    try:
        while True:
            try:
                with urllib.request.urlopen(address, timeout=5) as answer:
                    if answer.status == 200:
                        break
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                if process.poll() is not None or time.perf_counter() - started > 120:
                    raise SystemExit(f"{command} did not serve {address}") from None
                time.sleep(0.01)
        yield address, time.perf_counter() - started
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _timed(command: Sequence[str], env: dict[str, str], expected: int) -> float:
    started = time.perf_counter()
    outcome = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, check=False)
    seconds = time.perf_counter() - started
    if outcome.returncode != expected:
        raise SystemExit(f"{command} ended with {outcome.returncode}: {outcome.stderr[-500:]!r}")
    return seconds


def _figure(
    what: str, times: Sequence[float], floor: str, floors: Sequence[float], unit: str = "s"
) -> str:
    scale = {"s": 1.0, "ms": 1e3}[unit]
    median, bottom = statistics.median(times), statistics.median(floors)
    return (
        f"{what}: median {median * scale:.2f} {unit} "
        f"({min(times) * scale:.2f} to {max(times) * scale:.2f}), {median / bottom:.1f} x {floor} "
        f"({bottom * scale:.2f} {unit})"
    )


# In one process.


def steps() -> Iterator[str]:
    """What a step costs beyond the sandbox: the graph, its checkpoints, events and values."""
    waited = 0.0

    async def timed(*args: Any, **given: Any) -> Report:  # whatever the judge takes
        nonlocal waited
        started = time.perf_counter()
        try:
            return await check(*args, **given)
        finally:
            waited += time.perf_counter() - started

    async def measure(session: Session) -> list[float]:
        nonlocal waited
        costs = []
        task = _task(HEALTHY, HEALTHY_TESTS)
        for _ in range(20):
            waited, started = 0.0, time.perf_counter()
            run = await _finished(session, task)
            log = session.log(run)
            # The gate and the last step write no step of their own into the log.
            count = 2 + sum(isinstance(entry.event, StepFinished) for entry in log)
            costs.append((time.perf_counter() - started - waited) / count)
        return costs

    with patch("agent.context.check", timed):  # a healthy run waits for nothing else
        costs = asyncio.run(_in_session(measure))
    yield _figure(
        "framework cost of a step", costs, "an empty step of LangGraph with its checkpoint",
        asyncio.run(_empty_steps()), unit="ms",
    )


async def _empty_steps() -> list[float]:
    """Seconds of a step that does nothing, in a chain of ten with checkpoints like ours."""

    async def nothing(state: State) -> State:
        return {"iteration": state["iteration"] + 1}

    graph = StateGraph(State)
    names = [f"step{number}" for number in range(10)]
    for name in names:
        graph.add_node(name, nothing)
    for before, after in pairwise([START, *names, END]):
        graph.add_edge(before, after)
    costs = []
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncSqliteSaver.from_conn_string(f"{folder}/checkpoints.db") as saver:
            await saver.conn.execute("pragma journal_mode=wal")
            await saver.conn.execute("pragma synchronous=normal")
            chain = graph.compile(checkpointer=saver)
            for turn in range(10):
                started = time.perf_counter()
                await chain.ainvoke(
                    {"iteration": 0}, {"configurable": {"thread_id": str(turn)}},
                    durability="sync",
                )
                costs.append((time.perf_counter() - started) / len(names))
    return costs


def parallel() -> Iterator[str]:
    """Eight runs at once: how many were between their first and last event at one time."""

    async def measure(session: Session) -> tuple[float, float, int]:
        task = _task(HEALTHY, HEALTHY_TESTS)
        started = time.perf_counter()
        await _finished(session, task)
        alone = time.perf_counter() - started
        started = time.perf_counter()
        runs = await asyncio.gather(*(_finished(session, task) for _ in range(8)))
        together = time.perf_counter() - started
        spans = [(session.log(run)[0].at, session.log(run)[-1].at) for run in runs]
        return alone, together, max(sum(a <= at <= b for a, b in spans) for at, _ in spans)

    alone, together, most = asyncio.run(_in_session(measure))
    yield (
        f"8 runs at once: {most} overlapped, {together:.2f} s in all, "
        f"{together / alone:.1f} x one run alone ({alone:.2f} s)"
    )


def search() -> Iterator[str]:
    """A heal which needs two edits: candidates screened, and how fast."""

    async def measure(session: Session) -> tuple[RunFinished, float]:
        run = await _finished(session, _task(TWO_BUGS, TWO_BUGS_TESTS))
        log = session.log(run)
        last = log[-1].event
        assert isinstance(last, RunFinished)
        spent = [entry.event.wall_s for entry in log if isinstance(entry.event, Searched)]
        return last, max(spent, default=last.seconds)

    last, seconds = asyncio.run(_in_session(measure))
    yield (
        f"two-bug heal: {last.outcome} {last.proof or ''}, {last.candidates} candidates in "
        f"{seconds:.2f} s of search, {last.candidates / seconds:.0f} a second, "
        f"{last.seconds:.2f} s in all"
    )


def screening_rate() -> Iterator[str]:
    """Candidates judged a second by the search, beside compiling them alone."""
    task = _task(ONE_BUG, ONE_BUG_TESTS)
    assert task.solution is not None
    program = Program(task.solution.text)
    texts = [
        spliced(program.data, [edit.splice]) for edit in single_edits(program, {})
    ]
    texts = (texts * (1 + CANDIDATES // len(texts)))[:CANDIDATES]
    started = time.perf_counter()
    for text in texts:
        with suppress(SyntaxError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "candidate", "exec")
    floor = len(texts) / (time.perf_counter() - started)
    yield f"compiling alone: {floor:,.0f} candidates/s"
    for processes in (1, 2):
        rates = [asyncio.run(_screened(task, texts, processes)) for _ in range(3)]
        rate = statistics.median(rates)
        yield (
            f"judged on {processes} {'core' if processes == 1 else 'cores'}: {rate:,.0f} "
            f"candidates/s, {rate / floor:.2f} x compiling alone"
        )


async def _screened(task: Task, texts: Sequence[str], processes: int) -> float:
    """Candidates screened a second, once the process is warm."""
    assert task.solution is not None
    async with screening(
        task, task.solution, task.tests, open_sandbox(), processes=processes
    ) as screener:
        async for _ in screener.screen(texts[:200], mode="fit"):
            pass
        started = time.perf_counter()
        async for _ in screener.screen(texts, mode="fit"):
            pass
        return len(texts) / (time.perf_counter() - started)


def cancelling() -> Iterator[str]:
    """From the word to cancel until the run's last event, in the middle of a search."""

    async def measure(session: Session, code: str) -> list[float]:
        took = []
        for number in range(CANCELLED):
            run = await session.start(_task(code, HOPELESS_TESTS))
            async for batch in session.follow(run):
                if any(isinstance(entry.event, Searched) for entry in batch):
                    break
            # Each in another moment: a long program is read for seconds before it is screened.
            await asyncio.sleep(number * CANCEL_APART_S)
            started = time.perf_counter()
            await session.cancel(run)
            took.append((time.perf_counter() - started) * 1e3)
        return took

    huge = "".join(FILLING.format(number=number) for number in range(HUGE_FUNCTIONS)) + HOPELESS
    for words, code in (
        ("in the middle of a search", HOPELESS),
        (f"the same in a program of {huge.count(chr(10)):,} lines", huge),
    ):
        took = asyncio.run(_in_session(partial(measure, code=code)))
        yield (
            f"cancelled, {words}: median {statistics.median(took):.0f} ms, "
            f"most {max(took):.0f} ms"
        )


def memory() -> Iterator[str]:
    """The same failure again, and the like of it in other programs, beside the first heal."""
    async def measure(session: Session) -> tuple[float, list[float], list[float]]:
        async def timed(code: str, tests: str, strategy: str) -> float:
            run = await _finished(session, _task(code, tests))
            last = session.log(run)[-1].event
            assert isinstance(last, RunFinished)
            assert (last.outcome, last.strategy) == ("healed", strategy), last.reason
            return last.seconds

        first = await timed(ONE_BUG, ONE_BUG_TESTS, "search")
        again = [await timed(ONE_BUG, ONE_BUG_TESTS, "memory") for _ in range(20)]
        names = [f"mean_{number}" for number in range(20)]
        alike = [
            await timed(
                ONE_BUG.replace("mean_of_positive", name).replace("total", "amount"),
                ONE_BUG_TESTS.replace("mean_of_positive", name), "memory",
            )
            for name in names
        ]
        return first, again, alike

    first, again, alike = asyncio.run(_in_session(measure))
    yield _figure("the same failure, to its proof", again, "the first heal", [first], unit="ms")
    yield _figure("another program's, to its proof", alike, "the first heal", [first], unit="ms")


def healing() -> Iterator[str]:
    """A few programs of each of our suites; `evaluation.run_benchmark` heals them all."""
    settings = settings_for("mock", HEALING_S, None)
    for path in sorted((ROOT / "evaluation" / "bench").glob("*.jsonl")):
        rows = read_suite(path)
        few = spread(rows, HEALING_ROWS)
        with tempfile.TemporaryDirectory() as folder:
            results = Results(Path(folder))
            asyncio.run(run(few, settings, results, 1, lambda text: None))
            found = figures([*results.lines.values()], results.first_patch_s)
        yield (
            f"{path.stem}: of {len(few)} of {len(rows)} programs {found['plausible']} pass their "
            f"tests again, {found['correct']} are right on what was held out, {found['any']} among "
            f"those shown; {HEALING_S:g} s each at most, median {found['seconds_median']:.2f} s, "
            f"{found['first_patch_s_median'] or 0:.2f} s to the first patch"
        )


def sandbox() -> Iterator[str]:
    """The jail's own figures, with what the judge keeps loaded in it."""
    if sys.platform != "linux":
        yield "the jail needs Linux"
        return
    from sandbox.bench import figures  # not everywhere can it be imported

    try:
        found = asyncio.run(figures(shipping.modules()))
    except SandboxUnavailable as refusal:
        yield str(refusal)
        return
    for figure in found:
        yield figure.line()


def verdicts() -> Iterator[str]:
    """What a verdict costs in a warm jail, beside the barest start of an interpreter."""
    solution = paste("def add(a, b):\n    return a + b\n", "").task.solution
    assert solution is not None
    examples = [
        Example(name=str(n), origin="user", call=f"add({n}, 2)", expected=str(n + 2))
        for n in range(10)
    ]
    leaf = Script(name="leaf", origin="user", code="x = 1\nassert add(x, 2) == 3")

    async def measure() -> dict[str, float]:
        jail = open_sandbox()
        answers = Job("jail.send(1)", modules=shipping.modules())

        async def bare() -> None:
            started = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-S", "-E", "-c", "pass"
            )
            await started.wait()

        cases: dict[str, Callable[[], Awaitable[object]]] = {
            BAREST: bare,
            "a job that only answers": lambda: jail.run(answers),
            "an example": lambda: check(solution, examples[:1], Task(), jail),
            "ten examples": lambda: check(solution, examples, Task(), jail),
            "a test of one call": lambda: check(solution, [leaf], Task(), jail),
        }
        medians = {}
        for name, act in cases.items():
            times = []
            for _ in range(VERDICTS):
                await asyncio.sleep(0.03)  # the next process makes itself ready
                began = time.perf_counter()
                await act()
                times.append(time.perf_counter() - began)
            medians[name] = statistics.median(times[VERDICTS // 10 :]) * 1000
        return medians

    try:
        medians = asyncio.run(measure())
    except SandboxUnavailable as refusal:
        yield str(refusal)
        return
    for name, median in medians.items():
        yield f"{name}: {median:.2f} ms, {median / medians[BAREST]:.2f} x the start"


async def _in_session(measure: Callable[[Session], Awaitable[T]]) -> T:
    with tempfile.TemporaryDirectory() as folder:
        async with open_session(Settings(provider="mock", data_dir=Path(folder))) as session:
            return await measure(session)


def _task(code: str, tests: str) -> Task:
    return paste(code, tests).task


async def _finished(session: Session, task: Task) -> str:
    run = await session.start(task)
    async for _ in session.follow(run):
        pass
    return run


BENCHES: dict[str, Callable[[], Iterator[str]]] = {
    "sandbox": sandbox,
    "verdicts": verdicts,
    "cli": cli,
    "imports": imports,
    "page": page,
    "click": click,
    "steps": steps,
    "parallel": parallel,
    "screening": screening_rate,
    "search": search,
    "cancelling": cancelling,
    "memory": memory,
    "healing": healing,
}

if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
