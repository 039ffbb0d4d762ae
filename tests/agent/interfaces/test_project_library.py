"""A project healed from Python, and judged without being repaired."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from typer.testing import CliRunner

from agent import ProjectResult, SelfHealingAgent, aheal_project, heal_project
from agent.interfaces.terminal.cli import app
from agent.report.schema import document_schema
from agent.target.errors import BadInput
from tests.agent.interfaces.conftest import ReplayedSession, a_line_has, started
from tests.agent.runs import printed
from tests.agent.search.project.small_project import pyproject

ROOT = Path(__file__).parents[3]
PYTHON = (ROOT / "docs/use-it-from-python.md").read_text("utf-8")
FAILS = "test_tally.py::test_total"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A red project of one module."""
    monkeypatch.setenv("HEAL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("LLM_PROVIDER", "mock")
    monkeypatch.setenv("HEAL_BUDGET_S", "900")
    monkeypatch.setenv("HEAL_SEARCH_S", "100")
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    root = tmp_path / "tally"
    root.mkdir()
    (root / "pyproject.toml").write_text(pyproject("tally"))
    (root / "tally.py").write_text("def total(values):\n    return sum(values) - 1\n")
    (root / "test_tally.py").write_text(
        "from tally import total\n\n\ndef test_total():\n    assert total([2, 3]) == 5\n\n\n"
        "def test_kind():\n    assert isinstance(total([2]), int)\n"
    )
    return root


@pytest.mark.slow
@pytest.mark.nightly
def test_the_guides_example_prints_what_it_says(project: Path) -> None:
    ((code, expected),) = re.findall(
        r"```python\n(from(?:(?!```).)*?)```\n\n```text\n(.*?)```", PYTHON, re.DOTALL
    )
    assert printed(code, project).strip() == expected.strip()


@pytest.mark.slow
@pytest.mark.nightly
async def test_a_healed_project_is_complete_and_healed_again_from_memory(project: Path) -> None:
    before = {one: one.read_bytes() for one in project.iterdir()}
    # Inside a running loop, as in a notebook.
    result = heal_project(project / "test_tally.py")
    assert isinstance(result, ProjectResult) and result.success
    assert (result.outcome, result.root, result.failed_before) == ("healed", str(project), (FAILS,))
    assert dict(result.files)["tally.py"].endswith("return sum(values)\n")
    assert result.diff in result.markdown and "git apply heal.patch" in result.markdown
    found = json.loads(json.dumps(result.document))
    Draft202012Validator(document_schema()).validate(found)
    assert found["project"]["failed_before"] == [FAILS]
    assert a_line_has(result.notes[1], 2, 1)
    assert {one: one.read_bytes() for one in project.iterdir()} == before
    again = heal_project(project)
    assert (result.strategy, again.strategy) == ("search", "memory")
    assert result.competing is None and again.proof == "E1"  # the others behave equally


def test_what_needs_no_repair_or_gets_none_is_in_the_result(project: Path) -> None:
    green = heal_project(project, deselect=[FAILS])
    assert (green.outcome, green.success, green.diff) == ("healthy", True, "")
    (project / "test_tally.py").write_text("import nowhere_to_be_found\n")
    refused = heal_project(project)
    assert (refused.outcome, refused.success, refused.root) == ("not_fixable", False, "")
    assert "nowhere_to_be_found" in refused.reason == refused.markdown.rstrip("\n")
    assert refused.document["project"] is None
    with pytest.raises(BadInput, match="nowhere"):
        heal_project(project / "nowhere")


async def test_a_cancelled_caller_cancels_the_run_of_a_project(project: Path) -> None:
    session = ReplayedSession([started()], hangs=True)
    agent = SelfHealingAgent(open_session=session.open)
    waiting = asyncio.create_task(aheal_project(project, agent=agent))
    while not session.started:
        assert not waiting.done()
        await asyncio.sleep(0.01)
    ((task, title),) = session.started
    assert (title, task.tests[0].name) == ("tally", FAILS)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert session.cancelled == ["r1"]


def test_a_project_is_judged_and_left_as_it_is(project: Path) -> None:
    before = {one: one.read_bytes() for one in project.iterdir()}
    done = CliRunner().invoke(app, ["check", str(project), "--json"])
    found = json.loads(done.stdout)
    assert (done.exit_code, found["outcome"], found["proof"], found["run_id"]) == (
        1, "unresolved", None, None
    )
    assert {one["id"]: one["status"] for one in found["tests"]} == {
        FAILS: "failed", "test_tally.py::test_kind": "passed",
    }
    told = CliRunner().invoke(app, ["check", f"{project}/test_tally.py::test_kind"])
    assert (told.exit_code, told.stdout) == (0, ""), told.stderr
    assert not a_line_has(told.stderr, "in-process")
    asked = CliRunner().invoke(app, [
        "check", f"{project}/test_tally.py::test_kind", "--require-integrity", "in-process",
    ])
    assert a_line_has(asked.stderr, "E1", "in-process")
    refused = CliRunner().invoke(app, ["check", str(project), "--tests", "assert 1"])
    assert (refused.exit_code, "--tests" in refused.stderr) == (2, True)
    assert {one: one.read_bytes() for one in project.iterdir()} == before


def test_a_test_command_judges_a_project_that_is_only_checked(project: Path) -> None:
    (project / "works.py").write_text("from tally import total\nassert total([2, 3]) == 4\n")
    for command, code in (("python works.py", 0), ("python -c 'raise SystemExit(3)'", 1)):
        done = CliRunner().invoke(app, ["check", str(project), "--test-cmd", command])
        assert done.exit_code == code, done.output
        assert command in done.stderr
    done = CliRunner().invoke(app, ["check", str(project / "tally.py"), "--test-timeout", "5"])
    assert (done.exit_code, "--test-timeout" in done.stderr) == (2, True)


READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && cd "$0" && exec "$@"'


@pytest.mark.nightly
def test_the_patch_is_shown_where_the_disk_cannot_be_written(project: Path) -> None:
    as_root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    namespace = ["unshare", *as_root, "--mount"]
    if shutil.which("unshare") is None or subprocess.run([*namespace, "true"]).returncode:
        pytest.skip("this system does not permit mounts")
    before = {one: one.read_bytes() for one in project.iterdir()}
    done = subprocess.run(
        [
            *namespace, "sh", "-c", READ_ONLY, str(project), sys.executable, "-m", "agent", "run",
            ".", "--apply", "--out", "heal.patch", "--report", "heal.md",
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )
    assert done.returncode == 2, done.stderr
    assert "+    return sum(values)\n" in done.stdout
    assert all(name in done.stderr for name in ("heal.patch", "tally.py", "heal.md"))
    assert {one: one.read_bytes() for one in project.iterdir()} == before
