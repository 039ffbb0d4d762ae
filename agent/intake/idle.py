"""Checks that cannot fail for where they stand: in a block that is never entered, or in one whose
failures are caught and forgotten."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from agent.intake.claims import claimed
from agent.intake.parsing import called_name, dotted, toplevel
from agent.intake.truisms import truth
from agent.trees import is_literal

_NEVER = "is never reached"
_CAUGHT = "cannot fail the test, since its failure is caught"
_CATCHING = frozenset({"AssertionError", "Exception", "BaseException"})


def in_vain(body: Sequence[ast.stmt], program: str) -> dict[int, str]:
    """Statements that check in vain, by `id`, and why they do."""
    found: dict[int, str] = {}
    for node in toplevel(body):
        for block, why in _idle_blocks(node, program):
            for inner in toplevel(block):
                # What pytest raises by itself (`fail`, `raises`) is no `Exception`.
                if why is _NEVER or isinstance(inner, ast.Assert) or claimed(inner) is not None:
                    found.setdefault(id(inner), why)
    return found


def _idle_blocks(node: ast.stmt, program: str) -> Iterator[tuple[Sequence[ast.stmt], str]]:
    match node:
        case ast.If(test=test, body=body, orelse=orelse):
            known = truth(test, program)
            if known is not None:
                yield (orelse if known else body), _NEVER
        case ast.While(test=test, body=body) if truth(test, program) is False:
            yield body, _NEVER
        case ast.For(iter=items, body=body) if _is_empty(items):
            yield body, _NEVER
        case ast.Try(body=body, handlers=handlers):
            catching = next((one for one in handlers if _catches(one.type)), None)
            if catching is not None and _forgets(catching.body):
                yield body, _CAUGHT
        case ast.With(items=items, body=body) if any(
            isinstance(one.context_expr, ast.Call)
            and called_name(one.context_expr).rpartition(".")[2] == "suppress"
            and any(_catches(kind) for kind in one.context_expr.args)
            for one in items
        ):
            yield body, _CAUGHT


def _is_empty(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and called_name(node) == "range":
        return [ast.dump(one) for one in node.args] == [ast.dump(ast.Constant(0))]
    return is_literal(node) and ast.literal_eval(node) in ([], (), {}, "")


def _catches(kind: ast.expr | None) -> bool:
    """Whether an `except` catches what a failed assert raises."""
    if isinstance(kind, ast.Tuple):
        return any(_catches(one) for one in kind.elts)
    return kind is None or dotted(kind) in _CATCHING


def _forgets(body: Sequence[ast.stmt]) -> bool:
    """Whether a handler lets the test go on as if nothing had been: it raises nothing, ends
    nothing and notes nothing."""
    return all(
        isinstance(node, ast.Pass | ast.Continue | ast.Break | ast.Return)
        or (isinstance(node, ast.Expr) and (
            isinstance(node.value, ast.Constant) or called_name(node.value) == "print"
        ))
        for node in body
    )
