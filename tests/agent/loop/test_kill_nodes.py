"""Killed by signal 9 in each step, a run with models is finished by another process from there, and
so is a run beside it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from agent.core.events import Step, without_retries
from agent.loop.graph import BARE, STEPS
from agent.loop.session import open_session
from agent.report.result import fold
from tests.agent.claude import KEY, claude, fenced
from tests.agent.loop.test_exactly_once import assert_once
from tests.agent.model_runs import HARD, HARD_TESTS, SOLVED, WRONG, followed
from tests.agent.scripted import HASHED, RIGHT_SPECS, WORDS

ROOT = Path(__file__).parents[3]
SAMPLE: tuple[Step, ...] = ("attempt", "critique")
WORDED: frozenset[Step] = frozenset({"generate", "arbitrate"})
"""Steps that only a task in words comes to."""
ALL_ON = {"HEAL_SIMPLIFIER": "1", "HEAL_SECURITY_CHECK": "1", "HEAL_REQUIRE_CONFIDENCE": "0"}
"""Steps that are off by default are killed too."""

WORKER = """
import asyncio, json, os, signal, sys
from pathlib import Path
import agent.loop.graph, llm.providers.anthropic
from agent.core.settings import Settings
from agent.target.task import from_page
from agent.log.store import Store
from agent.loop.session import open_session

append = Store.append
SEARCHED = (
    "def area(width, height):\\n    return width + height\\n",
    "assert area(2, 5) == 10\\nassert area(1, 1) == 1",
)

async def main(folder, step, code, tests, words, env):
    def dying(self, run, task, attempt, ordinal, event):
        stamped = append(self, run, task, attempt, ordinal, event)
        if run == "r" and event.kind == "step_started" and event.step == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return stamped

    Store.append = dying
    settings = Settings.from_env(env, data_dir=Path(folder), proof_s=0.0, max_candidates=50)
    async with open_session(settings) as session:
        await session.start(from_page(*SEARCHED).task, run_id="s")
        run = await session.start(from_page(code, tests, words).task, run_id="r")
        async for _ in session.follow(run):
            pass

for line in sys.stdin:  # a process of its own for each; what all import is loaded once
    worker = os.fork()
    if worker == 0:
        asyncio.run(main(*json.loads(line)))
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]), flush=True)
"""


@pytest.mark.slow
@pytest.mark.nightly
async def test_a_run_survives_signal_9_in_each_step(tmp_path: Path, whole: bool) -> None:
    steps = [step for step in STEPS if step not in BARE and step != "branch"]
    with subprocess.Popen(
        [sys.executable, "-c", WORKER], cwd=ROOT, text=True, bufsize=1,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as workers:
        assert workers.stdin is not None and workers.stdout is not None
        for step in steps if whole else SAMPLE:
            folder = tmp_path / step
            folder.mkdir()
            drafts = [HASHED] if step in WORDED else [WRONG]
            async with claude(
                generator=[fenced(one) for one in (*drafts, SOLVED)], spec_tester=RIGHT_SPECS,
                arbiter=RIGHT_SPECS,
            ) as model:
                env = {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": model.server.url, **ALL_ON}
                submitted = ("", "", WORDS) if step in WORDED else (HARD, HARD_TESTS, "")
                workers.stdin.write(json.dumps([str(folder), step, *submitted, env]) + "\n")
                assert int(await asyncio.to_thread(workers.stdout.readline)) == -9, step
                left = model.settings(
                    folder, proof_s=0.0, enable_simplifier=True, enable_security_check=True
                )
                async with open_session(left) as session:
                    assert {*await session.recover()} - {"s"} == {"r"}
                    others = await followed(session, "s")
                    await followed(session, "r")
                    log = session.log("r")
                    assert_once(session.log("s"))
            assert_once(log)
            assert (others.outcome, others.strategy) == ("healed", "search"), step
            assert (fold(log).outcome, fold(log).code) == ("healed", SOLVED), step
            killed = [
                entry.attempt for entry in log
                if entry.event.kind == "step_started" and entry.event.step == step
            ]
            assert killed[:2] == [0, 1], step
            assert len(without_retries(log)) < len(log)
