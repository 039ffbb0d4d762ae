"""Changed conditions and removed guards."""

from __future__ import annotations

from agent.search.inspection.widening import changed_conditions, dropped_guards

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
