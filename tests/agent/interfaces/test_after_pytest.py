"""A run of pytest as it is, and the heal after it: `heal pytest` and `pytest --heal`."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from agent.interfaces.project import after_pytest
from agent.interfaces.project.after_pytest import PytestEnd, suite_options
from agent.interfaces.project.selection import chosen
from agent.interfaces.request import HealRequest
from agent.interfaces.terminal.cli import app
from agent.target.repository.layout import find_layout
from tests.agent.interfaces.conftest import a_line_has
from tests.agent.search.project.small_project import ALONE, FILES, laid, pyproject

TOP = Path(__file__).parents[3]
MONEY = "src/till/money.py"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = laid(tmp_path / "till", {
        "pyproject.toml": pyproject("till", f"-ra --heal {ALONE}", 'pythonpath = ["src"]')
    })
    for name in ("VIRTUAL_ENV", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LLM_PROVIDER", "mock")
    monkeypatch.setenv("HEAL_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(root)
    return root


def own_pytest(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A developer's pytest, in whose environment our package is."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:asyncio", "-p", "selfheal.pytest_plugin",
         *arguments], cwd=root,
        env={
            **os.environ, "PYTHONPATH": str(TOP), "PYTHONDONTWRITEBYTECODE": "1",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        capture_output=True, text=True, check=False,
    )


@pytest.mark.nightly
def test_pytest_heals_what_failed_at_its_end_and_keeps_the_patch_in_its_cache(root: Path) -> None:
    # The option stands in `addopts` too, and the jail's own pytest does nothing for it.
    done = own_pytest(root, "-x", "--deselect", "tests/test_money.py::Cases::test_shares")
    patch = root / ".pytest_cache/d/heal/heal.patch"
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.index("1 failed") < done.stdout.index("--- a/src/till/money.py")
    # What pytest did not come to is healed with what failed.
    assert a_line_has(done.stderr, 8, 2) and str(patch) in done.stderr
    subprocess.run(["git", "apply", str(patch)], cwd=root, check=True)
    again = own_pytest(root)
    healed = again.returncode, again.stderr, "--- a/" in again.stdout
    assert healed == (0, "", False), again.stdout


def test_without_the_option_the_plugin_does_nothing_and_loads_nothing(root: Path) -> None:
    (root / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["src"]\n')
    (root / "tests/test_loaded.py").write_text(
        "import sys\n\n\ndef test_loaded():\n"
        "    ours = [one for one in sys.modules if one.split('.')[0] in ('selfheal', 'agent')]\n"
        "    assert ours == ['selfheal', 'selfheal.pytest_plugin']\n"
    )
    done = own_pytest(root, "tests/test_loaded.py")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    off = own_pytest(root, "--heal", "-p", "no:cacheprovider", "tests/test_money.py")
    assert (off.returncode, off.stderr) == (1, ""), off.stdout
    assert "cache" in off.stdout.splitlines()[-1] and "--- a/" not in off.stdout


def test_the_package_names_its_plugin_to_pytest() -> None:
    settings = tomllib.loads((TOP / "pyproject.toml").read_text())
    (module,) = settings["project"]["entry-points"]["pytest11"].values()
    assert callable(importlib.import_module(module).pytest_addoption)


@pytest.fixture
def heal(root: Path) -> Callable[..., Result]:
    (root / "pyproject.toml").write_text(FILES["pyproject.toml"])
    (root / "tests/conftest.py").write_text(
        f"import sys\nsys.path.insert(0, 'src')\n{FILES['tests/conftest.py']}"
    )
    return lambda *arguments: CliRunner().invoke(app, ["pytest", *arguments])


@pytest.mark.nightly
def test_heal_pytest_runs_it_as_it_is_and_heals_what_failed_there(
    root: Path, heal: Callable[..., Result], capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in (("NAME", "A"), ("EMAIL", "a@b.c")):
        monkeypatch.setenv(f"GIT_AUTHOR_{name}", value)
        monkeypatch.setenv(f"GIT_COMMITTER_{name}", value)
    for words in ("init -q", "add .", "commit -q -m begun"):
        subprocess.run(["git", *words.split()], cwd=root, check=True)
    done = heal(
        "--json", "--commit", "--", "-q", "-k", "split", "--deselect=tests/test_money.py::Cases"
    )
    own = capfd.readouterr()
    found = json.loads(done.stdout)
    assert (done.exit_code, found["outcome"]) == (0, "healed"), done.stderr
    assert "2 failed" in own.err and own.out == ""
    # What pytest chose by -k is healed, and the whole suite judged but for what was left out.
    assert a_line_has(done.stderr, 6, 2)
    # The repair is a commit beside what is checked out.
    commit = found["project"]["commit"]
    said = subprocess.run(
        ["git", "show", "--format=%B", commit["branch"]], cwd=root, check=True,
        capture_output=True, text=True,
    ).stdout
    assert "tests/test_money.py::test_split[2]" in said.splitlines()[0]
    assert said.endswith(found["diff"].partition("@@\n")[2])
    assert (root / MONEY).read_text() == FILES[MONEY] and commit["commit"][:10] in done.stderr


def test_what_pytest_did_not_come_to_is_asked_for_with_what_failed(root: Path) -> None:
    cases = "tests/test_money.py::Cases::test_shares"
    split = "tests/test_money.py::test_split"
    for stop in ("-x", "--maxfail=1"):
        ran = after_pytest.run_pytest(
            Path(sys.executable),
            ["-q", "-p", "selfheal.pytest_plugin", stop, "-k", "split or shares"], quiet=True,
        )
        assert ran == PytestEnd(
            1, (str(root / f"{split}[2]"),), (str(root / f"{split}[4]"), str(root / cases))
        )
    # The settings ask for a heal at pytest's end, and here another one follows.
    assert not (root / ".pytest_cache/d/heal").exists()
    inputs = HealRequest(str(root), [*ran.failed, *ran.left], failed_outside=True)
    # A parameter may be called otherwise in each run; what was not chosen is not asked for.
    failing = [f"{split}[2]", f"{split}[four]", cases, "tests/test_money.py::test_total"]
    assert chosen(failing, failing, inputs, find_layout(root)) == failing[:3]


@pytest.mark.parametrize(("ended", "code", "outcome"), [
    (0, 0, "healthy"), (4, 2, None), (5, 4, "not_fixable"),
    (after_pytest.NO_PYTEST, 4, "not_fixable"),
])
def test_how_pytest_ended_decides_the_exit_code(
    ended: int, code: int, outcome: str | None, heal: Callable[..., Result],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(after_pytest, "run_pytest", lambda *_, **__: PytestEnd(ended, ()))
    done = heal("--json")
    assert (done.exit_code, json.loads(done.stdout)["outcome"]) == (code, outcome), done.stderr


def test_what_fails_here_and_passes_in_the_jail_cannot_be_healed(
    root: Path, heal: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = PytestEnd(1, (str(root / "tests/test_money.py::test_total"),))
    monkeypatch.setattr(after_pytest, "run_pytest", lambda *_, **__: ran)
    done = heal("--json")
    assert (done.exit_code, json.loads(done.stdout)["outcome"]) == (4, "not_fixable")


def test_a_python_without_pytest_says_so_by_its_exit_code(
    root: Path, heal: Callable[..., Result], tmp_path: Path
) -> None:
    empty = tmp_path / "python"
    empty.write_text(f"#!/bin/sh\nexec {sys.executable} -I -S \"$@\"\n")
    empty.chmod(0o755)
    assert after_pytest.run_pytest(empty, [], quiet=True) == PytestEnd(after_pytest.NO_PYTEST, ())


def test_what_holds_for_the_whole_suite_is_carried_over(root: Path) -> None:
    given = ["-x", "tests/test_a.py", "-p", "selfheal.pytest_plugin", "-p", "no:randomly",
             "-Werror", "--deselect", "test_a.py::b", "-k", "split", "--ignore=slow", "-n", "4",
             "--doctest-modules", "-oaddopts="]
    assert suite_options(given, find_layout(root), root / "tests") == (
        "-pno:randomly", "-Werror", "--deselect=tests/test_a.py::b", "--ignore=tests/slow",
        "--doctest-modules", "-oaddopts=",
    )
