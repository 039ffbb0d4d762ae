"""What is known of one text under repair, and all single edits of it at the search's prices."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, replace

from agent.common_ends import common_start
from agent.repair.blame import crash_of, ochiai
from agent.repair.edits import Edit, single_edits, unreached
from agent.repair.facts import Trace
from agent.repair.program import Function, Program
from agent.repair.program.blocks import deliberate_ends
from agent.repair.seen import Seen

UNTESTED = {"function": 3.0, "method": 3.0}
"""What these operators cost more where no test could tell their edits from a repair."""


@dataclass(frozen=True)
class Ground:
    """A text and what its watched runs told of it."""

    program: Program
    suspicion: Mapping[int, float]
    protected: tuple[tuple[int, int], ...]
    closed: tuple[Function, ...]
    """Functions that no failing test entered."""

    def edits(self, state: Seen, within: ast.AST | None = None) -> list[Edit]:
        """Single edits, cheapest first: those outside of closed functions, or `within` one."""
        found = single_edits(
            self.program, self.suspicion, self.protected, within=within,
            closed=frozenset() if within else frozenset(self.closed), over=state.budget.over,
        )
        if state.facts.tests:
            return found
        dearer = (
            replace(edit, cost=edit.cost + UNTESTED.get(edit.operator, 0.0)) for edit in found
        )
        return sorted(dearer, key=lambda edit: edit.cost)


def ground(state: Seen, text: str, trace: Trace) -> Ground:
    """Raises `SyntaxError`, `ValueError` or `RecursionError` where the text does not parse."""
    program = Program(
        text, types=trace.types, crash=crash_of(trace), moments=trace.moments,
        answers=trace.answers,
    )
    protected = _shifted(state.facts.protected, state.source, text)
    if not state.facts.tests:
        protected = (*protected, *deliberate_ends(program))
    suspicion = ochiai(trace)
    return Ground(program, suspicion, protected, tuple(unreached(program, suspicion)))


def _shifted(
    protected: tuple[tuple[int, int], ...], source: str, text: str
) -> tuple[tuple[int, int], ...]:
    """Protected lines of the source where they stand after an edit."""
    if not protected:
        return ()
    old, new = source.splitlines(), text.splitlines()
    same = common_start(old, new)
    shift = len(new) - len(old)
    return tuple(
        (first, last) if last <= same else (first + shift, last + shift)
        for first, last in protected
    )
