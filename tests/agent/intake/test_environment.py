"""Packages that are missing, interpreters that are asked, files beside the program."""

from __future__ import annotations

import sys
import venv
from pathlib import Path

import pytest

from agent.core.domain import File, Task
from agent.intake.environment import (
    absent_package,
    distance,
    modules_in,
    nearest_module,
    site_folders,
    standard_modules,
)
from agent.intake.errors import BadInput


def test_a_package_that_is_not_there_is_named_with_its_pip_name():
    assert "pip install opencv-python" in absent_package("cv2", Task())


def test_what_is_installed_or_beside_is_not_absent(tmp_path):
    (tmp_path / "polars").mkdir()
    (tmp_path / "orjson.cpython-311-x86_64-linux-gnu.so").write_bytes(b"")
    (tmp_path / "six.py").write_text("")
    task = Task(sites=(str(tmp_path),), support=(File(path="beside.py", text=""),))
    names = ("polars", "orjson", "six", "beside", "json", "scipy")

    assert [name for name in names if absent_package(name, task)] == ["scipy"]


def test_a_slip_for_a_module_of_the_program_itself_is_no_absent_package():
    files = [File(path=path, text="") for path in ("src/tills/__init__.py", "src/tills/money.py")]
    task = Task(support=tuple(files))
    assert not any(absent_package(name, task) for name in ("tills", "tils", "money", "monye"))


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
def test_a_name_near_a_module_s_is_a_slip_unless_a_package_has_it(name, absent):
    assert bool(absent_package(name, Task())) is absent


def test_a_module_that_left_the_standard_library_is_standard_until_then():
    assert {"cgi", "asyncore"} <= standard_modules((3, 11))
    assert "cgi" not in standard_modules((3, 13))


@pytest.mark.parametrize("first, second, edits", [
    ("math", "math", 0), ("maht", "math", 1), ("maths", "math", 1), ("jsn", "json", 1),
    ("random", "rendum", 2), ("abc", "xyz", 3),
])
def test_distance_counts_edits_and_swaps(first, second, edits):
    assert distance(first, second, 5) == edits == distance(second, first, 5)


def test_the_nearest_module_is_found():
    assert nearest_module("colection", ["collections", "colorsys"]) == "collections"
    assert nearest_module("flask", sys.stdlib_module_names) is None


def test_our_own_sites_hold_what_we_import():
    assert any((Path(site) / "pydantic").is_dir() for site in site_folders().sites)


def test_a_venv_folder_is_asked_for_its_sites(tmp_path):
    venv.create(tmp_path / "env", with_pip=False)
    asked = site_folders(str(tmp_path / "env"))

    assert asked.note == ""
    assert asked.sites and all(site.startswith(str(tmp_path)) for site in asked.sites)


def test_another_version_is_noted(tmp_path):
    fake = tmp_path / "python"
    fake.write_text(f"#!/bin/sh\necho '[[3, 9], [\"{tmp_path}\"]]'\n")
    fake.chmod(0o755)
    asked = site_folders(str(fake))

    assert asked.sites == (str(tmp_path.resolve()),)
    assert "3.9" in asked.note and "compiled" in asked.note


@pytest.mark.parametrize("content, mode, word", [
    ("#!/bin/sh\necho hello\n", 0o755, "does not behave"),
    ("#!/bin/sh\nexit 3\n", 0o755, "exit code 3"),
    ("no program", 0o644, "cannot be run"),
    (None, 0, "does not exist"),
])
def test_what_is_no_interpreter_is_refused(content, mode, word, tmp_path):
    path = tmp_path / "python"
    if content is not None:
        path.write_text(content)
        path.chmod(mode)

    with pytest.raises(BadInput, match=word):
        site_folders(str(path))
    with pytest.raises(BadInput, match="folder without"):
        site_folders(str(tmp_path))
