"""Edits made from what the variables held: conditions, bounds and keys, never answers."""

from agent.repair.edits import EDITS, single_edits
from agent.repair.facts import Moment
from agent.repair.program import Program, spliced


def proposed(
    operator: str, source: str, moments: tuple[Moment, ...] = (),
) -> list[str]:
    """The texts an operator proposes, the cheapest first."""
    types = {name: frozenset({"int"}) for name in ("age", "price", "n")}
    program = Program(source, types=types, moments=moments)
    only = tuple(one for one in EDITS if one.name == operator)
    return [
        spliced(program.data, [edit.splice])
        for edit in single_edits(program, {}, operators=only)
    ]


def ages(line: int, failing: tuple[int, ...], passing: tuple[int, ...]) -> tuple[Moment, ...]:
    found = [(age, False) for age in failing] + [(age, True) for age in passing]
    return tuple(Moment(line, passed, (("age", str(age)),)) for age, passed in found)


FARE = "def fare(age):\n    if age < 6:  # small\n        return 0\n    return 10\n"


def test_a_condition_that_tells_failing_runs_apart_comes_first() -> None:
    edited = proposed("condition", FARE, ages(2, (66, 70), (3, 65)))

    assert FARE.replace("age < 6", "age < 6 or age > 65") in edited[:3]


def test_what_holds_in_failing_runs_alone_is_answered_by_a_neutral_value() -> None:
    source = "def ticket(age, base):\n    return base * 2\n"
    edited = proposed("observed case", source, ages(2, (3, 5), (6, 30)))

    assert source.replace(
        "    return base", "    if age < 6:\n        return 0\n    return base"
    ) in edited
    assert not any("return 5" in text or "return 3" in text for text in edited)


def test_a_single_failing_value_is_no_condition() -> None:
    source = "def ticket(age, base):\n    return base * 2\n"

    assert not any("age == 17" in text for text in proposed(
        "observed case", source, ages(2, (17,), (6, 30))
    ))


def test_a_key_is_one_that_the_dictionaries_have() -> None:
    source = "def oldest(people):\n    return max(people, key=lambda p: p[\"name\"])\n"
    held = (("people", "[{'name': 'a', 'age': 2}]"),)

    assert proposed("observed word", source, (Moment(2, False, held),)) == [
        source.replace('"name"', '"age"')
    ]
