"""Splits parametrized tests into their failing cases.

A candidate that repairs one case then counts as progress, and the lines of passing cases are not
suspicious.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.core.domain import Report, Script, TestCase

MAX_CASES = 12
"""A test with more failing cases is not split: they mostly fail for the same reason."""


def split_into_cases(
    tests: Sequence[TestCase], report: Report
) -> tuple[tuple[TestCase, ...], Report]:
    """Splits each test with several cases into its failing cases and one test of all others.

    Returns:
        The tests, and the report with their names.
    """
    found: list[TestCase] = []
    split: set[str] = set()
    for test in tests:
        names = [one.name for one in report.verdicts if one.test == test.name]
        failing = [one.name for one in report.failing if one.test == test.name]
        if not isinstance(test, Script) or not test.node or not (
            0 < len(failing) <= MAX_CASES and len(names) > 1
        ):
            found.append(test)
            continue
        found += [test.model_copy(update={"name": one, "node": one}) for one in failing]
        if len(failing) < len(names):
            found.append(
                test.model_copy(update={"excluded_nodes": (*test.excluded_nodes, *failing)})
            )
        split.update(failing)
    return tuple(found), report.model_copy(update={"verdicts": tuple(
        one.model_copy(update={"test": one.name}) if one.name in split else one
        for one in report.verdicts
    )})
