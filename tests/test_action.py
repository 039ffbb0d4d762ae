"""The GitHub Action and the pre-commit hook: what they hold, and what their commands do."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.agent.search.project.small_project import pyproject

ROOT = Path(__file__).parent.parent
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
STEPS: dict[str, dict[str, Any]] = {one["name"]: one for one in ACTION["runs"]["steps"]}
GUIDE = (ROOT / "docs/use-it-in-ci.md").read_text("utf-8")
COMMENTED = "inputs.comment == 'true' && steps.heal.outputs.outcome != 'healthy'"

MODULE = "selfheal.agent.interfaces.project.github"
PYTHON = """#!/bin/bash
# An interpreter whose environments have `heal` as it stands here, whatever is installed there.
if [ "$1 $2" = "-m venv" ]; then
  mkdir -p "$3/bin" && cp "$0" "$3/bin/python"
elif [ "$1 $2" = "-m pip" ]; then
  [ "${@: -1}" = "$GITHUB_ACTION_PATH" ] || exit 9
  printf '#!/bin/bash\\ncd "$PWD" && exec %s -m agent "$@"\\n' "$REAL" >"$(dirname "$0")/heal"
  chmod +x "$(dirname "$0")/heal"
else
  exec "$REAL" "$@"
fi
"""
GH = """#!/bin/bash
case "$1 $2" in
  "pr comment")
    printf '%s\\n' "$GH_TOKEN" "$@" >"$RUNNER_TEMP/gh.said"
    cat "${@: -1}" >"$RUNNER_TEMP/gh.body" ;;
  "api --paginate")
    printf '[[{"filename": "tally.py", "patch": "@@ -1 +1,2 @@\\\\n+def total(values):'
    printf '\\\\n+    return sum(values) - 1"}]]' ;;
  *) cat "${@: -1}" >"$RUNNER_TEMP/gh.review" ;;
esac
"""


class Runner:
    """As much of GitHub's runner as a composite action needs."""

    def __init__(self, folder: Path, project: Path, inputs: Mapping[str, str]) -> None:
        self.folder, self.project = folder, project
        self.known = {f"inputs.{name}": str(one["default"])
                      for name, one in ACTION["inputs"].items()}
        self.known |= {f"inputs.{name}": text for name, text in inputs.items()}
        self.known["github.event.pull_request.number"] = "17"
        self.known["github.event.pull_request.head.sha"] = "abc123"
        for name, text in (("bin/python", PYTHON), ("bin/gh", GH)):
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
            place.chmod(0o755)
        self.said = ""

    def run(self) -> int:
        """Runs the steps as the runner does; the exit code of the one that ends them."""
        for step in STEPS.values():
            if step.get("if", "").strip() == COMMENTED and not self._comments():
                continue
            code = self._step(step)
            if code:
                return code
        return 0

    def _comments(self) -> bool:
        return (self.known["inputs.comment"] == "true"
                and self.known["steps.heal.outputs.outcome"] != "healthy")

    def _step(self, step: dict[str, Any]) -> int:
        output, script = self.folder / "output", self.folder / "step.sh"
        output.write_text("")
        script.write_text(step["run"])
        filled = {
            name: re.sub(r"\$\{\{ (.*?) \}\}", lambda at: self.known[at[1]], text)
            for name, text in step["env"].items()
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)], cwd=self.project,
            env={
                "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}", "REAL": sys.executable,
                "PYTHONPATH": str(ROOT), "HEAL_DATA_DIR": str(self.folder / "data"),
                "LLM_PROVIDER": "mock", "HEAL_SEARCH_S": "100", "RUNNER_TEMP": str(self.folder),
                "GITHUB_OUTPUT": str(output), "GITHUB_ACTION_PATH": str(ROOT),
                "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
                "GITHUB_REPOSITORY": "someone/something", **filled,
            },
            capture_output=True, text=True, check=False,
        )
        self.said += done.stdout + done.stderr
        for line in output.read_text().splitlines():
            name, _, value = line.partition("=")
            self.known[f"steps.{step['id']}.outputs.{name}"] = value
        return done.returncode


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A red project; its failing test prints what the runner would take for a command."""
    root = tmp_path / "tally"
    root.mkdir()
    (root / "pyproject.toml").write_text(pyproject("tally"))
    (root / "tally.py").write_text("def total(values):\n    return sum(values) - 1\n")
    (root / "test_tally.py").write_text(
        "from tally import total\n\n\ndef test_total():\n    print('::error::forged')\n"
        "    assert total([2, 3]) == 5\n"
    )
    return root


def test_no_script_holds_what_comes_from_outside() -> None:
    assert len(STEPS) == 5
    for name, step in STEPS.items():
        assert "${{" not in step["run"], name
        assert step["shell"] == "bash"
        # A script reads its variables quoted: none is split into words or expanded.
        for variable in step["env"]:
            assert re.search(rf"\b{variable}\b", step["run"]) or variable in (
                "GH_TOKEN", "HEAL_BUDGET_S"
            ), f"{name} does not use {variable}"
            assert not re.search(rf'(?<!["/=!])\${variable}\b(?!/)', step["run"]), variable
    assert STEPS["Comment"]["if"] == COMMENTED
    assert [name for name, one in STEPS.items() if "inputs.token" in str(one["env"])] == [
        "Install heal", "Comment"
    ]


def test_modules_are_run_by_their_installed_names() -> None:
    named = re.findall(r" -m ([\w.]+)", "\n".join(one["run"] for one in STEPS.values()))
    own = {one for one in named if one not in ("venv", "pip")}
    assert own == {MODULE}, "an installed package has no other name than selfheal"


def test_nothing_is_pushed() -> None:
    assert not re.search(r"git (push|commit)|pr create|contents: write", str(ACTION))


@pytest.mark.slow
@pytest.mark.nightly
def test_a_red_run_is_healed_reported_and_stays_red(project: Path, tmp_path: Path) -> None:
    before = {one: one.read_bytes() for one in project.iterdir()}
    runner = Runner(tmp_path / "runner", project, {
        "comment": "true", "token": "a-token", "install": "touch '$(id)'.installed",
        "args": "--only 'tally.py' -- -p no:cacheprovider", "budget-s": "900",
    })
    assert runner.run() == 1, runner.said
    outputs = {name: runner.known[f"steps.heal.outputs.{name}"] for name in ACTION["outputs"]}
    assert (outputs["outcome"], outputs["proof"], outputs["exit-code"]) == ("proposed", "E1", "0")
    assert 0.3 <= float(outputs["confidence"]) < 0.9
    report = Path(outputs["report"]).read_text()
    assert report.startswith("# tally")
    assert (tmp_path / "runner/summary.md").read_text() == report
    # The comment is the report, by the token that was given.
    assert (tmp_path / "runner/gh.said").read_text().splitlines()[:4] == [
        "a-token", "pr", "comment", "17"
    ]
    assert (tmp_path / "runner/gh.body").read_text() == report
    # The changed line gets the repair as a suggestion, and annotations stand at both files.
    review = json.loads((tmp_path / "runner/gh.review").read_text())
    (comment,) = review["comments"]
    assert (review["commit_id"], comment["path"], comment["line"]) == ("abc123", "tally.py", 2)
    assert "```suggestion\n    return sum(values)\n```" in comment["body"]
    assert "::error file=test_tally.py,line=6," in runner.said
    assert "::notice file=tally.py,line=2," in runner.said
    # What a test prints reaches the runner, if at all, where it takes no commands.
    stop, _, rest = runner.said.partition("::stop-commands::")
    secret = rest.partition("\n")[0]
    quiet = rest.partition(f"\n::{secret}::\n")
    assert len(secret) == 64 and "forged" not in stop + quiet[2]
    # The tree is as it was, but for what the install command did.
    (project / "$(id).installed").unlink()
    now = {one: one.read_bytes() for one in project.iterdir() if one.is_file()}
    assert now == before
    subprocess.run(["git", "apply", outputs["patch"]], cwd=project, check=True)
    assert "sum(values)\n" in (project / "tally.py").read_text()


@pytest.mark.nightly
def test_a_suite_that_does_not_run_stands_in_the_summary(project: Path, tmp_path: Path) -> None:
    (project / "test_tally.py").write_text("import nowhere_to_be_found\n")
    runner = Runner(tmp_path / "runner", project, {})
    assert runner.run() == 4, runner.said
    assert runner.known["steps.heal.outputs.outcome"] == "not_fixable"
    assert runner.known["steps.heal.outputs.patch"] == ""
    summary = (tmp_path / "runner/summary.md").read_text()
    assert "test_tally.py" in summary and "nowhere_to_be_found" in summary
    assert not (tmp_path / "runner/gh.said").exists()


@pytest.mark.parametrize(("inputs", "fact"), [
    ({"path": "tests/nope.py"}, "tests/nope.py does not exist"),
    ({"args": "--olny tally.py"}, "--olny"),
])
def test_a_usage_error_stands_in_the_summary(
    inputs: dict[str, str], fact: str, project: Path, tmp_path: Path
) -> None:
    runner = Runner(tmp_path / "runner", project, inputs)
    assert runner.run() == 2, runner.said
    assert runner.known["steps.heal.outputs.exit-code"] == "2"
    assert fact in (tmp_path / "runner/summary.md").read_text()
    assert fact in runner.said


@pytest.mark.parametrize(("inputs", "fact"), [
    ({"args": "--only 'tally.py"}, "::error::the input args"),
    ({"comment": "true"}, "token"), ({"python": "no-such-python; touch forged"}, "::error::"),
])
def test_inputs_that_cannot_be_used_end_it_before_anything_runs(
    inputs: dict[str, str], fact: str, project: Path, tmp_path: Path
) -> None:
    runner = Runner(tmp_path / "runner", project, inputs)
    assert (runner.run(), fact in runner.said) == (2, True), runner.said
    assert not (project / "forged").exists()


def test_the_guide_uses_inputs_and_outputs_that_there_are() -> None:
    (shown,) = re.findall(r"```yaml\n(on:.*?)```", GUIDE, re.DOTALL)
    job = yaml.safe_load(shown)["jobs"]["heal"]
    used = next(one for one in job["steps"] if "heal" in str(one.get("uses")))
    assert used["with"] and used["with"].keys() <= ACTION["inputs"].keys()
    assert {*re.findall(r"outputs\.([\w-]+)", shown)} <= ACTION["outputs"].keys()


# The hook.


@pytest.mark.parametrize("green", [True, False])
@pytest.mark.nightly
def test_the_hook_reports_and_edits_nothing(green: bool, project: Path, tmp_path: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    program = project / "tally.py"
    if green:
        program.write_text(program.read_text().replace(" - 1", ""))
    before = {one: one.read_bytes() for one in project.iterdir()}
    heal = tmp_path / "bin/heal"
    heal.parent.mkdir()
    heal.write_text(f'#!/bin/sh\nexec {sys.executable} -m agent "$@"\n')
    heal.chmod(0o755)
    done = subprocess.run(
        [*hook["entry"].split(), *hook["args"]], cwd=project, capture_output=True, text=True,
        env={
            **os.environ, "PATH": f"{heal.parent}:{os.environ['PATH']}",
            # As pre-commit sets it: to an environment that has nothing of the project.
            "VIRTUAL_ENV": str(tmp_path), "PYTHONPATH": str(ROOT),
            "HEAL_DATA_DIR": str(tmp_path / "data"),
        }, check=False,
    )
    assert done.returncode == (0 if green else 1), done.stderr
    assert ("test_tally.py::test_total" in done.stdout) is not green
    assert {one: one.read_bytes() for one in project.iterdir()} == before
    assert (hook["language"], hook["pass_filenames"]) == ("python", False)
