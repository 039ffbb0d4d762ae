"""Conditions that a repair has changed, and what they would be if they decided nothing.

A repair that makes a guard vacuous, turns it round or narrows it to one value lets inputs through
that were meant to be stopped; tests notice only where they take both sides of the condition and
expect different things. So each changed condition is tried as `True` and as `False`: where no test
notices one of these, nothing is known of that side.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from agent.core.trees import parse
from agent.repair.facts import Answer, Candidate, Question, Screen, Screened
from agent.repair.program import Program, readable, spliced
from agent.repair.ranking.rank import ranked
from agent.repair.state import SearchState

MOST = 12
"""Conditions of one repair that are tried."""
GIVING_UP = (ast.Raise, ast.Return, ast.Continue, ast.Break)
LONGEST = 20_000
"""Characters of a program whose candidates' conditions are tried."""
MOST_WATCHED = 24
"""Candidates of one offer whose conditions are tried, the likeliest first."""
COMMON = frozenset({"0", "1", "-1", "2", "''", "None", "True", "False"})
"""Values that programs compare with whatever the tests are."""


def watched(
    state: SearchState, kept: Sequence[Candidate]
) -> Generator[Question, Answer, tuple[Candidate, ...]]:
    """The candidates, best first, those marked that widen what is accepted: one side of a
    condition they changed can be had for nothing, a guard is gone, or they turn on a literal of
    the tests."""
    if len(kept) < 2 or len(state.source) > LONGEST:
        return tuple(kept)
    sides = [
        (place, text)
        for place, one in enumerate(kept[:MOST_WATCHED])
        for changed in changed_conditions(state.source, one.text)
        for text in (changed.always, changed.never)
    ]
    open_sides: set[int] = set()
    if sides:
        answers = yield Screen(tuple(text for _, text in sides), "early", state.progress())
        assert isinstance(answers, tuple)
        open_sides = {
            place for (place, _), seen in zip(sides, answers, strict=True)
            if isinstance(seen, Screened) and seen.ended == "ok"
        }
    marked = tuple(
        replace(one, widens=True)
        if place in open_sides or dropped_guards(state.source, one.text)
        or turns_on_a_tests_literal(state.source, one.text, state.facts.tests) else one
        for place, one in enumerate(kept)
    )
    state.plausible.update({one.text: one for one in marked})
    return ranked(marked)


@dataclass(frozen=True)
class Changed:
    """A condition of a repair that the program as it came did not have, and the two whole texts in
    which it decides nothing."""

    condition: str
    always: str
    never: str


def changed_conditions(before: str, after: str) -> tuple[Changed, ...]:
    """The conditions of `after` that `before` does not have, each with its operands where several
    are joined; none where one of them does not parse."""
    try:
        old, new = Program(before), Program(after)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    known = Counter(_spelt(node) for node in _conditions(old))
    found = []
    for node in _conditions(new):
        spelt = _spelt(node)
        if known[spelt]:
            known[spelt] -= 1
        else:
            always, never = (
                spliced(new.data, [new.replace(node, word, 0.0)]) for word in ("True", "False")
            )
            found.append(Changed(new.code(node), always, never))
    return tuple(found[:MOST])


def dropped_guards(before: str, after: str) -> tuple[str, ...]:
    """The guards of `before` that `after` does not have in any form: an `if` that only gives up,
    an `assert`; in the order of the text. One that is never come to is there no more."""
    try:
        old, new = parse(before), parse(after)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    had, has = list(_guards(old)), list(_guards(new))
    if len(had) <= len(has):
        return ()
    left = Counter(has)
    lost = []
    for guard in had:
        if left[guard]:
            left[guard] -= 1
        else:
            lost.append(guard)
    return tuple(lost)


def turns_on_a_tests_literal(before: str, after: str, tests: Iterable[str]) -> bool:
    """Whether a changed condition compares with a value that stands in the tests and not in the
    program: such a repair may know the tests and nothing else."""
    try:
        old, new = Program(before), Program(after)
    except (SyntaxError, ValueError, RecursionError):
        return False
    known = {_spelt(node) for node in _conditions(old)}
    own = _constants(old.tree)
    compared: set[str] = set()
    for node in _conditions(new):
        if isinstance(node, ast.Compare) and _spelt(node) not in known:
            for side in (node.left, *node.comparators):
                compared |= _constants(side)
    fresh = compared - own - COMMON
    return bool(fresh) and any(fresh & _constants_of(test) for test in tests)


@lru_cache(maxsize=64)
def _constants_of(code: str) -> frozenset[str]:
    return _constants(readable(code))


def _constants(tree: ast.AST) -> frozenset[str]:
    return frozenset(
        repr(node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant)
    )


def _guards(tree: ast.AST) -> Iterator[str]:
    pending = [tree]
    while pending:
        node = pending.pop()
        match node:
            case ast.If(test=test, body=[last]) if isinstance(last, GIVING_UP):
                yield f"if {ast.unparse(test)}"
            case ast.Assert():
                yield ast.unparse(node)
        pending += reversed([*_reached(node)])


def _reached(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a node without the statements that stand behind the end of their block."""
    for _, value in ast.iter_fields(node):
        parts = value if isinstance(value, list) else [value]
        for part in parts:
            if isinstance(part, ast.AST):
                yield part
            if isinstance(part, GIVING_UP):
                break


def _conditions(program: Program) -> Iterator[ast.expr]:
    """What is asked in a program, in the order of a walk: tests of statements and of filters,
    operands joined by `and` and `or`, comparisons that are returned."""
    for node in program.nodes:
        if not isinstance(node, ast.expr) or isinstance(node, ast.Constant):
            continue
        parent = program.parents.get(node)
        joined = isinstance(node, ast.BoolOp)
        if not joined and (program.is_tested(node) or (
            isinstance(parent, ast.Assert) and node is parent.test
        )):
            yield node


def _spelt(node: ast.expr) -> str:
    return ast.unparse(node)
