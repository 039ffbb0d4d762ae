"""A test of several cases, as a parametrized one is, taken apart into those that fail: what mends
one of them is seen to come nearer, and what only the others run is not suspected. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from agent.core.domain import Report, Script, TestCase

MAX_CASES = 12
"""A test of which more cases fail stays whole: they mostly fail alike."""


def by_case(tests: Sequence[TestCase], report: Report) -> tuple[tuple[TestCase, ...], Report]:
    """The tests with each failing case as a test of its own, those that do not fail after them as
    one, and the report of them."""
    taken: list[TestCase] = []
    apart: set[str] = set()
    for test in tests:
        names = [one.name for one in report.verdicts if one.test == test.name]
        failing = [one.name for one in report.failing if one.test == test.name]
        if not isinstance(test, Script) or not test.node or not (
            0 < len(failing) <= MAX_CASES and len(names) > 1
        ):
            taken.append(test)
            continue
        taken += [test.model_copy(update={"name": one, "node": one}) for one in failing]
        if len(failing) < len(names):
            taken.append(test.model_copy(update={"without": (*test.without, *failing)}))
        apart.update(failing)
    return tuple(taken), report.model_copy(update={"verdicts": tuple(
        one.model_copy(update={"test": one.name}) if one.name in apart else one
        for one in report.verdicts
    )})
