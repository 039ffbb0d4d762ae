"""Each operator proposes the repair of its example in `families.toml`; edits from observed values.
"""

import re
from collections import Counter
from typing import Any

import pytest

from agent.search.edits import EDITS
from agent.search.program import Program, spliced
from agent.search.values import Crash, Snapshot
from tests.agent.values import single_edits, table

MARK = re.compile("«([^»]*)»«([^»]*)»")
ABOVE = "größe = 'ä'  # kept\n"
EARLY = 30
FAMILIES = table(__file__, "families.toml")["family"]


def proposed(operator: str, program: Program) -> list[str]:
    """The texts that an operator proposes, the cheapest first."""
    only = tuple(one for one in EDITS if one.name == operator)
    return [
        spliced(program.data, [edit.splice])
        for edit in single_edits(program, {}, operators=only)
    ]


@pytest.mark.parametrize(
    "family", FAMILIES, ids=[f"{at}-{one['operator']}" for at, one in enumerate(FAMILIES)]
)
def test_a_family_reaches_what_was_meant_early_and_keeps_the_rest(family: dict[str, Any]) -> None:
    operator, words, crash = family["operator"], family.get("words", ()), family.get("crash")
    written, meant = (ABOVE + MARK.sub(side, family["text"]) for side in (r"\1", r"\2"))
    if crash:
        members = tuple(crash.get("members", ()))
        crash = Crash(crash["exception"], crash["message"], crash["line"] + 1, members)
    types = {name: frozenset(seen) for name, seen in family.get("types", {}).items()}
    found = proposed(operator, Program(written, crash=crash, words=tuple(words), types=types))
    many = words or operator == "condition"
    assert meant in (found if many else found[:EARLY])
    if words and operator != "pattern":  # it depends on the words of the failing tests
        assert not proposed(operator, Program(written))


def test_one_connective_of_a_long_condition_is_changed() -> None:
    program = Program("def f(a, b, c):\n    return a and b and c\n")
    found = {edit.splice.text: edit.splice.cost for edit in single_edits(program, {})}

    assert found["a and b or c"] < found["a and (b or c)"]
    assert "a or b and c" in found


@pytest.mark.nightly
def test_many_variables_make_a_limited_number_of_conditions() -> None:
    names = [f"name{number}" for number in range(30)]
    body = "\n".join(f"    {name} = g({name})" for name in names)
    program = Program(f"def f({', '.join(names)}):\n{body}\n    return name0\n")
    found = single_edits(program, {})

    per_line = Counter(edit.splice.line for edit in found if edit.operator == "guard")
    assert max(per_line.values()) <= 1_000


def test_a_condition_that_tells_failing_runs_apart_comes_first() -> None:
    fare = "def fare(age, old):\n    if age < 6:  # small\n        return 0\n    return 10\n"
    moments = tuple(
        Snapshot(2, not old, (("age", str(age)), ("old", str(old))))
        for age, old in ((66, True), (70, True), (3, False), (65, False))
    )
    edited = proposed("condition", Program(fare, moments=moments))

    assert fare.replace("age < 6", "age < 6 or old") in edited[:3]


def test_a_key_is_replaced_by_one_that_the_dictionaries_have() -> None:
    source = "def oldest(people):\n    return max(people, key=lambda p: p[\"name\"])\n"
    held = (("people", "[{'name': 'a', 'age': 2}]"),)

    program = Program(source, moments=(Snapshot(2, False, held),))
    assert proposed("observed word", program) == [source.replace('"name"', '"age"')]
