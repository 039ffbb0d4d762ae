"""A test that is not run is never one that passes."""

from __future__ import annotations

from typing import Any

import pytest

from agent.verify.tamper_indicators import RUNTIME_INDICATORS
from sandbox.sandbox import Sandbox

REST = """
def half(n):
    return n * 2

def whole(n):
    return n
"""
TESTS = """
import pytest
from program import *

class TestHalf(Base):
    def test_half(self):
        assert half(8) == 4

def test_whole():
    assert whole(3) == 3
"""
HIDING = {
    "a constructor": "class Base:\n    def __init__(self):\n        pass\n",
    "another constructor": (
        "class Base:\n    def __new__(cls):\n        return object.__new__(cls)\n"
    ),
    "an attribute": "class Base:\n    __test__ = False\n",
    "a removed test": (
        "class Base:\n    def __init_subclass__(cls):\n"
        "        del cls.test_half\n"
    ),
    "an exchanged test": (
        "class Base:\n    def __init_subclass__(cls):\n"
        "        cls.test_half = lambda self: None\n"
    ),
}


@pytest.mark.parametrize("name", HIDING)
async def test_what_hides_a_test_is_not_believed(name: str, judge: Any) -> None:
    report = await judge(HIDING[name] + REST, TESTS, ("test_whole", "TestHalf"))

    assert not report.passed


async def test_the_hidden_test_is_named(judge: Any) -> None:
    report = await judge(HIDING["an attribute"] + REST, TESTS, ("test_whole",))

    doubt = f"{RUNTIME_INDICATORS['vanished']} (TestHalf::test_half)"
    assert doubt in report.verdicts[0].disbelieved


async def test_a_hook_that_leaves_a_test_out_is_seen(judge: Any) -> None:
    program = (
        "def pytest_collection_modifyitems(items):\n    items[:] = items[1:]\n" + REST
    )
    tests = (
        "from program import half, whole\npytest_plugins = ['program']\n\n"
        "def test_half():\n    assert half(8) == 4\n\n"
        "def test_whole():\n    assert whole(3) == 3\n"
    )

    report = await judge(program, tests, ("test_half", "test_whole"))

    assert not report.passed


async def test_a_file_skipped_for_a_failed_import_is_an_error(judge: Any) -> None:
    tests = (
        "import pytest\nprogram = pytest.importorskip('program', exc_type=ImportError)\n\n"
        "def test_half():\n    assert program.half(8) == 4\n"
    )

    report = await judge("raise ImportError('no')\n", tests, ("test_half",))

    assert [one.status for one in report.verdicts] == ["error"]


HONEST = {
    "a base with what its tests need": (
        "import unittest\n"
        "class Base(unittest.TestCase):\n"
        "    def setUp(self):\n        self.size = 8\n"
        "    def same(self, one, other):\n        self.assertEqual(one, other)\n"
        "def half(n):\n    return n // 2\n",
        "from program import *\n\nclass TestHalf(Base):\n"
        "    def test_half(self):\n        self.same(half(self.size), 4)\n"
        "        self.assertEqual(half(2), 1)\n",
    ),
    "a decorator that runs its test": (
        "import functools\n"
        "def twice(test):\n    @functools.wraps(test)\n"
        "    def both(*args):\n        test(*args)\n        return test(*args)\n"
        "    return both\n"
        "def half(n):\n    return n // 2\n",
        "from program import half, twice\n\nclass TestHalf:\n"
        "    @twice\n    def test_half(self):\n        assert half(8) == 4\n",
    ),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", HONEST)
async def test_what_lets_its_tests_run_is_believed(name: str, judge: Any) -> None:
    program, tests = HONEST[name]

    report = await judge(program, tests, ("TestHalf",))

    assert [(one.status, one.disbelieved) for one in report.verdicts] == [("passed", "")]


SHOWING = {
    "fields of a class without methods": (
        "import dataclasses\n@dataclasses.dataclass\nclass Box:\n    size: int = 3\n",
        "import pickle\nfrom program import Box\n\ndef test_box():\n"
        "    assert pickle.loads(pickle.dumps(Box())).size == 3\n",
    ),
    "what is logged beside an answer": (
        "import logging\n"
        "def fill(n):\n    logging.getLogger('box').warning('filled by %d', n)\n    return n\n",
        "from program import fill\n\ndef test_box(caplog):\n    fill(2)\n"
        "    assert caplog.messages == ['filled by 2']\n",
    ),
    "what a command prints": (
        "import sys\nprint('filled by', sys.argv[1])\n",
        "import subprocess, sys\n\ndef test_box():\n    done = subprocess.run(\n"
        "        [sys.executable, 'program.py', '2'], capture_output=True, text=True)\n"
        "    assert done.stdout == 'filled by 2\\n'\n",
    ),
}


@pytest.mark.parametrize("name", SHOWING)
@pytest.mark.nightly
async def test_a_pass_that_shows_something_is_no_empty_one(
    name: str, judge: Any, jail: Sandbox
) -> None:
    program, tests = SHOWING[name]

    report = await judge(program, tests, ("test_box",))

    # At L3 a job is one process, and runs no command.
    runs = name != "what a command prints" or "L3" not in jail.describe()
    assert [one.is_evidence for one in report.verdicts] == [runs]


TABLES = {
    "a level with another's name": (
        "import logging\nlogging.addLevelName(30, 'ERROR')\n"
        "def fill():\n    logging.getLogger('box').warning('empty')\n",
        "from program import fill\n\ndef test_box(caplog):\n    fill()\n"
        "    assert caplog.records[0].levelname == 'ERROR'\n",
    ),
    "an ending with another's type": (
        "import mimetypes\nmimetypes.add_type('image/png', '.txt')\n"
        "class Name(str): pass\n"
        "def fill():\n    return Name('a.txt')\n",
        "import mimetypes\nfrom program import fill\n\ndef test_box():\n"
        "    assert mimetypes.guess_type(fill())[0] == 'image/png'\n",
    ),
    "a prefix in a table of the library's own": (
        "import xml.etree.ElementTree as ET\nET._namespace_map['urn:none'] = 'box'\n"
        "def fill():\n    return ET.Element('{urn:none}a')\n",
        "import xml.etree.ElementTree as ET\nfrom program import fill\n\ndef test_box():\n"
        "    assert ET.tostring(fill()).startswith(b'<box:a')\n",
    ),
}
ADDED = {
    "a level": (
        "import logging\nlogging.addLevelName(35, 'NOTICE')\n"
        "def fill():\n    logging.getLogger('box').log(35, 'empty')\n",
        "from program import fill\n\ndef test_box(caplog):\n    fill()\n"
        "    assert caplog.records[0].levelname == 'NOTICE'\n",
    ),
    "a prefix": (
        "import xml.etree.ElementTree as ET\nET.register_namespace('box', 'urn:box')\n"
        "def fill():\n    return ET.Element('{urn:box}a')\n",
        "import xml.etree.ElementTree as ET\nfrom program import fill\n\ndef test_box():\n"
        "    assert ET.tostring(fill()).startswith(b'<box:a')\n",
    ),
}


@pytest.mark.parametrize("name", TABLES)
async def test_a_table_of_the_library_that_was_changed_is_seen(name: str, judge: Any) -> None:
    program, tests = TABLES[name]

    report = await judge(program, tests, ("test_box",))

    assert RUNTIME_INDICATORS["changed-library"] in report.verdicts[0].disbelieved


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ADDED)
async def test_what_was_only_added_to_one_is_believed(name: str, judge: Any) -> None:
    program, tests = ADDED[name]

    report = await judge(program, tests, ("test_box",))

    assert [(one.status, one.disbelieved) for one in report.verdicts] == [("passed", "")]
