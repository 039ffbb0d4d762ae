"""Step counters end endless code at the same step and change nothing else."""

from contextlib import suppress
from typing import Any

import pytest

from agent.search.precheck.programs import pieces, ticks
from agent.search.program import Program, spliced
from tests.agent.values import single_edits

ENDLESS = (
    "while True:\n    pass\n",
    "def f(n):\n    return f(n) if n < 0 else [f(n - 1), f(n - 1)]\nf(90)\n",
    "xs = [1]\nfor x in xs:\n    xs.append(x)\nwhile True: pass\n",
    "from itertools import count\nxs = [x for x in count() if x < 0]\nwhile True: pass\n",
    "f = lambda n: f(n - 1) or f(n - 1) if n else 0\nf(60)\n",
    "while True:\n    try:\n        while True:\n            pass\n"
    "    except Exception:\n        pass\n",
)


def run(text: str, limit: int) -> tuple[dict[str, Any], Any]:
    steps = ticks.StepBudget(limit)
    names = {"__tick__": steps.tick, "__ticks__": steps.ticks}
    exec(compile(text, "program.py", "exec"), names)
    return names, steps


@pytest.mark.parametrize("text", ENDLESS)
def test_endless_code_ends_when_its_steps_are_used_up(text: str) -> None:
    with pytest.raises((StopIteration, RuntimeError)):
        run(ticks.with_counters(text), 2000)


def test_the_lines_of_a_traceback_are_those_of_the_original() -> None:
    text = (
        "def f(xs):\n    # a comment\n    if not xs:\n        raise KeyError\n"
        "    for x in (\n        xs\n    ):\n        pass\n    return [y for y in xs]\n"
    )
    with_counters = ticks.with_counters(text)

    assert with_counters.count("\n") == text.count("\n")
    names, steps = run(with_counters, 100)
    assert names["f"]([1, 2]) == [1, 2]
    assert steps.used == 5


def test_only_module_level_asserts_are_disabled() -> None:
    text = "def f(x):\n    assert x\n    return x\nassert f(0), 'own test'\n"
    names, _ = run(ticks.with_counters(text), 100)

    with pytest.raises(AssertionError):
        names["f"](0)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("n > 0", "n >= 0"),
        ("n > 0", "not n"),
        ("t += n", "t -= n"),
        ("    t = 0\n", "    if not n:\n        return 0\n    t = 0\n"),
        ("range(3)", "range(4)"),
        ("    return t\n", "    return [ä for ä in (t,)][0]\n"),
        ("while n > 0", "if n > 0"),
        ("def f(n)", "def f(n, m=1)"),
    ],
)
def test_moved_splices_count_as_freshly_made_ones_do(old: str, new: str) -> None:
    base = (
        "größe = 'ä'\ndef f(n):\n    t = 0\n    while n > 0:\n        t += n\n        n -= 1\n"
        "    for i in range(3):\n        t += i\n    return t\n"
    )
    candidate = base.replace(old, new)
    moved = ticks.CounterInserter(base).text(candidate)

    try:
        code = compile(moved, "program.py", "exec")
    except SyntaxError:
        code = compile(ticks.CounterInserter(candidate).text(candidate), "program.py", "exec")
    steps = ticks.StepBudget(1000)
    names = {"__tick__": steps.tick, "__ticks__": steps.ticks}
    exec(code, names)
    fresh, fresh_steps = run(ticks.with_counters(candidate), 1000)
    try:
        expected = fresh["f"](4)
    except StopIteration:
        expected = "endless"
    try:
        got = names["f"](4)
    except StopIteration:
        got = "endless"

    assert got == expected
    # A loop's counter that stays behind where the loop became a condition counts once more.
    assert 0 <= steps.used - fresh_steps.used <= 1


LONG = (
    '"""Doc."""\nfrom __future__ import annotations\n\nimport math\nx = 1; y = 2\n\n\n'
    "def f(a: Unknown):\n    return a + 1\ndef g(a):\n    # größe\n    return f(a) * 2\n\n"
    "@property\ndef h(self):\n    return 1 / x\nz = g(x)\n"
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a + 1", "a - 1"),
        ("    return a + 1\n", "    b = a\n    return b\n"),
        ("a + 1\n", "a + 1\nw = 3\n"),
        ("z = g(x)", "z = g(y)"),
        ("z = g(x)\n", "z = g(x)"),
        ("x = 1; y = 2", "x = 3; y = 2"),
        ("import math\n", "import math\nimport os\n"),
        ("import math\n", ""),
        ("def g", "v = 0\ndef g"),
        ("    return f(a) * 2\n\n", "    return f(a) * 2\nu = 9\n\n"),
        ('"""Doc."""', '"""Other."""'),
        ("", ""),
    ],
)
def test_a_text_run_in_pieces_does_what_it_does_as_a_whole(old: str, new: str) -> None:
    candidate = LONG.replace(old, new, 1)
    whole: dict[str, Any] = {}
    exec(compile(candidate, "long.py", "exec"), whole)
    parts: dict[str, Any] = {"__tick__": lambda: True, "__ticks__": iter}
    for code in pieces.Pieces(LONG, "long.py").compiled(candidate):
        exec(code, parts)

    plain = (int, str)
    values = {name: value for name, value in whole.items() if isinstance(value, plain)}
    assert {name: value for name, value in parts.items() if isinstance(value, plain)} == values
    for name in ("f", "g"):
        assert parts[name](5) == whole[name](5)
        there = whole[name].__code__
        assert parts[name].__code__.co_firstlineno == there.co_firstlineno
    assert parts["h"].fget.__code__.co_firstlineno == whole["h"].fget.__code__.co_firstlineno


def test_pieces_refuse_what_does_not_compile() -> None:
    with pytest.raises(SyntaxError):
        pieces.Pieces(LONG, "long.py").compiled(LONG.replace("a + 1", "a +"))


def test_pieces_after_an_inserted_line_are_compiled_once() -> None:
    cut = pieces.Pieces(LONG, "long.py")
    first = cut.compiled(LONG.replace("    return a + 1\n", "    b = a\n    return b\n"))
    second = cut.compiled(LONG.replace("    return a + 1\n", "    a += 2\n    return a\n"))

    assert first[-1] is second[-1]
    assert first[0] is second[0]
    assert first != second


@pytest.mark.parametrize("new", ["while True: a += 1", "for a in iter(int, 1): pass"])
def test_an_endless_loop_in_one_piece_ends_as_it_does_in_the_whole(new: str) -> None:
    candidate = LONG.replace("    return a + 1\n", f"    {new}\n    return a\n")
    used = []
    for codes in (
        pieces.Pieces(LONG, "long.py").compiled(candidate),
        [compile(ticks.with_counters(candidate), "long.py", "exec")],
    ):
        steps = ticks.StepBudget(200)
        names: dict[str, Any] = {"__tick__": steps.tick, "__ticks__": steps.ticks}
        with suppress(StopIteration):
            for code in codes:
                exec(code, names)
        used.append((steps.used, steps.exhausted))
    assert used[0] == used[1] == (200, True)


def test_every_edit_of_a_program_compiles_with_counters() -> None:
    base = (
        "def positive(numbers, least=0):\n    count = 0\n    for one in numbers:\n"
        "        if one > least:\n            count += 1\n    return count\n\n\n"
        "def first(numbers):\n    if not numbers:\n        return None\n    return numbers[0]\n"
    )
    program = Program(base)
    spliced_base = ticks.CounterInserter(base)
    moved = 0
    for edit in single_edits(program, {}):
        candidate = spliced(program.data, [edit.splice])
        try:
            compile(candidate, "candidate", "exec")
        except SyntaxError:
            continue
        quick = spliced_base._moved(candidate.encode())
        moved += quick is not None
        compile(quick or ticks.with_counters(candidate), "counted", "exec")
    assert moved > 500
