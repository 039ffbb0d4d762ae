"""Edits are small splices of the original text, at the right place, and never in protected code."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import pytest

from agent.search import edits
from agent.search.edits import EDITS, EVIDENCE_BONUS, Operator, edits_by_cost, unexecuted
from agent.search.program import Function, Program, Splice, spliced
from agent.search.program.scopes import MAX_NEARBY
from agent.search.values import Crash
from agent.search.wording import edit_in_words
from tests.agent.values import single_edits

SHOP = '''\
"""A shop.  Prices are in cents ß whole ones."""
from __future__ import annotations


class Basket:
    limit = 10

    def __init__(self, items=None):
        self.items = items or []   # (name, price)

    def add(self, name, price):
        if price < 0:
            raise ValueError(f"a price of {price} ß no")
        if len(self.items) >= self.limit: return False
        self.items.append((name, price))
        return True

    def total(self, factor=1):
        result = 0
        for _, price in self.items[1:]:
            result += price * factor
        while result > 100 and factor != 1:
            result -= 1
        return -result if factor < 0 else result


def names(basket, größe="ä"):
    return sorted({name.lower() for name, _ in basket.items if name != größe}, key=len)
'''


def texts(source: str, **known: object) -> list[str]:
    program = Program(source, **known)  # type: ignore[arg-type]
    return [spliced(program.data, [edit.splice]) for edit in single_edits(program, {})]


def test_edits_fit_into_the_text_around_them() -> None:
    program = Program("x = 'ä' + y  # größe\nz = ( 1,2 )\n")
    (plus,) = [
        edit.splice
        for edit in single_edits(program, {})
        if edit.operator == "arithmetic" and edit.splice.text == "-"
    ]

    assert spliced(program.data, [plus]) == "x = 'ä' - y  # größe\nz = ( 1,2 )\n"

    edited = texts("def f(a, b):\n    return g(a, b) * a\n")

    assert "def f(a, b):\n    return g(a + 1, b) * a\n" in edited
    assert "def f(a, b):\n    return (g(a, b) + 1) * a\n" in edited
    assert "def f(a, b):\n    return g(a, b) * a + 1\n" in edited

    source = "def f(x):\r\n    y = x + 1\r\n    z = y\r\n"
    inserted = [text for text in texts(source) if text.endswith("    return z\r\n")]

    assert "def f(x):\r\n    y = x + 1\r\n    z = y\r\n    return z\r\n" in inserted


@pytest.mark.nightly
def test_nearly_every_edit_of_a_program_still_compiles() -> None:
    edited = texts(SHOP)[::4]
    broken = []
    for text in edited:
        try:
            compile(text, "shop.py", "exec")
        except SyntaxError as error:
            broken.append(str(error))

    assert len(edited) > 500
    assert len(broken) < len(edited) / 100, broken[:5]


def test_every_edit_is_proposed_once_and_changes_something() -> None:
    program = Program(SHOP)
    edits = single_edits(program, {})
    places = [(e.splice.start, e.splice.end, e.splice.text) for e in edits]

    assert len(set(places)) == len(places)
    assert SHOP not in {spliced(program.data, [edit.splice]) for edit in edits}


def test_edits_come_in_the_order_of_their_cost() -> None:
    costs = [edit.cost for edit in single_edits(Program(SHOP), {19: 1.0, 20: 0.4})]

    assert costs == sorted(costs)


@pytest.mark.nightly
def test_the_first_edits_are_drawn_before_most_are_listed() -> None:
    asked: list[str] = []

    def noted(operator: Operator) -> Operator:
        def propose(program: Program, node: ast.AST) -> Iterator[Splice]:
            asked.append(operator.name)
            return operator.propose(program, node)

        return replace(operator, propose=propose)

    text = "\n".join(SHOP.replace("class Basket", f"class Basket{n}") for n in range(12))
    drawn = edits_by_cost(Program(text), {19: 1.0, 60: 0.5}, operators=tuple(map(noted, EDITS)))
    first = list(islice(drawn, 40))
    early = len(asked)
    rest = list(drawn)

    assert {edit.splice.line for edit in first[:10]} == {19}
    assert 2 * early < len(asked)
    # Only runtime evidence lowers a cost below the bound by which edits are ordered.
    late = [edit for edit in rest if edit.cost < first[-1].cost - EVIDENCE_BONUS]
    assert len(rest) > 10_000 and not late


def test_edits_follow_the_suspicion_of_their_line() -> None:
    program = Program("def f(a, b):\n    c = a < b\n    return a < c\n")
    edits = single_edits(program, {2: 0.0, 3: 1.0})

    assert [edit.splice.line for edit in edits if edit.splice.text == "<="] == [3, 2]

    source = "def f(xs):\n    for x in xs:\n        if x:\n            return x\n"
    edits = single_edits(Program(source), {2: 1.0, 3: 1.0, 4: 0.0})
    (last,) = [edit for edit in edits if edit.splice.text == "    return -1\n"]

    assert last.splice.line == 2


def test_protected_code_is_never_edited() -> None:
    source = "def f(x):\n    return x - 1\n\nassert f(1) == 2\n"
    program = Program(source)
    edited = [
        spliced(program.data, [edit.splice])
        for edit in single_edits(program, {}, protected=((4, 4),))
    ]

    assert edited
    assert all(text.endswith("\nassert f(1) == 2\n") for text in edited)

    source = "import sys\n\ndef f(x):\n    if x:\n        raise ValueError(x)\n    sys.exit(2)\n"
    for text in texts(source):
        try:
            tree = ast.parse(text)
        except SyntaxError:
            continue
        assert any(isinstance(node, ast.Raise) for node in ast.walk(tree)), text
        assert "exit(" in text

    source = "def f():\n    return 1\n\nif __name__ == '__main__':\n    f()\n"
    assert all("if __name__ == '__main__':" in text or "__main__" not in text
               for text in texts(source))


def test_a_reported_mistake_is_repaired_first() -> None:
    crash = Crash("NameError", "name 'lenght' is not defined", 2)
    first = texts("def f(items):\n    return lenght(items)\n", crash=crash)[0]

    assert first == "def f(items):\n    return len(items)\n"

    source = '"""Doc."""\nfrom __future__ import annotations\n\nx = math.pi\n'
    crash = Crash("NameError", "name 'math' is not defined", 4)

    assert texts(source, crash=crash)[0] == (
        '"""Doc."""\nfrom __future__ import annotations\nimport math\n\nx = math.pi\n'
    )

    source = "for i in range(len(xs) + 1):\n    print(xs[i])\n"
    crash = Crash("IndexError", "list index out of range", 2)
    edited = texts(source, crash=crash)

    bound = edited.index("for i in range(len(xs)):\n    print(xs[i])\n")
    guard = next(i for i, text in enumerate(edited) if "if i < len(xs)" in text)
    assert bound < guard

    source = "import maths\n\nprint(maths.sqrt(4), maths.pi)\n"
    crash = Crash("ModuleNotFoundError", "No module named 'maths'", 1)

    assert source.replace("maths", "math") in texts(source, crash=crash)[:5]


def test_functions_that_no_failing_test_entered_or_called_are_unreached() -> None:
    source = "".join(f"def f{n}(a):\n    return a\n" for n in range(3))
    crash = Crash("TypeError", "f1() takes 1 positional argument but 2 were given", None)
    loaded = {1: 1.0, 3: 1.0, 5: 1.0}

    def named(suspicion: dict[int, float], **known: object) -> list[str]:
        program = Program(source, **known)  # type: ignore[arg-type]
        return [one.name for one in unexecuted(program, suspicion) if isinstance(one, Function)]

    assert named({**loaded, 2: 1.0}) == ["f1", "f2"]
    assert named({**loaded, 2: 1.0}, crash=crash) == ["f2"]
    assert named({}) == []


def test_statements_that_no_failing_test_executed_are_unreached() -> None:
    program = Program(
        "def f(a):\n    if a:\n        b = 1\n        return b\n    try:\n        return 2\n"
        "    finally:\n        a = 3\n"
    )

    lines = [one.lineno for one in unexecuted(program, {2: 1.0, 5: 1.0, 6: 1.0, 8: 0.5})]
    edited = {edit.splice.line for edit in single_edits(
        program, {2: 1.0}, closed=unexecuted(program, {2: 1.0})
    )}

    assert lines == [3, 4]
    assert 2 in edited
    assert not edited & {3, 6, 8}


def test_closed_functions_and_the_rest_have_all_edits() -> None:
    program = Program("def f(a, b=[1]):\n    return a + b\n\n\ndef g(a):\n    return a - 1\n")
    first = unexecuted(program, {6: 1.0})

    open_edits = single_edits(program, {6: 1.0}, closed=frozenset(first))
    inside = single_edits(program, {6: 1.0}, within=first[0])

    assert [one.name for one in first] == ["f"]
    assert all(edit.splice.line != 2 for edit in open_edits)
    whole = {edit.splice for edit in single_edits(program, {6: 1.0})}
    assert {edit.splice for edit in (*open_edits, *inside)} == whole


def costs(source: str, crash: Crash) -> dict[str, float]:
    """The least cost of each text."""
    program = Program(source, crash=crash)
    found: dict[str, float] = {}
    for edit in single_edits(program, {}):
        found.setdefault(spliced(program.data, [edit.splice]), edit.cost)
    return found


def test_the_crash_decides_which_edit_is_cheap() -> None:
    crash = Crash("ZeroDivisionError", "division by zero", 1)

    assert not [text for text in costs("print(1/0)\n", crash) if " if " in text]
    assert "print(1/n if n else 0)\n" in costs("print(1/n)\n", crash)

    hello = costs('print(hello, "x")\n', Crash("NameError", "name 'hello' is not defined", 1))
    pritn = costs('pritn("x")\n', Crash("NameError", "name 'pritn' is not defined", 1))

    assert hello['print("hello", "x")\n'] < hello['print(help, "x")\n']
    assert pritn['print("x")\n'] == min(pritn.values())

    crash = Crash("NameError", "name 'hello' is not defined", 1)

    assert """print("x", f"{'hello'}")\n""" in costs('print("x", f"{hello}")\n', crash)

    source = 'prices = {"tea": 3}\n\n\ndef price(n):\n    return prices["tee"] * n\n'
    found = costs(source, Crash("KeyError", "'tee'", 5))

    assert min(found, key=lambda text: found[text]) == source.replace("tee", "tea")


def test_constants_are_changed_without_idle_sums() -> None:
    found = texts("def f(n):\n    return list(range(n - 1))\n")
    assert "def f(n):\n    return list(range(n))\n" in found
    assert "def f(n):\n    return list(range(n - 1 + 1))\n" not in found

    program = Program("def last(items):\n    return items[-1]\n")
    edited = {spliced(program.data, [edit.splice]) for edit in single_edits(program, {})}
    assert program.text.replace("-1", "-2") in edited
    assert not any("-1 - 1" in text or "-1 + 1" in text for text in edited)


def test_a_table_of_data_is_not_edited_entry_by_entry() -> None:
    table = ", ".join(str(number) for number in range(500))
    program = Program(f"PRIMES = [{table}]\n\n\ndef f(n):\n    return PRIMES[n] + 1\n")

    edits = single_edits(program, {})

    inside = [e for e in edits if e.splice.start > 10 and e.splice.end < len(table)]
    assert not inside
    assert 50 < len(edits) < 1_500


def test_the_edits_of_a_very_long_line_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits, "MAX_EDITS", 2_000)
    names = ";".join(f"x{n} = n + {n}" for n in range(800))
    program = Program(f"def f(n): {names}; return x2 + 1\n")

    assert 1_000 < len(single_edits(program, {1: 1.0})) <= 2_100


def test_a_suspect_deep_in_a_long_text_is_edited_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edits, "MAX_EDITS", 2_000)
    text = "".join(f"def f{n}(a, b):\n    return a + b * {n} - a\n" for n in range(150))
    text += "def f(n):\n    if n:\n        for one in n:\n            return 1\n"
    program, line = Program(text), text.count("\n")

    found = single_edits(program, {line: 1.0})

    assert "0" in {edit.splice.text for edit in found if edit.splice.line == line}


@pytest.mark.nightly
def test_many_global_values_do_not_multiply_the_edits_of_a_function() -> None:
    function = "def target(a, b):\n    if b > 3:\n        a += b\n    return a\n"

    def inside(count: int) -> int:
        text = "".join(f"OPTION_{n} = {n}\n" for n in range(count)) + function
        program = Program(text)
        return sum(edit.splice.line > count for edit in single_edits(program, {}))

    assert inside(200) < 2 * inside(5)


MANY = 700
LINE = "def f(x):\n    " + "; ".join(f"v{n}=x-{n}" for n in range(MANY)) + "; return v3-v5\n"
RIGHT = LINE.replace("return v3-v5", "return v3+v5")


def test_of_very_many_variables_parameters_and_the_nearest_are_used() -> None:
    program = Program(LINE)
    (function,) = program.defined
    names = program.variables(function.body[350])
    assert len(names) <= MAX_NEARBY
    assert {"x", "v349", "v350", "v351"} <= {*names}
    assert "v600" not in names


@pytest.mark.parametrize("row", ["{n}", "[{n}, -{n}]", "('k', {{'n': {n}}})"])
def test_a_vast_table_is_no_material_and_is_no_value_to_edit(row: str) -> None:
    rows = ", ".join(row.format(n=n) for n in range(1_100))
    program = Program(f"T = [{rows}]\n\ndef pick(a):\n    return T[a] - 1\n")
    end = program.data.index(b"]\n")
    edits = single_edits(program, {1: 1.0, 4: 1.0})
    assert edits
    assert not [edit for edit in edits if 4 <= edit.splice.start < end < edit.splice.end + 2]


def test_an_edit_of_a_very_long_line_is_described_by_its_difference() -> None:
    assert edit_in_words(LINE, RIGHT) == "`v3-v5` → `v3+v5` in line 2"
    both = RIGHT.replace("v9=x-9", "v9=x+9")
    assert edit_in_words(LINE, both) == "changed several places of line 2"


def test_no_special_attribute_is_assigned_instead_of_another() -> None:
    source = "class A:\n    def f(self, n):\n        self.n = n\n        return self.__class__.m\n"
    found = texts(source)
    assert any("self.m = n" in one for one in found)
    assert not any("self.__class__ = n" in one for one in found)
