"""Screening: many candidates in one child, whatever they do; and one watched run."""

from collections.abc import Sequence

import pytest

from agent.core.domain import Example, File, Property, Raises, Script, Solution, Task, TestCase
from agent.search.precheck.precheck import open_prechecker
from agent.search.precheck.tracing import trace
from agent.search.values import Mode, PrecheckResult
from sandbox.sandbox import open_sandbox
from tests.agent.values import program

BASE = (
    "def triple(n):\n    total = 0\n    while n > 0:\n        total += 2\n        n -= 1\n"
    "    return total\n"
)
HEALED = BASE.replace("+= 2", "+= 3")
TESTS: tuple[TestCase, ...] = (
    Example(name="two", origin="user", call="triple(2)", expected="6"),
    Script(name="zero", origin="user", code="from shop import triple\nassert triple(0) == 0"),
    Property(name="type", origin="user", call="triple(1)", predicate="isinstance(result, int)"),
    Raises(name="text", origin="user", call="triple('a')", exception="TypeError"),
)


async def screened(
    texts: Sequence[str], tests: Sequence[TestCase] = TESTS, *, base: str = BASE,
    mode: Mode = "full", task: Task | None = None,
) -> list[PrecheckResult]:
    found: dict[int, PrecheckResult] = {}
    async with open_prechecker(task or Task(), program(base), tests, open_sandbox()) as screener:
        async for index, one in screener.precheck(texts, mode=mode):
            found[index] = one
    return [found[index] for index in range(len(texts))]


async def test_each_candidate_has_a_result_for_each_test() -> None:
    base, healed, broken = await screened([BASE, HEALED, "def triple(:\n"])

    assert base.passed == (False, True, True, True)
    assert base.outcome == "failed"
    assert base.exception == "AssertionError"
    assert healed == PrecheckResult((True, True, True, True), "ok", similarity=(0.0,) * 4)
    assert broken.outcome == "syntax"


async def test_a_candidate_that_exits_with_success_is_tested() -> None:
    well, badly = await screened([f"{HEALED}raise SystemExit\n", f"{HEALED}raise SystemExit(1)\n"])

    assert well.passed == (True, True, True, True)
    assert (badly.passed, badly.exception) == ((False,) * 4, "SystemExit")


async def test_importing_the_program_adds_no_packages_to_the_jail() -> None:
    needs_ours = "import pytest\n" + HEALED

    (alone,) = await screened([needs_ours], [TESTS[1]])

    assert (alone.passed, alone.exception) == ((False,), "ModuleNotFoundError")


async def test_early_mode_stops_at_the_first_failure() -> None:
    (base,) = await screened([BASE], mode="early")

    assert base.passed == (False, None, None, None)


async def test_hanging_and_crashing_candidates_do_not_stop_the_others() -> None:
    hangs = BASE.replace("n -= 1", "n += 1")
    swallows = BASE.replace(
        "        n -= 1\n", "        try:\n            n += 1\n        except BaseException:\n"
        "            pass\n"
    )
    dies = "import os\nos._exit(3)\n"
    stuck = "sum(range(10 ** 12))\n"
    leaves = "raise SystemExit\n"
    results = await screened([hangs, swallows, dies, stuck, leaves, HEALED])

    assert [one.outcome for one in results] == [
        "timeout", "timeout", "lost", "lost", "failed", "ok"
    ]


async def test_a_candidate_that_repeats_a_state_is_endless() -> None:
    stands, counts = BASE.replace("        n -= 1\n", ""), BASE.replace("n -= 1", "n += 1")
    tests = [Script(name="two", origin="user", code="assert triple(2) == 6")]

    found = await screened([stands, counts], tests)

    assert [one.outcome for one in found] == ["endless", "timeout"]


async def test_loops_are_not_watched_if_the_base_has_hidden_state() -> None:
    base = (
        "def up():\n    up.n = getattr(up, 'n', 0) + 1\n    return up.n\n"
        "def f(x):\n    while up() < 40:\n        pass\n    return x\n"
    )
    tests = [Script(name="one", origin="user", code="assert f(1) == 1")]
    seen = []
    for text in (base, BASE):
        async with open_prechecker(Task(), program(text), tests, open_sandbox()) as screener:
            seen.append(await screener.baseline())

    assert [(one.has_hidden_state, one.watch_at > 0) for one in seen] == [
        (True, False), (False, True),
    ]


async def test_candidates_do_not_see_changes_of_earlier_ones() -> None:
    dirty = "import builtins, sys\ntriple = None\nsys.modules['shop'].triple = 1\n" + HEALED
    first, second = await screened([dirty, BASE])

    assert first.outcome == "ok"
    assert second.passed == (False, True, True, True)


async def test_each_test_has_a_new_module() -> None:
    base = "seen = []\ndef f(x):\n    seen.append(x)\n    return len(seen)\n"
    tests = [Script(name=n, origin="user", code="assert f(1) == 1") for n in ("a", "b")]
    (one,) = await screened([base], tests, base=base)

    assert one.passed == (True, True)


async def test_equal_values_of_different_types_are_recorded() -> None:
    tests = [Example(name="t", origin="user", call="f()", expected="True")]
    (one,) = await screened(["def f():\n    return 1\n"], tests)

    assert (one.outcome, one.types) == ("ok", ("int/bool",))


async def test_a_test_of_the_output_reads_what_the_program_printed() -> None:
    base = "import sys\nprint(sys.argv[1], input())\nif __name__ == '__main__':\n    print('end')\n"
    test = Script(
        name="o", origin="user", uses_output=True, code="assert output == 'a b\\nend\\n'"
    )
    (one,) = await screened([base], [test], base=base, task=Task(stdin="b\n", argv=("a",)))

    assert one.outcome == "ok"


async def test_without_tests_a_program_must_not_crash_and_keep_its_output() -> None:
    base = "print('before')\nprint(1 / 0)\n"
    quiet = "x = 1\n"
    ends = "print('before')\nprint(1)\n"
    leaves = "import sys\nprint('before')\nsys.exit(1)\n"
    results = await screened([base, quiet, ends, leaves], [], base=base)

    assert [one.passed for one in results] == [(False,), (False,), (True,), (True,)]


async def test_nodes_of_a_pytest_file_are_collected_once_and_run_for_each_candidate() -> None:
    file = (
        "import pytest\nfrom shop import triple as t\n\n"
        "@pytest.fixture\ndef two():\n    return 2\n\n"
        "@pytest.mark.parametrize('n', [1, 2])\ndef test_plain(n):\n    assert t(n) == 3 * n\n\n"
        "def test_fixture(two, tmp_path, capsys):\n    print(t(two))\n"
        "    assert capsys.readouterr().out == '6\\n'\n\n"
        "class TestAll:\n    def test_zero(self):\n        assert t(0) == 0\n"
    )
    nodes = ("test_plain", "test_fixture", "TestAll::test_zero")
    tests = [Script(name=node, origin="user", code=file, node=node) for node in nodes]
    base, healed = await screened([BASE, HEALED], tests)

    assert base.passed == (False, False, True)
    assert healed.passed == (True, True, True)


async def test_data_of_a_pytest_file_is_restored_for_each_candidate() -> None:
    base = "class Shelf:\n    size = 0\n\ndef first(names):\n    return names[1]\n"
    spoiler = base.replace("names[1]", "names.pop()")
    right = base.replace("names[1]", "names[0]").replace("size = 0", "size = 3")
    file = (
        "import pytest\nfrom shop import Shelf, first\n\n"
        "NAMES = ['ann', 'bob']\nSHELF = Shelf()\n\n"
        "def test_data():\n    assert first(NAMES) == 'ann'\n\n"
        "@pytest.mark.parametrize('names', [['ann', 'bob']])\n"
        "def test_parameter(names, tmp_path):\n    assert first(names) == 'ann'\n\n"
        "def test_object():\n    assert SHELF.size == 3\n"
    )
    nodes = ("test_data", "test_parameter", "test_object")
    tests = [Script(name=node, origin="user", code=file, node=node) for node in nodes]
    *_, healed = await screened([spoiler, spoiler, right], tests, base=base)

    assert healed.passed == (True, True, True)


@pytest.mark.parametrize("edit", ["async for", "for"])
async def test_a_loop_that_becomes_asynchronous_is_screened_as_it_runs(edit: str) -> None:
    base = (
        "import asyncio\nasync def steps():\n    yield 1\nasync def total():\n    t = 0\n"
        "    for n in steps():\n        t += n\n    return t\n"
        "def run():\n    return asyncio.run(total())\n"
    )
    test = Example(name="run", origin="user", call="run()", expected="1")
    [found] = await screened([base.replace("for n", f"{edit} n")], [test], base=base)

    assert found.passed == (edit == "async for",)


async def test_a_pytest_file_is_collected_if_the_base_does_not_compile() -> None:
    file = "from shop import triple\n\ndef test_it():\n    assert triple(1) == 3\n"
    tests = [Script(name="test_it", origin="user", code=file, node="test_it")]
    (one,) = await screened([HEALED], tests, base="def triple(n)\n    return\n")

    assert one.passed == (True,)


async def test_module_level_asserts_of_a_candidate_are_disabled() -> None:
    (one,) = await screened([HEALED + "assert triple(1) == 4\n"])

    assert one.outcome == "ok"


@pytest.mark.parametrize("package", ["", "tests/__init__.py"])
async def test_a_test_file_is_screened_where_it_lies(package: str) -> None:
    taken = "from .rows import WANT" if package else "from rows import WANT"
    test = Script(
        name="t", origin="user", node="test_t", file="tests/test_shop.py",
        code=f"{taken}\nfrom shop import triple\ndef test_t(): assert triple(1) == WANT\n",
    )
    support = [File(path="tests/rows.py", text="WANT = 3\n")]
    support += [File(path=package, text="")] if package else []

    base, healed = await screened([BASE, HEALED], [test], task=Task(support=tuple(support)))

    assert (base.passed, healed.passed) == ((False,), (True,))


async def test_the_types_of_a_parameter_include_that_of_the_argument() -> None:
    text = "def f(n=None):\n    if not n:\n        n = 2\n    return n\n"
    test = Script(name="none", origin="user", code="assert f() == 3")

    seen = await trace(program(text), [test], Task(), open_sandbox())

    assert seen.types["n"] == {"NoneType", "int"}


async def test_a_trace_shows_lines_types_and_values() -> None:
    text = "def f(xs):\n    best = None\n    for x in xs:\n        best = x / 0\n    return best\n"
    tests = [
        Script(name="empty", origin="user", code="assert f([]) is None"),
        Script(name="one", origin="user", code="assert f([7]) == 7"),
    ]
    seen = await trace(program(text), tests, Task(), open_sandbox())

    empty, one = seen.tests
    assert empty.passed and 4 not in empty.covered
    assert (one.passed, one.exception, one.line) == (False, "ZeroDivisionError", 4)
    assert 4 in one.covered
    assert dict(one.values)["x"] == "7"
    assert seen.types["xs"] == {"list"}
    assert seen.types["best"] == {"NoneType"}
    assert [dict(one.values) for one in seen.snapshots if one.line == 4] == [
        {"xs": "[7]", "best": "None", "x": "7"}
    ]


async def test_a_trace_of_an_endless_program_ends() -> None:
    seen = await trace(program("while True:\n    pass\n"), [], Task(), open_sandbox())

    assert [(one.passed, one.exception) for one in seen.tests] == [(False, "TimeoutError")]


def writes(message: str) -> str:
    """A program that finds the jail's channel and puts a message of its own there."""
    return (
        "import sys\nframe = sys._getframe()\nwhile frame:\n"
        "    jail = frame.f_locals.get('jail')\n"
        f"    if jail is not None:\n        jail.send({message})\n        break\n"
        "    frame = frame.f_back\n\ndef triple(n):\n    return 0\n"
    )


@pytest.mark.parametrize("message", [
    "{'a': 1}", "{'runs': [1]}", "{'runs': [[True, False, '', '', None, 1, []]] * 3}",
    "{'runs': [[True, False, '', '', None, 'x', []]]}", "[['ok', '1', '', '', None]]",
])
async def test_a_program_that_writes_over_our_channel_is_no_fault_of_ours(message: str) -> None:
    text = writes(message)
    (one,) = await screened([BASE], TESTS[:1], base=text)
    assert one.passed in ((None,), (False,))
    seen = await trace(program(text), TESTS[:1], Task(), open_sandbox())
    assert [(t.passed, t.message) for t in seen.tests] == [(False, "the reply made no sense")]


async def test_probes_return_values_exceptions_and_timeouts() -> None:
    base = "def f(n):\n    return 1\n"
    texts = (
        base,
        "def f(n):\n    return 10 // n\n",
        "def f(n):\n    while n > 1:\n        pass\n    return [n]\n",
        "def f(n):\n    import os\n    os._exit(0)\n",
        "f = None + 1\n",
    )
    tests = [Example(name="f", origin="user", call="f(5)", expected="2")]
    async with open_prechecker(Task(), program(base), tests, open_sandbox()) as screener:
        probed = await screener.probe(texts, ["f(0)", "f(2)"])
    assert probed.rows == (("1", "1"), ("!ZeroDivisionError", "5"), ("[0]", "~"), None, ("!", "!"))
    assert probed.steps[2][1] > probed.steps[2][0] and probed.steps[3] == ()


async def test_the_base_runs_all_tests_if_one_ends_the_process() -> None:
    base = "import os\ndef f(n):\n    if n == 0:\n        os._exit(3)\n    return n\n"
    codes = ("assert f(1) == 1", "assert f(0) == 0", "assert f(2) == 3")
    tests = [Script(name=code, origin="user", code=code) for code in codes]
    async with open_prechecker(Task(), program(base), tests, open_sandbox()) as screener:
        seen = (await screener.baseline()).results
    assert [one.outcome for one in seen] == ["ok", "lost", "failed"]
    assert [one.passed for one in seen] == [(True,), (False,), (False,)]


async def test_an_init_file_has_the_name_of_its_package() -> None:
    base = "from .rates import RATE\n\ndef due(n):\n    return n + RATE\n"
    healed = base.replace("n + RATE", "n * RATE")
    entry = "tax/__init__.py"
    test = Script(
        name="due", origin="user", node="test_due",
        code="import tax\n\ndef test_due():\n    assert tax.due(3) == 6\n",
    )
    solution = Solution(files=(File(path=entry, text=base),), entry=entry)
    task = Task(support=(File(path="tax/rates.py", text="RATE = 2\n"),))

    async with open_prechecker(task, solution, [test], open_sandbox()) as screener:
        found = [one.passed async for _, one in screener.precheck([base, healed], mode="full")]
    seen = await trace(solution, [test], task, open_sandbox())

    assert found == [(False,), (True,)]
    assert 4 in seen.tests[0].covered
