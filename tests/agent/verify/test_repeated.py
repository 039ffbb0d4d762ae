"""Which plain calls of a test are repeated in a process without it."""

from __future__ import annotations

from typing import Any

import pytest

from agent.core.domain import File
from agent.verify.examples import repeated as repeated_calls
from agent.verify.examples.examples import answers
from agent.verify.examples.repeated import _output_checks_hold, _read_plain_calls

MODULES = frozenset({"program", "solution"})
FILE = "import pytest\nimport program\nfrom program import f, g as h\nROWS = [1, 2]\n\n"


def repeated(body: str, node: str = "") -> tuple[list[str], bool] | None:
    """The calls of a snippet, or of a test of a file, with what is expected; whether these are all
    its checks."""
    code = body if not node else FILE + body
    found = _read_plain_calls(code, node, MODULES, (code,))
    if found is None:
        return None
    calls = [
        f"{one.call} raises {one.exception}" if one.exception
        else f"{one.call} {one.how} {one.expected!r}" for one in found.calls
    ]
    return calls, found.is_complete


@pytest.mark.parametrize(("code", "calls", "is_complete"), [
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
def test_the_plain_calls_of_a_snippet(code: str, calls: list[str], is_complete: bool) -> None:
    assert repeated(code) == (calls, is_complete)


@pytest.mark.parametrize(("code", "node", "expected"), [
    ("def test_a():\n    assert program.f(1) == 2 and h(2) == 3\n", "test_a",
     (["f(1) == 2", "g(2) == 3"], True)),
    ("@pytest.mark.parametrize('n, want', [(1, 2), (3, 4)])\ndef test_a(n, want):\n"
     "    assert f(n) == want\n", "test_a[1-2]", (["f(1) == 2"], True)),
    ("@pytest.mark.parametrize('n, want', [(1, 2), (3, 4)], ids=['1-2', '3-4'])\n"
     "def test_a(n, want):\n    assert f(n) == want\n", "test_a[1-2]",
     (["f(1) == 2", "f(3) == 4"], True)),
    ("@pytest.mark.parametrize('n', [1, 2])\n@pytest.mark.parametrize('m', ['é', True, None])\n"
     "def test_a(n, m):\n    assert f(n, m) == 1\n", "test_a[\\xe9-2]",
     (["f(2, 'é') == 1"], True)),
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


def test_a_unittest_check_with_a_keyword_is_not_repeated() -> None:
    body = "class TestA(unittest.TestCase):\n    def test_b(self):\n" \
        "        self.assertEqual(f(1), second=2)\n"
    assert repeated(body, "TestA::test_b") == ([], False)


@pytest.mark.parametrize(("code", "holds"), [
    ("assert output == 'a b\\n'\nassert 'b' in output", True),
    ("assert output.strip() == 'a b'", True),
    ("assert 'c' not in output", True), ("assert 'c' in output", False),
    ("assert 'a' not in output", False), ("assert output == 'a b'", False),
    ("assert len(output) == 4", False), ("assert 'a' in f(output)", False),
    ("output = 'c'\nassert 'c' in output", False),
])
def test_checks_of_the_output_are_compared_by_the_host(code: str, holds: bool) -> None:
    assert _output_checks_hold("a b\n", code) is holds


AT = "__import__('datetime')."


@pytest.mark.parametrize(("imported", "check", "call"), [
    ("from datetime import date", "f(date(2024, 1, 31)) == date(2024, 2, 29)",
     f"f({AT}date(2024, 1, 31)) == datetime.date(2024, 2, 29)"),
    ("import datetime as dt", "f(day=dt.date(2024, 1, 31)) == 1",
     f"f(day={AT}date(2024, 1, 31)) == 1"),
    ("import datetime", "f(1) == [datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc)]",
     "f(1) == [datetime.datetime(2024, 1, 2, 0, 0, tzinfo=datetime.timezone.utc)]"),
    ("from datetime import datetime, UTC", "f(1) == datetime(2024, 1, 2, tzinfo=UTC)",
     "f(1) == datetime.datetime(2024, 1, 2, 0, 0, tzinfo=datetime.timezone.utc)"),
    ("from datetime import timedelta as span", "f(span(hours=1)) == {1: (span(days=-1), {'a'})}",
     f"f({AT}timedelta(seconds=3600)) == {{1: (datetime.timedelta(days=-1), {{'a'}})}}"),
    ("from datetime import datetime as at, timezone as tz",
     "f(at(2024, 1, 2, tzinfo=tz.utc)) == at(2024, 1, 2)",
     f"f({AT}datetime(2024, 1, 2, 0, 0, tzinfo={AT}timezone.utc)) == "
     "datetime.datetime(2024, 1, 2, 0, 0)"),
    ("from decimal import Decimal", "f(\"Decimal('1')\", Decimal('NaN'), 'datetime.x') == 1",
     "f(\"Decimal('1')\", __import__('decimal').Decimal('NaN'), 'datetime.x') == 1"),
    ("from decimal import Decimal as D", "f(1) == D('19.00')", "f(1) == Decimal('19.00')"),
    ("from fractions import Fraction", "f(1) == Fraction(2, 4)", "f(1) == Fraction(1, 2)"),
])
def test_library_numbers_and_dates_are_literals(imported: str, check: str, call: str) -> None:
    assert repeated(f"{imported}\nassert {check}") == ([call], True)
    inside = f"def test_a():\n    assert {check}\n"
    assert repeated(f"{imported}\n{inside}", "test_a") == ([call], True)


@pytest.mark.parametrize("code", [
    "from money import Decimal\nassert f(1) == Decimal('1')",
    "from .decimal import Decimal\nassert f(1) == Decimal('1')",
    "from decimal import Decimal\nclass Decimal: pass\nassert f(1) == Decimal('1')",
    "import datetime\ndatetime.date = g\nassert f(1) == datetime.date(2024, 1, 1)",
    "assert f(1) == Decimal('1')",
    "from decimal import Decimal\nassert f(1) == Decimal('x')",
    "from decimal import Decimal\nassert f(1) == Decimal('sNaN')",
    "from datetime import date\nassert f(1) == date(2024, 2, 30)",
    "from datetime import date\nassert f(1) == date(*[2024, 2, 3])",
    "from datetime import date\nassert f(1) == date.today()",
    "from datetime import date\nassert date(2024, 1, 1) == date(2024, 1, 1)",
    "from fractions import Fraction\nassert f(1) == Fraction('1e999999999')",
    "from fractions import Fraction\nfrom decimal import Decimal\n"
    "assert f(1) == Fraction(Decimal('1e999999999'))",
    "assert f(__import__('os').getcwd()) == 1", "assert f(__import__('datetime').date) == 1",
])
def test_what_is_no_number_or_date_of_the_library_is_not_repeated(code: str) -> None:
    found = repeated(code)
    assert found is not None and found[0] == []


@pytest.mark.parametrize(("program", "calls"), [
    ("from decimal import Decimal\ndef f(Decimal): pass\n", 1),
    ("import decimal\ntry:\n    from decimal import Decimal\nexcept ImportError: pass\n", 1),
    ("from decimal import Decimal\nclass Decimal(Decimal): pass\n", 0),
    ("from decimal import Decimal\nDecimal = str\n", 0), ("from money import Decimal\n", 0),
    ("def f(", 0),
])
def test_a_snippet_sees_the_classes_that_its_program_imports(program: str, calls: int) -> None:
    code = "assert f(1) == Decimal('1')"
    found = _read_plain_calls(code, "", MODULES, (program, code))
    assert found is not None and len(found.calls) == calls


def test_a_date_that_a_call_was_given_is_not_changed_by_it() -> None:
    code = "day = date(2024, 1, 1)\nassert f(day) == 1\nassert f(day) == 1"
    found = repeated(f"from datetime import date\n{code}")
    assert found is not None and (len(found[0]), found[1]) == (2, True)


def test_numbers_are_made_of_what_a_loop_or_a_row_gives() -> None:
    head = "from decimal import Decimal as D\nimport pytest\n"
    loop = f"{head}for text, want in [('1', '2')]:\n    assert f(D(text)) == D(want)"
    row = f"{head}\n@pytest.mark.parametrize('text, want', [('1', '2')])\n" \
        "def test_a(text, want):\n    assert f(D(text)) == D(want)\n"
    call = "f(__import__('decimal').Decimal('1')) == Decimal('2')"
    assert repeated(loop.replace("import pytest\n", "")) == ([call], True)
    assert repeated(row, "test_a[1-2]") == ([call], True)


LIBRARY_TESTS = (
    "from datetime import date\nfrom decimal import Decimal\nimport pytest\n"
    "from program import due, vat\n\n"
    "@pytest.mark.parametrize('day, want', [(date(2024, 1, 31), date(2024, 2, 29))])\n"
    "def test_due(day, want):\n    assert due(day) == want\n\n"
    "def test_vat():\n    assert vat(100) == Decimal('19.00')\n"
)
LIBRARY_NODES = ("test_due[day0-want0]", "test_vat")
LIBRARY_PROGRAM = (
    "import calendar, decimal, sys\n\ndef due(day):\n"
    "    month = day.month % 12 + 1\n    last = calendar.monthrange(day.year, month)[1]\n"
    "    return day.replace(month=month, day=min(day.day, last){more})\n\n"
    "def vat(n):\n    return decimal.Decimal(n) * 19 / 100{more}\n"
)
FORGED = " - ('pytest' not in sys.modules)"


async def test_honest_numbers_and_dates_are_isolated(judge: Any) -> None:
    report = await judge(LIBRARY_PROGRAM.format(more=""), LIBRARY_TESTS, LIBRARY_NODES)

    assert [(one.passed, one.integrity) for one in report.verdicts] == [(True, "isolated")] * 2


async def test_values_that_are_right_only_under_pytest_are_not_believed(judge: Any) -> None:
    program = LIBRARY_PROGRAM.format(more=FORGED)

    report = await judge(program, LIBRARY_TESTS, LIBRARY_NODES)

    assert [
        "gave" in one.disbelieved and "__import__" not in one.disbelieved for one in report.verdicts
    ] == [
        True, True
    ]


async def test_an_own_class_of_such_a_name_is_compared_beside_its_tests(judge: Any) -> None:
    program = (
        "class Decimal(float):\n    pass\n\ndef vat(n):\n    return Decimal(n * 19 / 100)\n"
    )
    code = "from program import *\n\ndef test_a():\n    assert vat(100) == Decimal('19')\n"

    report = await judge(program, code, ("test_a",))

    assert [(one.passed, one.integrity) for one in report.verdicts] == [(True, "in-process")]


async def test_a_module_of_the_program_is_not_taken_for_the_librarys(judge: Any) -> None:
    own = File(path="decimal.py", text="class Decimal(str):\n    pass\n")
    program = "from decimal import Decimal\n\ndef f(n):\n    return Decimal(n)\n"
    code = "from decimal import Decimal\nfrom program import f\n\n" \
        "def test_a():\n    assert f('1') == Decimal('1')\n"

    report = await judge(program, code, ("test_a",), files=(own,))

    assert {one.integrity for one in report.verdicts} <= {"in-process", None}


async def test_a_snippet_with_a_number_of_the_library_is_isolated(judge: Any) -> None:
    program = "from decimal import Decimal\n\ndef half(n):\n    return Decimal(n) / 2\n"

    report = await judge(program, {"a": "assert half(1) == Decimal('0.5')"})

    assert [(one.passed, one.integrity) for one in report.verdicts] == [(True, "isolated")]


async def test_a_test_all_of_whose_checks_are_repeated_is_isolated(judge: Any) -> None:
    code = (
        "from program import f\n\ndef test_a():\n    assert f(1) == 2\n    assert not f(-1)\n\n"
        "def test_b(capsys):\n    assert f(1) == 2\n"
    )

    report = await judge("def f(n): return n + 1\n", code, ("test_a", "test_b"))

    assert [(one.passed, one.integrity) for one in report.verdicts] == [
        (True, "isolated"), (True, "in-process")
    ]


async def test_endless_calls_are_given_up_soon(judge: Any, monkeypatch: pytest.MonkeyPatch) -> None:
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
