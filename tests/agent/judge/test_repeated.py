"""Which plain calls of a test are repeated in a process without it."""

from __future__ import annotations

from typing import Any

import pytest

from agent.judge.compared import repeated as repeated_calls
from agent.judge.compared.examples import answers
from agent.judge.compared.repeated import _holds_of, _repeat_of

MODULES = frozenset({"program", "solution"})
FILE = "import pytest\nimport program\nfrom program import f, g as h\nROWS = [1, 2]\n\n"


def repeated(body: str, node: str = "") -> tuple[list[str], bool] | None:
    """The calls of a snippet, or of a test of a file, with what is expected; whether these are all
    its checks."""
    code = body if not node else FILE + body
    found = _repeat_of(code, node, MODULES)
    if found is None:
        return None
    calls = [
        f"{one.call} raises {one.exception}" if one.exception
        else f"{one.call} {one.how} {one.expected!r}" for one in found.calls
    ]
    return calls, found.is_whole


@pytest.mark.parametrize(("code", "calls", "is_whole"), [
    ("assert f(1) == 2\nassert [3] == f(b=2)", ["f(1) == 2", "f(b=2) == [3]"], True),
    ("assert f(1)\nassert not f(2)\nassert f(3) is None",
     ["f(1) true None", "f(2) false None", "f(3) is None"], True),
    ("assert f(1) == 2 and f(2) == 3", ["f(1) == 2", "f(2) == 3"], True),
    ("made = f([1])\nassert made == 2\nassert made[0].x == 1",
     ["f([1]) == 2", "f([1])[0].x == 1"], True),
    ("with raises(ValueError):\n    f(1)", ["f(1) raises ValueError"], True),
    ("for n, want in [(1, 2), (3, 4)]:\n    assert f(n) == want", ["f(1) == 2", "f(3) == 4"], True),
    ("assert len(f(1)) == 2\nassert f(1) == 'ab'", ["f(1) == 'ab'"], False),
    ("f(0)\nassert f(1) == 2", [], False),
    ("rows = [2, 1]\nassert f(rows) is None\nassert rows == [1, 2]", ["f([2, 1]) is None"], False),
    ("rows = [2]\nassert f(rows) == 1\nassert f(rows) == 1", ["f([2]) == 1"], False),
    ("assert f(1) == g(2)", [], False),
    ("made = f()\nassert next(made) is None\nassert made.send(1) == 2", [], False),
    ("made = f()\nassert made.pop() == 1\nassert made.pop() == 2", ["f().pop() == 1"], False),
])
def test_the_plain_calls_of_a_snippet(code: str, calls: list[str], is_whole: bool) -> None:
    assert repeated(code) == (calls, is_whole)


@pytest.mark.parametrize(("code", "node", "expected"), [
    ("def test_a():\n    assert program.f(1) == 2 and h(2) == 3\n", "test_a",
     (["f(1) == 2", "g(2) == 3"], True)),
    ("@pytest.mark.parametrize('n, want', [(1, 2), (3, 4)])\ndef test_a(n, want):\n"
     "    assert f(n) == want\n", "test_a[1-2]", (["f(1) == 2", "f(3) == 4"], True)),
    ("class TestA(unittest.TestCase):\n    def test_b(self):\n        self.assertEqual(f(1), 2)\n"
     "        self.assertTrue(f(2))\n", "TestA::test_b", (["f(1) == 2", "f(2) true None"], True)),
    ("def test_a():\n    for n in ROWS:\n        assert f(n) == n\n", "test_a",
     (["f(1) == 1", "f(2) == 2"], True)),
    ("def test_a(tmp_path):\n    assert f(1) == 2\n", "test_a", None),
    ("@pytest.mark.skip\ndef test_a():\n    assert f(1) == 2\n", "test_a", None),
    ("program.LIMIT = 3\n\ndef test_a():\n    assert f(1) == 2\n", "test_a", None),
    ("def test_a():\n    assert mine(1) == 2\n\ndef mine(n): return f(n)\n", "test_a", ([], False)),
    ("def test_a():\n    assert f(1) == 2\n", "TestB::test_a", None),
])
def test_the_plain_calls_of_a_test_of_a_file(code: str, node: str, expected: Any) -> None:
    assert repeated(code, node) == expected


@pytest.mark.parametrize(("code", "holds"), [
    ("assert output == 'a b\\n'\nassert 'b' in output", True),
    ("assert output.strip() == 'a b'", True),
    ("assert 'c' not in output", True), ("assert 'c' in output", False),
    ("assert 'a' not in output", False), ("assert output == 'a b'", False),
    ("assert len(output) == 4", False), ("assert 'a' in f(output)", False),
    ("output = 'c'\nassert 'c' in output", False),
])
def test_checks_of_the_output_are_compared_by_the_host(code: str, holds: bool) -> None:
    assert _holds_of("a b\n", code) is holds


async def test_a_test_all_of_whose_checks_are_repeated_is_isolated(judge: Any) -> None:
    code = (
        "from program import f\n\ndef test_a():\n    assert f(1) == 2\n    assert not f(-1)\n\n"
        "def test_b(capsys):\n    assert f(1) == 2\n"
    )

    report = await judge("def f(n): return n + 1\n", code, ("test_a", "test_b"))

    assert [(one.passed, one.integrity) for one in report.verdicts] == [
        (True, "isolated"), (True, "in-process")
    ]


async def test_calls_that_come_to_no_end_alone_are_soon_given_up(
    judge: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    async def noting(subject: Any, asks: Any) -> Any:
        asked.append(len(asks))
        return await answers(subject, asks)

    monkeypatch.setattr(repeated_calls, "answers", noting)
    program = (
        "import sys\n\ndef f(n):\n    while 'pytest' not in sys.modules:\n        pass\n"
        "    return n\n"
    )
    checks = "".join(f"    assert f({n}) == {n}\n" for n in range(40))

    report = await judge(
        program, f"from program import f\n\ndef test_a():\n{checks}", ("test_a",), wall_s=0.5
    )

    assert {one.integrity for one in report.verdicts} <= {"in-process", None}
    assert asked == [40, 39]
