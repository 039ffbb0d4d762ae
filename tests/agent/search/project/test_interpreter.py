"""Which Python a project's suite runs on, and that it heals there."""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path

import pytest

from agent.interfaces.project.obstacles import blocking_files, unreadable_message
from agent.search.project.suite import open_suite
from agent.target.errors import BadInput
from agent.target.interpreter import OURS, Interpreter, find_interpreter, refuse_without_pytest
from agent.verify import jail_modules
from agent.verify.project.suite_run import run_suite
from sandbox.sandbox import open_sandbox
from sandbox.workspaces import OLDEST, python_at
from tests.agent.search.project.small_project import FAILING, FILES, HEALED, PROJECT
from tests.sandbox.other_pythons import others

MONEY = "src/till/money.py"
NEWER = frozenset(
    "co_positions co_qualname tomllib ExceptionGroup BaseExceptionGroup UTC StrEnum".split()
)
"""What the library has had only since 3.11, and that ours used to name."""
NEEDED = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py.py")


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)


def environment(folder: Path, python: str, *packages: str, **settings: str) -> Path:
    """A virtual environment, as far as we look."""
    version = "{}.{}".format(*python_at(python).version)
    site = folder / f"lib/python{version}/site-packages"
    site.mkdir(parents=True)
    for name in packages:
        (site / name).mkdir()
    (folder / "bin").mkdir()
    (folder / "bin/python").symlink_to(python)
    told = {"home": str(Path(python).parent), "version": f"{version}.0"} | settings
    (folder / "pyvenv.cfg").write_text("".join(f"{a} = {b}\n" for a, b in told.items()))
    return folder


def test_what_goes_into_a_projects_jail_is_in_the_syntax_of_the_oldest_python() -> None:
    for name, text in jail_modules.project_modules().items():
        tree = ast.parse(text, name, feature_version=OLDEST)
        assert not text or "from __future__ import annotations" in text
        for node in ast.walk(tree):
            named = getattr(node, "attr", getattr(node, "id", getattr(node, "name", "")))
            assert named not in NEWER, f"{name} names {named}"


def test_the_projects_own_is_used_before_ours(tmp_path: Path) -> None:
    assert find_interpreter(tmp_path).how == OURS
    environment(tmp_path / ".venv", sys.executable)
    found = find_interpreter(tmp_path)
    assert (found.how, found.version, found.python) == (".venv", sys.version_info[:2], "")
    assert found.package_folders == (str(tmp_path / ".venv/lib" / _ours() / "site-packages"),)


def test_the_active_environment_is_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment(tmp_path / "project/.venv", sys.executable)
    active = environment(tmp_path / "active", sys.executable)
    monkeypatch.setenv("VIRTUAL_ENV", str(active))
    assert "active" in find_interpreter(tmp_path / "project").how
    for asked in (active, active / "bin/python"):
        found = find_interpreter(tmp_path / "project", str(asked))
        assert (found.how, found.executable) == ("--python", active / "bin/python")


def test_no_program_of_the_repositorys_own_is_started(tmp_path: Path) -> None:
    environment(tmp_path / ".venv", sys.executable, home=str(tmp_path))
    python = tmp_path / ".venv/bin/python"
    python.unlink()
    for program in (python, tmp_path / "python"):
        program.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
        program.chmod(0o755)
    with pytest.raises(BadInput, match="--python"):
        find_interpreter(tmp_path)
    python.unlink()
    python.symlink_to("/bin/sh")
    with pytest.raises(BadInput, match="--python"):
        find_interpreter(tmp_path)
    assert not (tmp_path / "started").exists()


def test_a_missing_or_unusable_pytest_is_refused_with_its_place(tmp_path: Path) -> None:
    environment(tmp_path / ".venv", sys.executable)
    with pytest.raises(BadInput, match=r"/\.venv/bin/python.*--python PATH.*--test-cmd 'python a'"):
        refuse_without_pytest(find_interpreter(tmp_path), "python a")
    site = Path(find_interpreter(tmp_path).package_folders[0])
    for name in ("pytest", "pytest_cov-4.0.dist-info", "pytest-5.4.3.dist-info"):
        (site / name).mkdir()
    with pytest.raises(BadInput, match=r"5\.4\.3.*6\.0"):
        refuse_without_pytest(find_interpreter(tmp_path))
    (site / "pytest-5.4.3.dist-info").rename(site / "pytest-8.4.2.dist-info")
    refuse_without_pytest(find_interpreter(tmp_path))


def test_an_environment_of_a_python_that_is_gone_is_refused(tmp_path: Path) -> None:
    environment(tmp_path / ".venv", sys.executable)
    site = Path(find_interpreter(tmp_path).package_folders[0])
    site.rename(site.parent / "elsewhere")
    with pytest.raises(BadInput):
        find_interpreter(tmp_path)


def test_a_file_that_only_a_newer_python_reads_is_left_as_it_is() -> None:
    newer = Interpreter(Path("/p"), (3, 99), (), "--python", python="/p")
    older = Interpreter(Path("/p"), (3, 10), (), "--python", python="/p")
    ours = Interpreter(Path("/p"), sys.version_info[:2], (), OURS)
    problem = "tests/test_a.py: SyntaxError: invalid syntax at src/b.py:3"
    assert blocking_files(["src/a.py", "src/b.py"], [problem], older) == ["src/b.py"]
    assert blocking_files(["src/a.py"], ["pytest does not start"], newer) == []
    assert blocking_files(["src/a.py"], ["pytest does not start"], ours) == ["src/a.py"]
    assert blocking_files(["src/a.py"], [], ours) == []
    assert "3.99" in unreadable_message("src/a.py", newer)


@pytest.mark.slow
@pytest.mark.nightly
async def test_a_suite_is_judged_and_kept_on_another_python(tmp_path: Path) -> None:
    """Our pytest is of Python alone, and has what it needs beside it from 3.11 on."""
    able = [path for version, path in others().items() if version > (3, 11)]
    if not able:
        pytest.skip("there is no other Python of 3.12 or newer on this machine")
    python, files = able[-1], {**FILES}
    for name in NEEDED:
        os.symlink(Path(jail_modules.pytest_site(), name), tmp_path / name)
    files["tests/test_own.py"] = (
        "import sys\n\n\ndef test_version():\n"
        f"    assert sys.version_info[:2] == {python_at(python).version}\n"
    )
    project = PROJECT.model_copy(update={"python": python})
    run = await run_suite(files, project, (str(tmp_path),), open_sandbox())
    assert ({*run.failing}, run.problems) == (FAILING, [])
    async with open_suite(files, project, (str(tmp_path),), open_sandbox()) as suite:
        rows = await suite.baseline(range(len(suite.nodes)))
        failing = [number for number, row in rows.items() if not row.passed]
        assert {suite.nodes[number] for number in failing} == FAILING
        covered = await suite.coverage(failing, [MONEY], lines=True)
        assert all(one.lines[MONEY] for one in covered.values())
        trace = await suite.trace(MONEY, failing)
        assert all(one.covered for one in trace.tests)
        texts = [HEALED, HEALED.replace("[share] *", "[amount] *"), files[MONEY] + "x = (\n"]
        found = await suite.precheck(MONEY, texts, failing, len(failing), "full", 1.0)
        assert [one and one.outcome for one in found] == ["ok", "failed", "syntax"]


def _ours() -> str:
    return "python{}.{}".format(*sys.version_info)
