"""Rows run once, in other processes, and end when the command ends."""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agent.core.settings import Settings
from evaluation import executors
from evaluation.executors import (
    ExecutorError,
    LocalExecutor,
    add_executor_options,
    measure,
    open_executor,
    progress,
    run_measurement,
)
from evaluation.lines import JsonLinesFile
from evaluation.nodes import Function, code_checksum, describe_node, driver_environment, run_row
from tests.evaluation import rows

ROOT = Path(__file__).parent.parent.parent


def options(*given: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_executor_options(parser)
    return parser.parse_args(given)


def numbers(count: int) -> dict[str, int]:
    return {str(number): number for number in range(count)}


async def run(
    folder: Path, function: Function, count: int, workers: int = 1
) -> JsonLinesFile[dict[str, Any]]:
    lines: JsonLinesFile[dict[str, Any]] = JsonLinesFile(folder / "results.jsonl")

    def add(line: dict[str, Any]) -> str:
        lines.add(line)
        return str(line["id"])

    await measure(numbers(count), function, LocalExecutor(workers, (), None), lines, add)
    return lines


async def test_one_worker_measures_in_this_process_and_skips_rows_with_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await run(tmp_path, rows.doubled, 2)
    lines = await run(tmp_path, rows.doubled, 3)

    assert [line["double"] for line in lines.by_id.values()] == [0, 2, 4]
    assert {line["pid"] for line in lines.by_id.values()} == {os.getpid()}
    assert capsys.readouterr().err.splitlines()[-1] == "1/1 2"


async def test_several_workers_are_processes(tmp_path: Path) -> None:
    lines = await run(tmp_path, rows.slow, 4, workers=2)
    assert sorted(line["double"] for line in lines.by_id.values()) == [0, 2, 4, 6]
    pids = {line["pid"] for line in lines.by_id.values()}
    assert len(pids) == 2 and os.getpid() not in pids


async def test_the_error_of_a_row_ends_the_measurement(tmp_path: Path) -> None:
    for workers in (1, 2):
        with pytest.raises(ValueError, match="row 0 is wrong"):
            await run(tmp_path, rows.failing, 1, workers)


async def test_after_a_killed_worker_process_the_same_command_continues(tmp_path: Path) -> None:
    function = partial(rows.deadly_once, folder=tmp_path)
    with pytest.raises(ExecutorError, match="A worker process was killed"):
        await run(tmp_path, function, 6, workers=2)

    lines = await run(tmp_path, function, 6, workers=2)

    text = (tmp_path / "results.jsonl").read_text("utf-8")
    assert {*lines.by_id} == {*numbers(6)}
    assert text.count("\n") == 6


async def test_a_cancelled_measurement_ends_its_rows_in_an_orderly_way(tmp_path: Path) -> None:
    task = asyncio.create_task(run(tmp_path, partial(rows.endless, folder=tmp_path), 2, workers=2))
    while len([*tmp_path.glob("began-*")]) < 2:
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len([*tmp_path.glob("ended-*")]) == 2


async def test_two_commands_do_not_write_to_one_file(tmp_path: Path) -> None:
    task = asyncio.create_task(run(tmp_path, partial(rows.endless, folder=tmp_path), 1))
    while not (tmp_path / "began-0").exists():
        await asyncio.sleep(0.01)
    with pytest.raises(ExecutorError, match="Another command writes"):
        await run(tmp_path, rows.doubled, 1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_second_result_of_a_row_is_not_written(tmp_path: Path) -> None:
    class Twice(LocalExecutor):
        async def run(self, function: Any, items: Any, add: Any) -> None:
            for key, item in items.items():
                for _ in range(2):
                    add(key, await function(item))

    lines: JsonLinesFile[dict[str, Any]] = JsonLinesFile(tmp_path / "results.jsonl")
    await measure(numbers(2), rows.doubled, Twice(1, (), None), lines, lambda line: (
        lines.add(line) or ""
    ))
    assert (tmp_path / "results.jsonl").read_text("utf-8").count("\n") == 2


def test_progress_estimates_the_end() -> None:
    words = progress(50, 200, 60.0).format("a: healed")
    assert words.startswith("50/200 a: healed (2:30:00 left, until ")
    assert progress(200, 200, 60.0).format("z") == "200/200 z"


async def test_the_provenance_of_a_machine_names_jail_versions_and_code() -> None:
    facts = await describe_node(Settings.from_env({}, provider="mock"))
    assert facts["jail"] in facts["jail_words"]
    assert facts["python"] == sys.version.split()[0]
    assert facts["packages"]["pytest"] == pytest.__version__
    assert facts["code_sha256"] == code_checksum() and len(code_checksum()) == 64
    assert facts["model_sha256"] is None


def test_rows_elsewhere_get_the_settings_of_the_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.gguf").touch()
    monkeypatch.setenv("GGUF_MODEL", "model.gguf")
    monkeypatch.setenv("HEAL_PROOF_S", "3")
    monkeypatch.setenv("OF_NO_CONCERN", "1")

    found = driver_environment()

    assert found["GGUF_MODEL"] == str(tmp_path / "model.gguf")
    assert found["HEAL_PROOF_S"] == "3"
    assert "OF_NO_CONCERN" not in found


def test_rows_of_a_process_share_an_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    loops = []

    async def row(item: str) -> None:
        loops.append((asyncio.get_running_loop(), os.environ[item]))

    monkeypatch.delenv("SET_BY_ROW", raising=False)

    def act() -> None:
        for value in ("1", "2"):
            run_row(row, "SET_BY_ROW", {"SET_BY_ROW": value})
        executors.run_row.__globals__["_runner"]().close()
        executors.run_row.__globals__["_runner"].cache_clear()

    thread = threading.Thread(target=act)
    thread.start()
    thread.join()
    monkeypatch.delenv("SET_BY_ROW")
    assert loops[0][0] is loops[1][0]
    assert [value for _, value in loops] == ["1", "2"]


def test_a_missing_extra_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.delitem(sys.modules, "evaluation.ray_executor", raising=False)
    with pytest.raises(ExecutorError, match=r"ray is missing: pip install -e '\.\[cluster\]'"):
        open_executor(options("--executor", "ray"), Settings())
    lines: JsonLinesFile[dict[str, Any]] = JsonLinesFile(None)
    assert run_measurement(
        options("--executor", "ray"), numbers(1), rows.doubled, lines, str
    ) == 2
    assert "cluster" in capsys.readouterr().err


def test_the_commands_of_one_machine_import_nothing_of_the_extras() -> None:
    code = (
        "import sys; import evaluation.run_benchmark, evaluation.claims, evaluation.projects, "
        "evaluation.sweep; "
        "print({'ray', 'scipy', 'matplotlib', 'pyarrow', 'numpy'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "set()"
