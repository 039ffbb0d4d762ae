"""Conditions that a repair has changed, and what they would be if they decided nothing.

A repair that makes a guard vacuous, turns it round or narrows it to one value lets inputs through
that were meant to be stopped; tests notice only where they take both sides of the condition and
expect different things. So each changed condition is tried as `True` and as `False`: where no test
notices one of these, nothing is known of that side.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from agent.core.trees import parse
from agent.search.program import Program, spliced

MOST = 12
"""Conditions of one repair that are tried."""
GIVING_UP = (ast.Raise, ast.Return, ast.Continue, ast.Break)


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
