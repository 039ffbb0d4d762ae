"""Tests of one file that cannot be followed are asked twice; honest classes are believed."""

from __future__ import annotations

from typing import Any

import pytest

from agent.core.domain import File, Task

LYING = {
    "a text that equals any text": (
        "class S(str):\n"
        "    def __eq__(self, other): return isinstance(other, str)\n"
        "    __hash__ = str.__hash__\n"
        "def slug(text): return S('x')\n",
        "assert slug('A B') == 'a-b'",
    ),
    "a list that equals one as long": (
        "class L(list):\n"
        "    def __eq__(self, other): return len(self) == len(other)\n"
        "def slug(text): return L(text)\n",
        "assert slug('ab') == ['b', 'a']",
    ),
    "a class that all is of": (
        "class All(type):\n"
        "    def __instancecheck__(cls, one): return True\n"
        "class Slug(metaclass=All): pass\n"
        "def slug(text): return 0\n",
        "assert isinstance(slug('a'), Slug)",
    ),
    "a number that equals those near it": (
        "class Near(float):\n"
        "    def __eq__(self, other): return abs(float(self) - other) < 9\n"
        "    __hash__ = float.__hash__\n"
        "def slug(text): return Near(len(text))\n",
        "assert slug('abc') == 7.0",
    ),
    "an array of which nothing is compared": (
        "import numpy\n"
        "def slug(text): return numpy.ma.masked_all(len(text))\n",
        "from numpy.testing import assert_array_equal\n    assert_array_equal(slug('ab'), [1, 2])",
    ),
    "an object that equals anything, handed to a mock": (
        "from unittest import mock\n"
        "def slug(send): send(mock.ANY, 2)\n",
        "send = Mock()\n    slug(send)\n    send.assert_called_once_with('a', 2)",
    ),
    "a pattern that anything matches": (
        "class All(type):\n"
        "    def __instancecheck__(cls, one): return True\n"
        "class Slug(metaclass=All): pass\n"
        "def slug(text): return 0\n",
        "match slug('a'):\n        case Slug(): found = 1\n        case _: found = 0\n"
        "    assert found == 1",
    ),
    "a check in a mock's place": (
        "def slug(send):\n"
        "    send.assert_called_once_with = lambda *args: None\n",
        "send = Mock()\n    slug(send)\n    send.assert_called_once_with('a')",
    ),
}
HONEST = {
    "a text that heeds no case": (
        "class Slug(str):\n"
        "    def __eq__(self, other): return self.lower() == str(other).lower()\n"
        "    def __hash__(self): return hash(self.lower())\n"
        "def slug(text): return Slug(text.replace(' ', '-'))\n",
        "assert slug('A B') == 'a-b' == Slug('A-B')",
    ),
    "a class of all that can be read": (
        "class Readable(type):\n"
        "    def __instancecheck__(cls, one): return hasattr(one, 'read')\n"
        "class Slug(metaclass=Readable): pass\n"
        "def slug(text):\n    import io\n    return io.StringIO(text)\n",
        "assert isinstance(slug('a'), Slug)\n    assert slug('a').read() == 'a'",
    ),
}
HONEST["an array"] = (
    "import numpy\n"
    "def slug(text): return numpy.arange(len(text)) * 2.0\n",
    "from numpy.testing import assert_allclose, assert_array_equal\n"
    "    assert_allclose(slug('abc'), [0, 2, 4])\n"
    "    assert_array_equal(slug('ab'), slug('abc')[:2])",
)
HONEST["a pattern"] = (
    "class Slug:\n"
    "    def __init__(self, text): self.text = text\n"
    "def slug(text): return Slug(text)\n",
    "match slug('a'):\n        case Slug(text='a'): found = 1\n        case _: found = 0\n"
    "    assert found == 1",
)
HONEST["what is handed to a mock"] = (
    "def slug(send, text): send(text, size=len(text))\n",
    "from unittest.mock import ANY\n    send = Mock()\n    slug(send, 'abc')\n"
    "    send.assert_called_once_with(ANY, size=3)",
)
HONEST["a check that nothing should reach"] = (
    "def slug(text): return text[9]\n",
    "try:\n        slug('a')\n    except IndexError:\n        pass\n"
    "    else:\n        assert 0, 'too short'",
)
HONEST["a variable that the test sets"] = (
    "import contextvars\n"
    "size = contextvars.ContextVar('size', default=0)\n"
    "def slug(): return size.get()\n",
    "token = size.set(5)\n    assert slug() == 5\n    size.reset(token)\n    assert slug() == 0",
)
HEAD = "from unittest.mock import Mock\nfrom program import *\n\ndef test_it():\n    "


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", LYING)
async def test_a_check_that_holds_for_any_value_is_not_believed(name: str, judge: Any) -> None:
    program, test = LYING[name]

    report = await judge(program, f"{HEAD}{test}\n", ("test_it",))

    (verdict,) = report.verdicts
    assert (verdict.status, verdict.fails) == ("passed", True)
    assert "it passes with any expected value at test_" in verdict.disbelieved


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", HONEST)
async def test_an_honest_class_of_that_kind_is(name: str, judge: Any) -> None:
    program, test = HONEST[name]

    report = await judge(program, f"{HEAD}{test}\n", ("test_it",))

    (verdict,) = report.verdicts
    assert (verdict.status, verdict.disbelieved) == ("passed", "")


WHOLE_FILES = {
    "a test that needs another before it": (
        "seen = []\ndef add(one):\n    seen.append(one)\n    return len(seen)\n",
        "import program\n\n\ndef test_first():\n    assert program.add(1) == 1\n\n\n"
        "def test_second():\n    assert program.add(1) == 2\n",
        ("test_first", "test_second"),
    ),
    "a test of the same name is inherited": (
        "def slug(text): return text.lower()\n",
        "from helpers import Base\nfrom program import slug\n\n\n"
        "class TestA(Base):\n    def make(self):\n        return slug\n\n\n"
        "class TestB:\n    def test_empty(self):\n        assert slug('') == ''\n",
        ("TestA::test_empty", "TestB::test_empty"),
    ),
}
BASE = "class Base:\n    def test_empty(self):\n        assert self.make()('') == ''\n"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", WHOLE_FILES)
async def test_all_tests_of_an_honest_file_are_believed(name: str, judge: Any) -> None:
    program, tests, nodes = WHOLE_FILES[name]

    helpers = Task(support=(File(path="helpers.py", text=BASE),))

    report = await judge(program, tests, nodes, task=helpers)

    assert [
        (one.status, one.disbelieved) for one in report.verdicts
    ] == [("passed", "")] * len(nodes)


async def test_decimals_that_are_less_exact_are_not_believed(judge: Any) -> None:
    program = (
        "import decimal\n\n\ndef third():\n    decimal.getcontext().prec = 2\n"
        "    return decimal.Decimal('0.33')\n"
    )
    test = "from decimal import Decimal\n    assert third() == Decimal(1) / 3"

    report = await judge(program, f"{HEAD}{test}\n", ("test_it",))

    assert "loosened" in report.verdicts[0].disbelieved
