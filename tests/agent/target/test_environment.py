"""Packages that are missing, interpreters that are asked, files beside the program."""

from __future__ import annotations

import pytest

from agent.core.domain import File, Task
from agent.target import task
from agent.target.environment import (
    absent_package,
    modules_in,
    standard_modules,
)
from agent.target.interpreter import Interpreter


def test_what_is_installed_or_beside_is_not_absent(tmp_path):
    (tmp_path / "polars").mkdir()
    (tmp_path / "orjson.cpython-311-x86_64-linux-gnu.so").write_bytes(b"")
    (tmp_path / "six.py").write_text("")
    task = Task(sites=(str(tmp_path),), support=(File(path="beside.py", text=""),))
    names = ("polars", "orjson", "six", "beside", "json", "scipy")

    assert [name for name in names if absent_package(name, task)] == ["scipy"]


def test_a_slip_for_a_package_that_is_not_installed_names_the_package():
    said = absent_package("numpi", Task())
    assert "did you mean numpy?" in said and "pip install numpy" in said
    assert "pip install numpi" not in said


def test_a_module_that_nobody_knows_may_be_a_file_that_was_not_submitted():
    assert "--with helpers.py" in absent_package("helpers", Task())
    assert "--with" not in absent_package("scipy", Task())


def test_files_are_imported_by_their_paths_from_whichever_folder():
    assert modules_in(["src/tills/__init__.py", "src/tills/money.py", "rates.csv"]) == {
        "src.tills", "tills", "src.tills.money", "tills.money", "money",
    }


@pytest.mark.parametrize(("name", "absent"), [
    ("maths", False), ("colections", False), ("jsno", False), ("randon", False),
    ("urllib2", False), ("ConfigParser", False), ("ujson", True), ("pathlib2", True),
    ("regex", True),
])
def test_a_misspelt_module_is_recognised(name, absent):
    assert bool(absent_package(name, Task())) is absent


def test_a_module_that_left_the_standard_library_is_standard_until_then():
    assert {"cgi", "asyncore"} <= standard_modules((3, 11))
    assert "cgi" not in standard_modules((3, 13))


def test_packages_of_another_version_are_noted(tmp_path, monkeypatch):
    other = Interpreter(tmp_path, (3, 9), ("/packages",), "--python")
    monkeypatch.setattr(task, "find_interpreter", lambda root, asked: other)
    program = tmp_path / "program.py"
    program.write_text("assert 1 + 1 == 2\n")
    found = task.from_command_line(task.Inputs(str(program), python="python3.9"))

    assert found.task.sites == ("/packages",)
    assert any("3.9" in note and "compiled" in note for note in found.notices)
