"""Prints and checks what docs/scale.md says: `pytest -s --whole tests/agent/loop/test_scale.py`."""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from agent.core import events as e
from agent.core.settings import Settings
from agent.log.history import History
from agent.log.postgres import PostgresStore
from agent.log.store import Store, open_store
from agent.loop.session import open_session
from agent.target.task import from_page
from llm.provider import estimated_tokens
from tests.agent.model_runs import compatible, healed
from tests.agent.model_runs import settings as with_models
from tests.agent.runs import finished, settings
from tests.llm.fakes import openai

pytestmark = [pytest.mark.nightly, pytest.mark.slow]
PROGRAMS = (
    ("def add(a, b):\n    return a - b\n", "assert add(1, 2) == 3\nassert add(5, 5) == 10"),
    ("def top(xs):\n    best = 0\n    for x in xs:\n        if x < best:\n            best = x\n"
     "    return best\n", "assert top([1, 5, 2]) == 5\nassert top([3]) == 3"),
    ("def mean(xs):\n    return sum(xs) / len(xs) - 1\n",
     "assert mean([1, 3]) == 2\nassert mean([4]) == 4"),
    ("def tail(xs, n):\n    return xs[n:]\n",
     "assert tail([1, 2, 3], 2) == [2, 3]\nassert tail([1, 2, 3], 1) == [3]"),
)
SMALL, LARGE, EVENTS = 100, int(os.environ.get("SCALE_RUNS", "100000")), 10
MOST_SLOWER, MOST_OF_A_STEP = 1.5, 3.0


def cpu_and_memory(root: int) -> tuple[float, float]:
    """CPU seconds and peak MiB of a process, its children, and the children that they reaped."""
    seconds, mib, pids = 0.0, 0.0, [root]
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            status = Path(f"/proc/{pid}/status").read_text()
            tasks = [one.read_text() for one in Path(f"/proc/{pid}/task").glob("*/children")]
        except OSError:
            continue
        if "VmHWM:" not in status:  # it has ended
            continue
        seconds += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        mib += int(status.partition("VmHWM:")[2].split()[0]) / 1024
        pids += [int(one) for text in tasks for one in text.split()]
    return seconds, mib


def size(given: Settings) -> int:
    """Bytes of everything that is stored."""
    if given.database_url:
        with psycopg.connect(given.database_url) as db:
            return int(db.execute("select pg_database_size(current_database())").fetchone()[0])
    return sum(one.stat().st_size for one in given.data_dir.glob("*.db*"))


@pytest.fixture(params=["file", "database"])
def given(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    made = settings(tmp_path, proof_s=2.0)
    if request.param == "file":
        return made
    return made.model_copy(update={"database_url": request.getfixturevalue("database")})


async def test_what_a_heal_costs(given: Settings) -> None:
    where = "Postgres" if given.database_url else "files"
    async with open_session(given) as session:
        await finished(session, from_page(*PROGRAMS[0]).task)
    before, logs = size(given), []
    async with open_session(given) as session:
        await finished(session, from_page(*PROGRAMS[0]).task)
        (cpu, _), began = cpu_and_memory(os.getpid()), time.monotonic()
        for _ in range(5):
            for code, tests in PROGRAMS:
                logs.append(await finished(session, from_page(code, tests).task, learn=False))
        after, mib = cpu_and_memory(os.getpid())
        wall_s, heals = time.monotonic() - began, len(logs)
    sizes = [len(one.event.to_json()) for log in logs for one in log]
    print(
        f"\n{where}: {heals} heals, each {wall_s / heals:.2f} s, "
        f"{(after - cpu) / heals:.2f} CPU s, {len(sizes) / heals:.0f} events of "
        f"{sum(sizes) / heals / 1024:.1f} KiB, {(size(given) - before) / heals / 1024:.0f} KiB "
        f"stored, 0 tokens; peak memory of the process and its jails {mib:.0f} MiB"
    )
    assert {log[-1].event.kind for log in logs} == {"run_finished"}


async def test_what_a_model_is_asked(tmp_path: Path) -> None:
    async with compatible() as model:
        env = {"OPENAI_BASE_URL": f"{model.server.url}/v1", "OPENAI_MODEL": openai.MODEL}
        _, log = await healed(with_models(tmp_path, env, proof_s=0.0))
    asked = [one for one in log if isinstance(one, e.ModelAsked)]
    texts = [text for one in asked for _, text in one.asked]
    print(
        f"\nmodel: {len(asked)} calls of a small repair ask {sum(map(estimated_tokens, texts)):,} "
        "tokens by our upper estimate"
    )
    assert asked


async def test_a_step_in_a_database_costs_at_most_three_times_as_much(
    tmp_path: Path, database: str
) -> None:
    """Between the end of a step and the start of the next: checkpoint, routing and log."""
    shared = settings(tmp_path / "shared").model_copy(update={"database_url": database})
    gaps: list[list[float]] = [[], []]
    async with open_session(settings(tmp_path / "files")) as one, open_session(shared) as other:
        for _ in range(15):
            for session, found in zip((one, other), gaps, strict=True):  # in turns: noise is alike
                log = await finished(session, from_page(*PROGRAMS[0]).task, learn=False)
                found += [
                    start.at - end.at for end, start in pairwise(log)
                    if (end.event.kind, start.event.kind) == ("step_finished", "step_started")
                ]
    times = [statistics.median(found) for found in gaps]
    print(f"\nframework a step: files {times[0] * 1e3:.1f} ms, Postgres {times[1] * 1e3:.1f} ms: "
          f"{times[1] / times[0]:.2f} times")
    assert times[1] / times[0] <= MOST_OF_A_STEP


def fill(store: Store, count: int) -> None:
    """Stores finished runs, all of one visitor, which is the worst case of its list."""
    first = e.RunStarted(title="t", provider="mock", provider_why="", sandbox="jail", level="L4")
    middle = e.Notice(level="info", text="x" * 400)
    last = e.RunFinished(
        outcome="healed", proof="E2", strategy="search", reason="", diff="d" * 300, iterations=1,
        candidates=10, tokens=0, cost_usd=0.0, seconds=1.0,
    )
    bodies = [first.to_json(), *[middle.to_json()] * (EVENTS - 2), last.to_json()]
    if isinstance(store, PostgresStore):
        store._db.execute(
            "insert into runs(id, title, task, options, visitor, owner, created, last, final) "
            "select lpad(n::text, 8, '0'), 't', 't', '{\"visitor\": \"v\"}', 'v', '', n, ?, 1 "
            "from generate_series(1, ?::int) n", (EVENTS, count),
        )
        store._db.execute(
            "insert into events(run, seq, task, attempt, ordinal, at, body) "
            "select lpad(n::text, 8, '0'), k, 's', 0, k, n, (?::text[])[k] "
            "from generate_series(1, ?::int) n, generate_series(1, ?::int) k",
            (bodies, count, EVENTS),
        )
        store._db.execute("vacuum analyze")
        return
    with store._transaction():
        store._db.executemany(
            "insert into runs(id, title, task, options, owner, created, final) values(?, 't', 't', "
            "'{\"visitor\": \"v\"}', '', ?, 1)", ((f"{n:08}", n) for n in range(1, count + 1)),
        )
        store._db.executemany(
            "insert into events(run, seq, task, attempt, ordinal, at, body) "
            "values(?,?,'s',0,?,?,?)",
            ((f"{n:08}", k, k, n, bodies[k - 1]) for n in range(1, count + 1)
             for k in range(1, EVENTS + 1)),
        )


Operation = tuple[Callable[[], object], Callable[[], object]]
"""What is timed, and what happens before each time."""


def operations(store: Store) -> dict[str, Operation]:
    history, middle, sequence = History(store, "v"), f"{SMALL // 2:08}", iter(range(10_000))
    store.add_run("new", "t", "t", '{"visitor": "v"}')
    notice = e.Notice(level="info", text="x")
    found: dict[str, Operation] = {
        "list 20 runs": (lambda: history.runs(20), int),
        "open a run": (lambda: store.log(history.named(middle)), int),
        "follow a run": (lambda: store.events(middle, EVENTS - 1), int),
        "append an event": (lambda: store.append("new", "s", 0, next(sequence), notice), int),
        "count for metrics": (store.load, int),
    }
    if isinstance(store, PostgresStore):
        found["claim from the queue"] = lambda: store.claim(1), lambda: store.release("new")
    return found


def timed(operation: Operation) -> float:
    work, prepare = operation
    prepare()
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def test_a_thousand_times_more_stored_runs_cost_at_most_half_as_much_again(
    given: Settings
) -> None:
    where, other = "SQLite", given
    if given.database_url:
        where, name = "Postgres", conninfo_to_dict(given.database_url)["dbname"]
        with psycopg.connect(given.database_url, autocommit=True) as db:
            db.execute(f"create database {name}few")
        url = given.database_url.replace(f"/{name}?", f"/{name}few?")
        other = given.model_copy(update={"database_url": url})
    (given.data_dir / "few").mkdir()
    few, many = open_store(other, given.data_dir / "few"), open_store(given, given.data_dir)
    began = time.monotonic()
    fill(few, SMALL)
    fill(many, LARGE)
    print(f"\n{where}: {LARGE:,} runs with {EVENTS} events stored in "
          f"{time.monotonic() - began:.0f} s, {size(given) / LARGE / 1024:.1f} KiB a run")
    ratios = {}
    for (name, small), large in zip(
        operations(few).items(), operations(many).values(), strict=True
    ):
        pairs = [(timed(small), timed(large)) for _ in range(210)][10:]  # in turns: noise is alike
        times = [statistics.median(one) for one in zip(*pairs, strict=True)]
        ratios[name] = times[1] / times[0]
        print(f"{where}: {name}: {times[0] * 1e3:.2f} ms with {SMALL} runs, {times[1] * 1e3:.2f} "
              f"ms with {LARGE:,}: {ratios[name]:.2f} times")
    began = time.monotonic()
    many.expired(0.0, sys.maxsize, str)
    print(f"{where}: find expired runs among {LARGE:,}: {time.monotonic() - began:.2f} s")
    few.close()
    many.close()
    assert all(ratio <= MOST_SLOWER for ratio in ratios.values())


def test_several_processes_write_at_once(database: str) -> None:
    """Events a second of one database, from threads with a store each."""
    async def write(number: int) -> None:
        store = await asyncio.to_thread(PostgresStore, database)
        store.add_run(f"r{number}", "t", "t", "{}")
        notice = e.Notice(level="info", text="x" * 600)

        def loop() -> None:
            for ordinal in range(500):
                store.append(f"r{number}", "s", 0, ordinal, notice)

        await asyncio.to_thread(loop)
        store.close()

    async def all_() -> float:
        began = time.monotonic()
        await asyncio.gather(*(write(number) for number in range(4)))
        return 2_000 / (time.monotonic() - began)

    rate = asyncio.run(all_())
    print(f"\nPostgres: {rate:.0f} events a second from 4 writers")
    assert rate > 100
