"""A process that is killed leaves runs which another one finishes from their last step."""

from __future__ import annotations

import asyncio
import collections
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agent.core.events import fold_attempts
from agent.run.session import Settings, open_session

ROOT = Path(__file__).parents[3]
RUNS, KILLS = 3, 20
FEWER_RUNS, FEWER = 2, 3
"""So many are enough for `make test`: each run is still killed, and one of them twice."""

WORKER = """
import asyncio, os, sys
from pathlib import Path
import agent.run.graph
from agent.intake import from_page
from agent.run.session import Settings, open_session

CODE = "def area(width, height):\\n    return width + height\\n"
TESTS = "assert area(2, 5) == 10\\nassert area(1, 1) == 1"

async def main(folder, count):
    settings = Settings.from_env(
        {}, provider="mock", data_dir=Path(folder), proof_s=0.0, require_confidence=0.0
    )
    async with open_session(settings) as session:
        known = [row.id for row in session.history().runs()]
        await session.recover()
        for number in range(len(known), count):
            await session.start(from_page(CODE, TESTS).task, run_id=f"run{number}")
        print(os.getpid(), flush=True)
        await asyncio.sleep(60)

for count in sys.stdin:  # a process of its own for each; what all import is loaded once
    worker = os.fork()
    if worker == 0:
        sys.exit(asyncio.run(main(sys.argv[1], int(count))))
    assert os.WTERMSIG(os.waitpid(worker, 0)[1]) == 9
"""


@pytest.mark.slow
async def test_killed_runs_are_finished_from_their_last_step(tmp_path: Path, whole: bool) -> None:
    chance = random.Random(7)
    count, kills = (RUNS, KILLS) if whole else (FEWER_RUNS, FEWER)
    with subprocess.Popen(
        [sys.executable, "-c", WORKER, str(tmp_path)], cwd=ROOT, text=True, bufsize=1,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as workers:
        assert workers.stdin is not None and workers.stdout is not None
        for turn in range(kills):
            workers.stdin.write(f"{1 + turn * count // kills}\n")
            worker = int(workers.stdout.readline())
            time.sleep(chance.random() * 0.25)
            os.kill(worker, signal.SIGKILL)
    assert workers.returncode == 0

    settings = Settings.from_env(
        {}, provider="mock", data_dir=tmp_path, proof_s=0.0, require_confidence=0.0
    )
    async with open_session(settings) as session:
        await session.recover()
        rows = session.history().runs()
        assert len(rows) == count
        for row in rows:
            async with asyncio.timeout(60):
                async for _ in session.follow(row.id):
                    pass
            raw = session.log(row.id)
            log = fold_attempts(raw)
            ends = [entry.event for entry in raw if entry.final]
            assert [getattr(end, "outcome", end) for end in ends] == ["healed"], raw
            assert any(entry.event.kind == "resumed" for entry in raw)
            # Each step that began in its last attempt has also ended there.
            begun = collections.Counter(e.task for e in log if e.event.kind == "step_started")
            ended = collections.Counter(e.task for e in log if e.event.kind == "step_finished")
            assert begun == ended
            assert set(begun.values()) == {1}
