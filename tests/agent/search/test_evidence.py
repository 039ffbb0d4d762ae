"""Conditions are evaluated over plain values, without running the program; guards are widened."""

from __future__ import annotations

import pytest

from agent.search.evidence import (
    FULL_USE_COST,
    HARMFUL_COST,
    NO_EFFECT_COST,
    USEFUL_COST,
    compile_condition,
    condition_values,
    cost_delta,
    sampled_snapshots,
    values_of_and,
    values_of_or,
)
from agent.search.inspection.widening import changed_conditions, dropped_guards
from agent.search.values import Snapshot


def moment(passed: bool, **values: str) -> Snapshot:
    return Snapshot(3, passed, tuple(values.items()))


AGES = (
    moment(False, age="70", name="'Ann'"), moment(False, age="66", name="'Bo'"),
    moment(True, age="30", name="'Cy'"), moment(True, age="65", name="''"),
)


@pytest.mark.parametrize(("condition", "expected"), [
    ("age > 65", (True, True, False, False)),
    ("age % 10 == 0 and not name", (False, False, False, False)),
    ("name and age < 68", (False, True, True, False)),
    ("len(name) == 2", (False, True, True, False)),
    ("name[0] == 'A'", (True, False, False, None)),
    ("0 < age - 60 <= 6", (False, True, False, True)),
    ("size > 1", (None, None, None, None)),
])
def test_a_condition_is_read_at_each_moment(condition: str, expected: object) -> None:
    assert condition_values(condition, AGES) == expected


@pytest.mark.parametrize("condition", [
    "open('x')", "age.__class__", "name.format(age)", "'a' * 10 ** 10", "2 ** age", "[age][0]",
    "(lambda: age)()", "age >", "__import__('os')", "name % age",
])
def test_what_may_do_more_than_look_is_not_read(condition: str) -> None:
    assert compile_condition(condition) is None or set(condition_values(condition, AGES)) == {None}


def test_a_value_that_is_no_literal_is_unknown() -> None:
    moments = (moment(False, x="<object at 1>"), moment(False, x="__import__('os')"))
    assert condition_values("x", moments) == (None, None)


def test_a_condition_is_cheaper_if_it_separates_failing_from_passing_runs() -> None:
    never = (False,) * 4

    assert cost_delta(never, condition_values("age > 65", AGES), AGES) == FULL_USE_COST
    assert cost_delta(never, condition_values("age > 69", AGES), AGES) == USEFUL_COST
    assert cost_delta(never, condition_values("age > 100", AGES), AGES) == NO_EFFECT_COST
    assert cost_delta(never, condition_values("age > 10", AGES), AGES) == HARMFUL_COST
    assert cost_delta(never, condition_values("size > 10", AGES), AGES) == 0.0


def test_and_and_or_apply_at_each_moment() -> None:
    first, second = (True, False, None), (None, None, None)

    assert values_of_and(first, second) == (None, False, None)
    assert values_of_or(first, second) == (True, None, None)


def test_moments_of_both_outcomes_are_picked_once_each() -> None:
    many = [moment(number % 2 == 0, x=str(number // 4)) for number in range(200)]

    chosen = sampled_snapshots(many)

    assert sorted({one.passed for one in chosen}) == [False, True]
    assert len(chosen) == len(set(chosen)) == 16


GUARDED = "def root(n):\n    if n < 0:\n        raise ValueError(n)\n    return n ** 0.5\n"


def test_a_changed_condition_has_the_texts_with_true_and_false() -> None:
    (changed,) = changed_conditions(GUARDED.replace("< 0", "> 0"), GUARDED)
    assert (changed.condition, "if True:" in changed.always, "if False:" in changed.never) == (
        "n < 0", True, True
    )


def test_each_operand_that_was_changed_is_a_condition_of_its_own() -> None:
    before = "def leap(y):\n    return y % 4 == 0 and y % 100 == 0\n"
    after = before.replace("100 ==", "100 !=")
    assert [one.condition for one in changed_conditions(before, after)] == ["y % 100 != 0"]


def test_a_guard_that_is_deleted_or_never_come_to_is_gone() -> None:
    deleted = "def root(n):\n    return n ** 0.5\n"
    behind = GUARDED.replace("def root(n):\n", "def root(n):\n    return n ** 0.5\n")
    assert dropped_guards(GUARDED, deleted) == ("if n < 0",)
    assert dropped_guards(GUARDED, behind) == ("if n < 0",)


def test_a_guard_in_another_form_is_not_gone() -> None:
    assert dropped_guards(GUARDED, GUARDED.replace("n < 0", "n <= 0")) == ()
