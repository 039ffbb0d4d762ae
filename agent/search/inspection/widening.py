"""Finds the conditions that a repair changed, and the guards that it removed.

A repair that weakens or inverts a guard accepts inputs that were meant to be rejected; tests notice
it only if they cover both outcomes of the condition. So each changed condition is replaced by
`True` and by `False`: if no test notices one of these mutants, that outcome is not tested.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from agent.core.trees import parse
from agent.search.inspection.dead_code import BLOCK_ENDS, reachable_children
from agent.search.program import Program, spliced

MOST = 12
"""Conditions of one repair that are returned."""


@dataclass(frozen=True)
class ChangedCondition:
    """A condition that is new in a repair, and the texts in which it is `True` and `False`."""

    condition: str
    always: str
    never: str


def changed_conditions(before: str, after: str) -> tuple[ChangedCondition, ...]:
    """The conditions of `after` that `before` does not have, operands of `and` and `or` one by one.

    Empty if one of the texts does not parse.
    """
    try:
        old, new = Program(before), Program(after)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    known = Counter(map(ast.unparse, _conditions(old)))
    found = []
    for node in _conditions(new):
        source = ast.unparse(node)
        if known[source]:
            known[source] -= 1
        else:
            always, never = (
                spliced(new.data, [new.replace(node, word, 0.0)]) for word in ("True", "False")
            )
            found.append(ChangedCondition(new.code(node), always, never))
    return tuple(found[:MOST])


def dropped_guards(before: str, after: str) -> tuple[str, ...]:
    """The reachable guards of `before` that `after` lacks, if it has fewer guards altogether.

    A guard is an `assert`, or an `if` with nothing but a `raise`, `return`, `continue` or `break`.
    """
    try:
        old, new = parse(before), parse(after)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    guards, kept = list(_guards(old)), list(_guards(new))
    if len(guards) <= len(kept):
        return ()
    left = Counter(kept)
    dropped = []
    for guard in guards:
        if left[guard]:
            left[guard] -= 1
        else:
            dropped.append(guard)
    return tuple(dropped)


def _guards(tree: ast.AST) -> Iterator[str]:
    pending = [tree]
    while pending:
        node = pending.pop()
        match node:
            case ast.If(test=test, body=[last]) if isinstance(last, BLOCK_ENDS):
                yield f"if {ast.unparse(test)}"
            case ast.Assert():
                yield ast.unparse(node)
        pending += reversed([*reachable_children(node)])


def _conditions(program: Program) -> Iterator[ast.expr]:
    """Conditions of statements and filters, operands of `and` and `or`, returned comparisons."""
    for node in program.nodes:
        if isinstance(node, ast.expr) and not isinstance(node, ast.Constant | ast.BoolOp):
            parent = program.parents.get(node)
            is_asserted = isinstance(parent, ast.Assert) and node is parent.test
            if is_asserted or program.is_condition(node):
                yield node
