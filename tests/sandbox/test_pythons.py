"""Jobs on other Pythons than the host's."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from sandbox import SandboxError
from sandbox.sandbox import open_sandbox
from sandbox.types import Job
from sandbox.workspaces import OLDEST, python_at
from tests.sandbox.other_pythons import others

INSIDE = sorted(Path(__file__).parents[2].glob("sandbox/inside/*.py"))
PROGRAM = """
import json, sys
from told import seen
job = jail.receive()
jail.send([list(sys.version_info[:2]), seen(), job, json.loads('"x"'), sys.path.count("")])
"""


@pytest.mark.parametrize("path", INSIDE, ids=lambda path: path.stem)
def test_what_runs_inside_is_in_the_syntax_of_the_oldest(path: Path) -> None:
    ast.parse(path.read_text("utf-8"), feature_version=OLDEST)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("backend", ["jail", "subprocess"])
@pytest.mark.parametrize("edge", ["oldest", "newest"])
async def test_a_job_runs_on_another_python(backend: str, edge: str) -> None:
    if not others():
        pytest.skip("there is no other Python on this machine")
    version, python = [*others().items()][0 if edge == "oldest" else -1]
    job = Job(
        PROGRAM, python=python,
        modules={"told": "def seen() -> 'int | None':\n    return 1\n"},
    )
    async with open_sandbox(backend).start(job) as process:
        await process.send({"a": "\ud800"})
        assert await process.receive() == [[*version], 1, {"a": "\ud800"}, "x", 0]
        assert (await process.finish()).ended == "completed"


async def test_an_error_of_its_program_has_its_line() -> None:
    if not others():
        pytest.skip("there is no other Python on this machine")
    python = next(iter(others().values()))
    outcome = await open_sandbox("jail").run(Job("x = 1\nraise ValueError('so')", python=python))
    assert outcome.exit_code == 1
    assert 'line 2, in <module>\n    raise' in outcome.stderr and "ValueError: so" in outcome.stderr


def test_our_own_errors_name_file_and_library() -> None:
    seen = python_at(sys.executable)
    assert seen.version == sys.version_info[:2]
    assert Path(seen.executable).is_file() and Path(seen.library, "os.py").is_file()


@pytest.mark.parametrize(("said", "why"), [
    ('[[3, 9], "/x", "/y", "/z", "lib"]', r"is 3\.9; 3\.10 or newer is needed"),
    ("no Python", "does not answer"),
])
def test_one_that_is_too_old_or_none_is_refused(tmp_path: Path, said: str, why: str) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\necho '{said}'\n")
    program.chmod(0o755)
    with pytest.raises(SandboxError, match=why):
        python_at(str(program))
    with pytest.raises(SandboxError, match="does not answer"):
        python_at(str(tmp_path / "none"))
