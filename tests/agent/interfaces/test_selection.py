"""Which command runs a project's tests without pytest."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.interfaces.project.selection import command_without_pytest, needs_no_pytest
from agent.target.repository.layout import layout_at
from agent.target.repository.tree import read_tree

CASES = "import unittest\n\n\nclass A(unittest.TestCase):\n    pass\n"
OF_DJANGO = "from django.test import TestCase\n"


@pytest.mark.parametrize(("files", "command"), [
    ({"manage.py": "", "tests/test_a.py": CASES}, "python manage.py test"),
    ({"tests/runtests.py": ""}, "python tests/runtests.py"),
    ({"tests/test_a.py": CASES}, "python -m unittest discover -s tests"),
    ({"tests/test_a.py": CASES, "tests/__init__.py": ""}, "python -m unittest"),
    ({"a/settings.py": "", "tests/test_settings.py": "", "tests/tests.py": OF_DJANGO},
     "python -m django test --settings=tests.test_settings"),
    ({"a.py": "", "test_a.py": "def test_a(): pass"}, ""),
])
def test_a_command_without_pytest_is_found(files: dict[str, str], command: str) -> None:
    assert command_without_pytest(files) == command


@pytest.mark.parametrize(("files", "is_so"), [
    ({"tests/test_a.py": CASES}, True),
    ({"tests/test_a.py": CASES, "tests/conftest.py": ""}, False),
    ({"tests/test_a.py": CASES, "tests/test_b.py": "def test_b(): pass"}, False),
    ({"a.py": ""}, False),
])
def test_only_tests_of_unittest_need_no_pytest(
    files: dict[str, str], is_so: bool, tmp_path: Path
) -> None:
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    assert needs_no_pytest(read_tree(layout_at(tmp_path), (), ())) is is_so
