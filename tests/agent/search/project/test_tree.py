"""What of a tree may be edited, and which of its files are tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from agent.interfaces.project.selection import is_of_project
from agent.target.repository.layout import layout_at
from agent.target.repository.tree import ProjectTree, is_collected, read_tree


def tree_of(root: Path, files: Mapping[str, str]) -> ProjectTree:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return read_tree(layout_at(root))


PACKAGE = {"shop/__init__.py": "", "shop/till.py": "x = 1\n", "tests/test_a.py": "import helper\n"}


@pytest.mark.parametrize(("more", "editable"), [
    # Nothing but tests imports it, and a package is there to be shipped.
    ({"helper.py": "import deeper\n", "deeper.py": ""}, set()),
    # A module of the package needs it.
    ({"helper.py": "", "shop/till.py": "import helper\n"}, {"helper.py"}),
    # The project says that it ships it.
    ({"helper.py": "", "pyproject.toml": '[tool.setuptools]\npy-modules = ["helper"]\n'},
     {"helper.py"}),
    # Nobody imports it: a script.
    ({"run.py": "import shop\n"}, {"run.py"}),
])
def test_a_module_beside_the_package_that_tests_alone_import_is_test_code(
    more: dict[str, str], editable: set[str], tmp_path: Path
) -> None:
    tree = tree_of(tmp_path, PACKAGE | more)
    assert tree.editable == {"shop/__init__.py", "shop/till.py"} | editable


def test_where_nothing_else_is_shipped_a_module_is_the_program(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, {"till.py": "", "test_till.py": "import till\n"})
    assert tree.editable == {"till.py"}


@pytest.mark.parametrize(("settings", "patterns"), [
    ({"pytest.ini": "[pytest]\npython_files = check_*.py\n"}, ("check_*.py",)),
    ({"setup.cfg": "[tool:pytest]\npython_files = check_*.py a.py\n"}, ("check_*.py", "a.py")),
    ({"pyproject.toml": '[tool.pytest.ini_options]\npython_files = ["check_*.py"]\n'},
     ("check_*.py",)),
    ({"pyproject.toml": '[tool.pytest.ini_options]\naddopts = "-q"\n'},
     ("test_*.py", "*_test.py")),
])
def test_tests_are_the_files_that_its_pytest_collects(
    settings: dict[str, str], patterns: tuple[str, ...], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tree = tree_of(tmp_path, settings | {"till.py": "", "checks/check_till.py": ""})
    assert tree.layout.test_files == patterns
    monkeypatch.chdir(tmp_path)
    own = "check_*.py" in patterns
    assert ("checks/check_till.py" in tree.editable, is_of_project("checks/check_till.py")) == (
        not own, own
    )


def test_a_pattern_that_takes_in_every_file_tells_no_test_from_a_module(tmp_path: Path) -> None:
    ini = "[pytest]\npython_files = *.py\n"
    tree = tree_of(tmp_path, {"pytest.ini": ini, "till.py": "", "test_till.py": ""})
    assert tree.editable == {"till.py"}
    assert is_collected("a/b/check.py", ("b/*.py",)) and not is_collected("b.py", ("a/*.py",))


def test_a_file_is_edited_under_its_own_path_and_not_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "also").symlink_to("real")
    (tmp_path / "alias.py").symlink_to("till.py")
    tree = tree_of(tmp_path, {"till.py": "x = 1\n", "test_till.py": "import alias\n"})
    assert (tree.files["alias.py"], tree.editable) == ("x = 1\n", {"till.py"})
