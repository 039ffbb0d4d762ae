"""What a report says beside passed and failed."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from agent.core.domain import (
    Example,
    File,
    Property,
    Raises,
    Script,
    Solution,
    Task,
    TestCase,
    Verdict,
)
from agent.verify import judge as judging
from agent.verify.judge import _unique, check
from sandbox import DENIAL_MEANINGS, SandboxUnavailable
from sandbox.jail import JailSandbox
from tests.agent.values import table

ADD = "def add(a, b):\n    return a + b\n"


def _one(text: str, path: str = "program.py") -> Solution:
    return Solution(files=(File(path=path, text=text),), entry=path)


async def test_a_failure_shows_call_expected_and_got(judge: Any) -> None:
    (verdict,) = (await judge(ADD, "for n in (1, 5):\n    assert 6 == add(n, 1) + 0")).verdicts
    assert (verdict.call, verdict.expected, verdict.got) == ("add(n, 1) + 0", "6", "2")
    (verdict,) = (await judge(ADD, "for n in (4, 9):\n    assert add(n, 1) == 5")).verdicts
    assert (verdict.call, verdict.expected, verdict.got) == ("add(9, 1)", "5", "10")
    assert verdict.message == "add(9, 1) gave 10, expected 5"

    (verdict,) = (await judge(ADD, "assert add(1, 1) > 2, 'too small'")).verdicts
    assert verdict.message == "too small: add(1, 1) gave 2, expected > 2"

    (verdict,) = (await judge("def f(): return 'x' * 10**6\n", "assert f() == 'y'")).verdicts
    assert len(verdict.got) == 2000
    assert len(verdict.message) < 600


async def test_long_texts_are_read_in_a_thread(judge: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    read: dict[str, int] = {}
    for name in ("mask", "text_indicator", "reaching_code"):
        reads = getattr(judging, name)
        monkeypatch.setattr(judging, name, partial(_noting, read, name, reads))

    report = await judge(ADD, "assert add(1, 1) == 1 + 1\n")

    assert report.passed and sorted(read) == ["mask", "reaching_code", "text_indicator"]
    assert threading.get_ident() not in read.values()


def _noting(read: dict[str, int], name: str, reads: Callable[..., Any], *given: Any) -> Any:
    read[name] = threading.get_ident()
    return reads(*given)


READING = (
    "import os\nHERE = os.path.dirname(os.path.abspath(__file__))\n\n\n"
    "def read():\n    return open(os.path.join(HERE, 'data.csv')).read()\n"
)


@pytest.mark.parametrize("test", ["assert read() == 1", "for n in (1,):\n    assert read() == n"])
async def test_a_file_is_named_as_its_user_names_it(test: str, judge: Any) -> None:
    report = await judge(READING + "\n\nif __name__ == '__main__':\n    read()\n", test)
    (verdict,) = report.verdicts
    assert "No such file or directory: 'data.csv'" in verdict.message


SIDES = {
    "assert 'x' in add('a', 'b')": "a value with 'x' in it",
    "assert 'a' not in add('a', 'b')": "a value without 'a' in it",
    "assert add('a', 'b') in ('x', 'y')": "a value in ('x', 'y')",
    "assert add('a', 'b') not in ('ab', 'y')": "a value not in ('ab', 'y')",
    "assert 'b' < add('a', 'b')": "> 'b'",
    "assert add('a', 'b') > 'b'": "> 'b'",
    "assert 'ab' != add('a', 'b')": "!= 'ab'",
}


async def test_what_is_expected_reads_from_the_side_of_the_program(judge: Any) -> None:
    report = await judge(ADD, {code: code for code in SIDES})

    assert {v.name: (v.expected, v.got, v.message) for v in report.verdicts} == {
        code: (expected, "'ab'", f"add('a', 'b') gave 'ab', expected {expected}")
        for code, expected in SIDES.items()
    }


async def test_equal_values_of_other_types_pass_and_are_marked(judge: Any) -> None:
    differs = {
        "assert add(1, 2) == 3": False, "assert add(1, 2) == 3.0": True,
        "assert [add(1, 2), 'a'] == [3.0, 'a']": True,
        "assert {'k': (add(0, 1),)} == {'k': (True,)}": True,
        "assert {add(1, 0)} == {1}": False,
    }

    report = await judge(ADD, {code: code for code in differs})

    assert report.passed
    assert {v.name: v.type_differs for v in report.verdicts} == differs


async def test_all_kinds_of_test_are_judged(jail: Any) -> None:
    text = "def parse(s):\n    import json\n    return json.loads(s)\n"
    tests = [
        Example(name="e", origin="user", call="parse('[1]')", expected="[1]"),
        Raises(name="r", origin="doctest", call="parse('{')", exception="json.JSONDecodeError"),
        Raises(name="w", origin="user", call="parse('1')", exception="ValueError"),
        Property(name="p", origin="spec", call="parse('[3, 1]')", predicate="len(result) == 2"),
    ]
    report = await check(_one(text), tests, Task(), jail)
    assert [(v.name, v.origin, v.status) for v in report.verdicts] == [
        ("e", "user", "passed"), ("r", "doctest", "passed"), ("w", "user", "failed"),
        ("p", "spec", "passed"),
    ]
    assert "did not raise ValueError" in report.verdicts[2].message


EVERYDAY = {
    "each snippet meets a fresh program": (
        "seen = []\ndef note(x):\n    seen.append(x)\n    return seen\n",
        ["assert note(1) == [1]", "assert note(2) == [2]"],
    ),
    "a name that the program rebinds is seen rebound": (
        "count = 0\ndef step():\n    global count\n    count += 1\n",
        ["step()\nstep()\nassert count == 2"],
    ),
    "a program may define what Python has built in": (
        "def sum(xs):\n    return 'mine'\n", ["assert sum([1]) == 'mine'"],
    ),
    "the user's own asserts do not run in the solution": (
        ADD + "assert add(1, 1) == 3\n", ["assert add(1, 1) == 2"],
    ),
    "the main block does not run on import": (
        ADD + "if __name__ == '__main__':\n    raise SystemExit(5)\n", ["assert add(1, 1) == 2"],
    ),
}


@pytest.mark.parametrize("what", EVERYDAY)
async def test_what_a_snippet_meets(what: str, judge: Any) -> None:
    text, snippets = EVERYDAY[what]
    assert (await judge(text, {code: code for code in snippets})).passed


@pytest.mark.parametrize("end", ["sys.exit(main())", "raise SystemExit", "exit(0)"])
async def test_a_program_that_exits_well_is_tested(end: str, judge: Any, jail: Any) -> None:
    text = f"import sys\n\ndef add(a, b):\n    return a + b\n\ndef main():\n    pass\n\n{end}\n"
    example = Example(name="e", origin="user", call="add(1, 2)", expected="3")
    reports = [
        await judge(text, "from program import add\nassert add(1, 2) + 0 == 3"),
        await check(_one(text), [example], Task(), jail),
    ]
    assert [report.passed for report in reports] == [True, True]


async def test_a_program_that_gives_up_is_an_error_in_its_words(jail: Any) -> None:
    example = Example(name="e", origin="user", call="add(1, 2)", expected="3")
    report = await check(_one(f"import sys\n{ADD}sys.exit('no')\n"), [example], Task(), jail)
    assert report.verdicts[0].message == "SystemExit: no at line 4 (program.py)"


async def test_a_dead_solution_costs_only_its_own_test(judge: Any) -> None:
    text = "import os\ndef f(x):\n    if x == 1: os._exit(7)\n    return x\n"
    report = await judge(text, {str(n): f"assert f({n}) == {n}" for n in range(3)})
    assert [v.status for v in report.verdicts] == ["passed", "error", "passed"]
    assert report.verdicts[1].message == "the program ended its process (exit code 7)"


async def test_an_error_names_its_line(judge: Any) -> None:
    (verdict,) = (await judge(ADD, "x = 1\nassert add(x, 1) == nowhere")).verdicts
    assert verdict.status == "error"
    assert verdict.message == "NameError: name 'nowhere' is not defined at line 2 of the test"

    (verdict,) = (await judge("x = 1\ndef f(:\n", "assert f() == 1")).verdicts
    assert verdict.status == "error"
    assert verdict.message.startswith("SyntaxError: invalid syntax")
    assert "at line 2 (program.py)" in verdict.message


async def test_two_tests_of_one_name_have_two_verdicts(jail: Any) -> None:
    tests = [Example(name="x", origin="user", call=f"add({n}, 1)", expected="2") for n in (1, 2)]
    report = await check(_one(ADD), tests, Task(), jail)
    assert [(v.name, v.status) for v in report.verdicts] == [("x", "passed"), ("x (2)", "failed")]


async def test_a_program_of_several_files_and_packages_is_importable(judge: Any) -> None:
    files = (
        File(path="shop/__init__.py", text=""),
        File(path="shop/prices.py", text="RATE = 2\n"),
    )
    text = (
        "from .prices import RATE\nfrom helper import up\n\n"
        "def price(x):\n    return up(x) * RATE\n"
    )
    task = Task(support=(File(path="helper.py", text="def up(x):\n    return x + 1\n"),))
    code = "import shop.prices\nfrom shop.cart import price as p\nassert p(1) == 4 == price(1)\n" \
        "assert shop.prices.RATE == 2"
    report = await judge(text, code, entry="shop/cart.py", files=files, task=task)
    assert [(v.status, v.message) for v in report.verdicts] == [("passed", "")]


PROGRAMS = table(__file__, "programs.toml")["judge"]
SHARED = PROGRAMS["shared"]
CHANGES = PROGRAMS["changes"]
DENIED = PROGRAMS["denied"]


async def test_the_output_of_the_program_is_there_for_tests_that_read_it(jail: Any) -> None:
    text = "name = input()\nprint('hello', name)\n"
    test = Script(
        name="o", origin="user", code="assert output == 'hello ann\\n'", uses_output=True
    )
    report = await check(_one(text), [test], Task(stdin="ann\n"), jail)
    assert report.verdicts[0].passed
    assert report.ending is not None
    assert (report.ending.kind, report.ending.stdout) == ("completed", "hello ann\n")


@pytest.mark.nightly
async def test_a_long_output_is_read_to_its_end_and_one_without_end_is_a_limit(jail: Any) -> None:
    def read(name: str, code: str) -> Script:
        return Script(name=name, origin="user", code=code, uses_output=True)

    tests = [read("end", "assert output.endswith('done\\n')"), read("no", "assert output == ''")]
    lines = "for n in range(30_000):\n    print(n, 'x' * 40)\nprint('done')\n"
    long = await check(_one(lines), tests, Task(), jail)
    assert [one.passed for one in long.verdicts] == [True, False]
    assert long.ending is not None
    assert (long.ending.kind, long.ending.truncated) == ("completed", True)
    assert len(long.ending.stdout) == 1_000_000
    endless = await check(_one("while True:\n    print('x' * 4_000)\n"), tests, Task(), jail)
    assert not any(one.passed for one in endless.verdicts)
    assert endless.ending is not None
    assert (endless.ending.kind, endless.ending.crashed) == ("killed", True)


USAGE = "import argparse\np = argparse.ArgumentParser('sum')\np.add_argument('n')\np.parse_args()"


@pytest.mark.parametrize(("text", "kind", "exception", "line", "code", "message"), [
    ("print('x')\n", "completed", "", None, 0, ""),
    ("def f():\n    return 1 / 0\nf()\n", "raised", "ZeroDivisionError", 2, 1,
     "division by zero"),
    ("x = 1\ninput()\n", "raised", "EOFError", 2, 1, "EOF when reading a line"),
    ("import sys\nsys.exit(4)\n", "exited", "", None, 4, ""),
    ("import sys\nsys.exit()", "exited", "", None, 0, ""),
    ("raise SystemExit('enough')\n", "exited", "", None, 1, "enough"),
    ("import os\nos._exit(6)\n", "exited", "", None, 6, ""),
    ("x = (1\n", "raised", "SyntaxError", 1, 1, "'(' was never closed (program.py, line 1)"),
    ("import sys, json\nassert __name__ == '__main__'\njson.loads('{')\n", "raised",
     "JSONDecodeError", 3, 1,
     "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
    (USAGE, "exited", "", None, 2,
     "sum: error: the following arguments are required: n"),
])
async def test_a_program_without_tests_has_an_ending(
    text: str, kind: str, exception: str, line: int | None, code: int, message: str, jail: Any
) -> None:
    ending = (await check(_one(text), [], Task(), jail)).ending
    assert ending is not None
    assert (ending.kind, ending.exception, ending.line, ending.exit_code, ending.message) == (
        kind, exception, line, code, message
    )


async def test_an_endless_program_is_a_timeout(jail: Any) -> None:
    report = await check(_one("while True: pass\n"), [], Task(), jail, wall_s=0.3)
    assert report.ending is not None
    assert report.ending.kind == "timeout"
    assert not report.passed


async def test_arguments_and_files_reach_the_program(jail: Any) -> None:
    text = "import sys\nimport helper\nprint(sys.argv[1:], helper.X)\n"
    task = Task(argv=("a", "b"), support=(File(path="helper.py", text="X = 3\n"),))
    ending = (await check(_one(text), [], task, jail)).ending
    assert ending is not None
    assert ending.stdout == "['a', 'b'] 3\n"


async def test_with_a_trusted_test_the_program_is_not_run_as_a_script(judge: Any) -> None:
    report = await judge("print(1)\n" + ADD, "assert add(1, 1) == 2")
    assert report.ending is None
    report = await judge("print(1)\n" + ADD, "assert add(1, 1) == 2", run_program=True)
    assert report.ending is not None
    assert report.ending.stdout == "1\n"


async def test_changes_of_shared_lists_are_seen_from_both_sides(judge: Any) -> None:
    (verdict,) = (await judge(SHARED, CHANGES)).verdicts
    assert (verdict.status, verdict.message) == ("passed", "")


async def test_builtins_are_pythons_unless_the_test_imports_all_names(judge: Any) -> None:
    report = await judge("def f(n): return 0\ndef abs(x): return 0\n", {
        "one name": "from program import f as g\nassert abs(g(5) - 8) < 1e-9",
        "the module": "import program as p\nassert abs(p.f(5) - 8) < 1e-9",
        "a star": "from program import *\nassert abs(f(5) - 8) < 1e-9",
    })

    assert [(v.name, v.status, v.integrity) for v in report.verdicts] == [
        ("one name", "failed", None), ("the module", "failed", None),
        ("a star", "passed", "in-process"),
    ]


@pytest.mark.parametrize(
    "entry", ["json.py", "os.py", "sys.py", "random.py", ".hidden.py", "a.b.py"]
)
async def test_a_program_may_have_any_file_name(entry: str, judge: Any) -> None:
    tests = {"right": "assert f(1) == 2", "wrong": "assert f(1) == 1"}
    report = await judge("def f(n): return n + 1", tests, entry=entry)
    assert [v.status for v in report.verdicts] == ["passed", "failed"]


async def test_a_star_import_still_tests_the_programs_own_builtin(judge: Any) -> None:
    star = "from program import *\nassert sum([1, 2]) == "
    report = await judge("def sum(values): return 4\n", {"own": star + "4", "Python's": star + "3"})
    assert [v.status for v in report.verdicts] == ["passed", "failed"]


async def test_a_program_finds_no_expected_value_in_its_own_docstrings(judge: Any) -> None:
    text = (
        "def f(n):\n"
        '    """Adds three.\n\n    >>> f(5)\n    8\n    """\n'
        "    return int((f.__doc__ or '').split('f(5)')[-1].split()[0])\n"
    )
    (verdict,) = (await judge(text, "assert f(5) == 8")).verdicts
    assert not verdict.passed


def test_names_are_keys_also_where_one_looks_like_a_number() -> None:
    verdicts = [
        Verdict(name=name, test=name, origin="user", status="passed", integrity="isolated")
        for name in ("a", "a", "a (2)")
    ]

    assert [verdict.name for verdict in _unique(verdicts)] == ["a", "a (3)", "a (2)"]


@pytest.mark.parametrize(
    ("kind", "call", "rule"),
    [
        ("example", "linked()", "network"), ("example", "started()", "processes"),
        ("example", "read()", "files"), ("example", "signalled()", "signals"),
        # What runs beside its tests is granted processes and a network of its own.
        ("script", "read()", "files"),
    ],
)
async def test_a_permission_failure_names_the_rule(kind: str, call: str, rule: str) -> None:
    sandbox = JailSandbox()
    try:
        await sandbox.isolation()
    except SandboxUnavailable as refusal:
        pytest.skip(str(refusal))
    test: TestCase = (
        Example(name="it", origin="user", call=call, expected="0") if kind == "example"
        else Script(name="it", origin="user", code=f"assert {call} == 0")
    )
    program = Solution(files=(File(path="program.py", text=DENIED),), entry="program.py")

    report = await check(program, [test], Task(), sandbox)

    (verdict,) = report.verdicts
    assert verdict.status == "error"
    assert verdict.message.endswith(DENIAL_MEANINGS[rule])


@pytest.mark.parametrize("test", [
    Example(name="it", origin="user", call="seen()", expected="True"),
    Script(name="it", origin="user", code="assert seen() is True"),
    Script(name="it", origin="user", code="assert total([1, 2]) == 3"),
    Script(name="it", origin="user", code="assert total([1, 2]) > 2"),
], ids=lambda test: test.call if isinstance(test, Example) else test.code)
async def test_a_program_that_imports_numpy_meets_it_loaded_and_is_believed(test: TestCase) -> None:
    pytest.importorskip("numpy", reason="numpy is not installed")
    sandbox = JailSandbox()
    try:
        await sandbox.isolation()
    except SandboxUnavailable as refusal:
        pytest.skip(str(refusal))
    text = (
        "import sys\nLOADED = 'numpy' in sys.modules\nimport numpy\ndef seen(): return LOADED\n"
        "def total(values): return numpy.sum(values)\n"
    )
    program = Solution(files=(File(path="program.py", text=text),), entry="program.py")
    package_folders = tuple(path for path in sys.path if path.endswith("site-packages"))

    report = await check(program, [test], Task(site_dirs=package_folders), sandbox)

    assert [verdict.is_evidence for verdict in report.verdicts] == [True], report.verdicts


async def test_without_further_checks_a_pass_is_in_process(judge: Any) -> None:
    test = "made = add([1], [2])\nassert made == [1, 2]"

    (checked,) = (await judge(ADD, test)).verdicts
    (unchecked,) = (await judge(ADD, test, verify_passes=False)).verdicts

    assert (checked.status, checked.integrity) == ("passed", "isolated")
    assert (unchecked.status, unchecked.integrity) == ("passed", "in-process")
