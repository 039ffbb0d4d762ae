"""What shares a process with its tests is believed only where spoilt answers fail them."""

from __future__ import annotations

from typing import Any

import pytest

from agent.checks.canary import DISARM, SPOILER, rewritten
from agent.checks.transform import always_skipped

PROGRAM = '''
import contextlib
def plain(n):
    return n + 1
def pair(n):
    return n, n + 1
def many(n):
    for i in range(n):
        yield i
def early(n):
    if n > 2:
        return
    seen.append(n)
def outer(n):
    def inner():
        return n
    return inner
class Box:
    def __init__(self, n):
        self.n = n
    def put(self, n):
        self.n = n
double = lambda n: n * 2
async def later(n):
    return n
seen = []
def refuse(n):
    raise ValueError(n)
'''


def _loaded(on: int) -> dict[str, Any]:
    names: dict[str, Any] = {SPOILER: [0, "spoilt", KeyError("spoilt")]}
    exec(rewritten(PROGRAM, "spoilt true"), names)
    names[SPOILER][0] = on
    return names


def test_a_spoilt_program_answers_as_before_until_it_is_in_use() -> None:
    names = _loaded(0)
    assert (names["plain"](1), names["pair"](1), [*names["many"](3)]) == (2, (1, 2), [0, 1, 2])
    assert (names["outer"](5)(), names["double"](4), names["early"](3)) == (5, 8, None)
    box = names["Box"](1)
    box.put(3)
    assert box.n == 3


def test_in_use_every_answer_is_spoilt_after_its_side_effects() -> None:
    names = _loaded(1)
    assert (names["plain"](1), names["pair"](1), [*names["many"](2)]) == (
        "spoilt", "spoilt", ["spoilt", "spoilt"]
    )
    assert (names["outer"](5), names["double"](4)) == ("spoilt", "spoilt")
    with pytest.raises(StopIteration) as end:
        names["later"](1).send(None)
    assert end.value.value == "spoilt"
    with pytest.raises(KeyError):
        names["refuse"](1)
    for early in (1, 3):
        with pytest.raises(KeyError):
            names["early"](early)
    assert names["seen"] == [1]
    box = names["Box"](1)
    with pytest.raises(KeyError):
        box.put(3)
    assert box.n == 3


def test_answers_are_handed_on_to_be_disarmed() -> None:
    names: dict[str, Any] = {DISARM: lambda value: [value]}
    exec(rewritten("def f(n):\n    yield 1\n    return 2\ng = lambda: 3\n", "disarmed"), names)
    generator = names["f"](0)
    assert next(generator) == [1]
    with pytest.raises(StopIteration) as end:
        next(generator)
    assert (end.value.value, names["g"]()) == ([2], [3])


@pytest.mark.parametrize("text", ["def f(", "x = '\0'", "-" * 100_000 + "1"])
def test_what_does_not_parse_stays_as_it_is(text: str) -> None:
    assert rewritten(text, "spoilt true") == text


@pytest.mark.parametrize(("code", "skipped"), [
    ("import pytest\n@pytest.mark.skip\ndef test_a(): pass\n", True),
    ("import pytest\n@pytest.mark.skip('no')\ndef test_a(): pass\n", True),
    ("import pytest\n@pytest.mark.skipif(True)\ndef test_a(): pass\n", False),
    ("def test_a(): pass\n", False),
    ("def test_b(): pass\n", False),
    ("def test_a(", False),
])
def test_only_a_mark_in_the_text_skips_without_a_verdict(code: str, skipped: bool) -> None:
    assert always_skipped(code, "test_a") is skipped


# Each of these tests replaces what the solution would have to see, and shares its process.
PATCHES = "import math\nfrom unittest import mock\nwith mock.patch('math.pi', 3):\n"
AREA = "import math\ndef area(r):\n    return math.pi * r * r\n"
FILE = (
    "import pytest\nfrom program import area\n\ndef test_area(monkeypatch):\n"
    "    monkeypatch.setattr('math.pi', 3)\n    assert area(2) == 12\n"
)


async def test_a_pass_in_one_process_says_that_the_canary_ran(judge: Any) -> None:
    (verdict,) = (await judge(AREA, PATCHES + "    assert area(2) == 12\n")).verdicts
    assert (verdict.status, verdict.integrity) == ("passed", "in-process")
    assert verdict.reason.endswith("; it was run again with every answer of the program spoilt")
    (verdict,) = (await judge(AREA, FILE, ("test_area",))).verdicts
    assert (verdict.status, verdict.integrity) == ("passed", "in-process")


async def test_a_wrong_program_fails_in_one_process_without_a_canary(judge: Any) -> None:
    wrong = AREA.replace("r * r", "r")
    for tests, nodes in ((PATCHES + "    assert area(2) == 12\n", ()), (FILE, ("test_area",))):
        (verdict,) = (await judge(wrong, tests, nodes)).verdicts
        assert (verdict.status, verdict.integrity) == ("failed", "in-process")
        assert "spoilt" not in verdict.reason


async def test_objects_of_the_program_may_be_compared_with_each_other(judge: Any) -> None:
    text = AREA + (
        "class V:\n    def __init__(self, r): self.r = area(r)\n"
        "    def __eq__(self, other): return self.r == other.r\n"
        "def v(r): return V(r)\n"
    )
    (verdict,) = (await judge(text, PATCHES + "    assert v(2) == v(2) != v(3)\n")).verdicts
    assert (verdict.status, verdict.integrity) == ("passed", "in-process")


async def test_a_test_that_any_answer_passes_is_not_believed(judge: Any) -> None:
    (verdict,) = (await judge(AREA, PATCHES + "    area(2)\n    assert True\n")).verdicts
    assert (verdict.status, verdict.integrity) == ("error", "in-process")
    assert "spoilt answers" in verdict.message


async def test_a_skip_in_one_process_is_no_pass(judge: Any) -> None:
    skips = "import pytest\n"
    for skip, status in (
        ("@pytest.mark.skip\n", []), ("@pytest.mark.skipif('True', reason='x')\n", ["failed"]),
        ("@pytest.mark.xfail(run=False)\n", ["failed"]),
    ):
        code = skips + FILE.replace("def test_area", skip + "def test_area")
        report = await judge(AREA, code, ("test_area",))
        assert [verdict.status for verdict in report.verdicts] == status


ALWAYS_EQUAL = '''
class E{base}:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __gt__ = __le__ = __ge__ = __contains__ = __lt__
    def __hash__(self): return 12
    def __sub__(self, other): return 0
    __rsub__ = __abs__ = __round__ = lambda self, *a: 0
'''
FORGERIES = {
    "equal to everything": ALWAYS_EQUAL.format(base="") + "def area(r): return E()\n",
    "an equal float": ALWAYS_EQUAL.format(base="(float)") + "def area(r): return E(0)\n",
    "a class made by type": (
        "def area(r):\n    return type('E', (), {'__eq__': lambda *a: True, '__hash__': None,\n"
        "        '__sub__': lambda *a: 0, '__lt__': lambda *a: True})()\n"
    ),
    "an equal class": (
        "class M(type):\n    def __eq__(cls, other): return True\n    __hash__ = None\n"
        "    def __sub__(cls, other): return 0\n"
        "class C(metaclass=M): pass\ndef area(r): return C\n"
    ),
    "mock.ANY": "from unittest.mock import ANY\ndef area(r): return ANY\n",
    "a mock": (
        "from unittest.mock import MagicMock\nm = MagicMock()\n"
        "m.__eq__.side_effect = lambda other: True\nm.__sub__.return_value = 0\n"
        "def area(r): return m\n"
    ),
    "a patched runner": """
import sys
def area(r):
    for name, module in list(sys.modules.items()):
        if name.endswith('programs.running'):
            module.Room._as_module = module.Room._as_item = lambda *a: None
            module.Room.guarded = lambda self, *a: module.Run(True)
    return 0
area(1)
""",
    "a patched pytest": """
import sys
runner = sys.modules.get('_pytest.runner')
if runner is not None:
    runner.CallInfo.from_call = classmethod(
        lambda cls, func, when, reraise=None: cls(None, None, 0, 0, 0, when, _ispytest=True))
def area(r): return 0
""",
    "builtins that agree": """
import builtins
builtins.__same__ = lambda got, expected: True
builtins.abs = lambda x: 0
def area(r): return 0
""",
    "an assert that is none": """
import builtins, sys
class AssertionError(Exception): pass
def area(r):
    frame = sys._getframe(1)
    frame.f_globals['__same__'] = lambda *a: True
    return 12.0 if False else 0
""",
    "an exit": "import os\ndef area(r): os._exit(0)\n",
    "sys.exit": "import sys\ndef area(r): sys.exit(0)\n",
    "a skip": "import unittest\ndef area(r): raise unittest.SkipTest\n",
    "pytest's skip": "import pytest\ndef area(r): pytest.skip('no')\n",
    "pytest's exit": "import pytest\ndef area(r): pytest.exit('no', returncode=0)\n",
    "a message of its own": """
import sys
jail = sys.modules['__jail__'].jail
jail.send({"runs": [[True, False, "", "", None, 1, []]], "output": None})
def area(r): return 0
""",
    "a message in the call": """
import os, sys
def area(r):
    sys.modules['__jail__'].jail.send({"runs": [[True, False, "", "", None, 1, []]], "output": ""})
    os._exit(0)
""",
}


@pytest.mark.parametrize("attack", FORGERIES)
async def test_a_forgery_in_one_process_is_not_believed(attack: str, judge: Any) -> None:
    snippets = {
        "equal": PATCHES + "    assert area(2) == 12\n",
        "near": PATCHES + "    assert abs(area(2) - 12) < 1e-9\n",
    }
    for tests, nodes in ((snippets, ()), (FILE, ("test_area",))):
        report = await judge("import math\n" + FORGERIES[attack], tests, nodes, wall_s=1.0)
        assert [(v.name, v.message) for v in report.verdicts if v.passed] == []
        assert not report.passed
