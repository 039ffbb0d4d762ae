"""The cost of code that compiles but is unlikely to be intended."""

from __future__ import annotations

import ast
import builtins
import inspect
import symtable
import warnings
from collections.abc import Iterator
from functools import cache

from agent.core.trees import parse

_KNOWN = frozenset(dir(builtins)) | {"__file__", "__name__", "__doc__", "__path__"}
_ENDS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_NEVER_CALLED = (ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Constant, ast.JoinedStr, ast.BinOp,
         ast.Compare, ast.BoolOp, ast.ListComp)
"""Expressions that are never called."""
_WITH_EFFECT = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom)
NOT_IMPORTED, UNKNOWN = 0.2, 1.1
"""Cost of an unbound name: in the original text (its import may be missing), or new."""


def implausibility(text: str, names: frozenset[str]) -> float:
    """The cost of all implausible code in a text that compiles.

    Args:
        text: The repaired text.
        names: The names in the original text.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = parse(text)
        unbound = _unbound(symtable.symtable(text, "<text>", "exec"))
    return sum(map(_node_cost, ast.walk(tree))) + sum(
        NOT_IMPORTED if name in names else UNKNOWN for name in set(unbound) - _KNOWN
    )


def has_code(text: str) -> bool:
    """Whether a text that compiles is more than comments, constants and names; commented-out prose
    is not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        body = parse(text).body
    return any(
        not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant | ast.Name))
        and not isinstance(node, ast.Pass)
        for node in body
    )


def _unbound(table: symtable.SymbolTable) -> Iterator[str]:
    """Names that are read, and bound neither in their scope nor in the module."""
    module = {one.get_name() for one in table.get_symbols() if one.is_assigned()
              or one.is_imported()} if table.get_type() == "module" else set()
    pending = [table]
    while pending:
        inner = pending.pop()
        pending += inner.get_children()
        yield from (
            one.get_name() for one in inner.get_symbols()
            if one.is_global() or inner is table
            if one.is_referenced() and one.get_name() not in module
        )


def _node_cost(node: ast.AST) -> float:
    match node:
        case ast.Expr(value=ast.Constant(value=str())):
            return 0.15
        case ast.Expr(value=value):
            return 0.0 if isinstance(value, _WITH_EFFECT) or ast.unparse(value) == "..." else 1.6
        case ast.Call(func=func, args=args, keywords=[]):
            odd = 2.5 * isinstance(func, _NEVER_CALLED) + 0.4 * isinstance(func, ast.Call)
            return odd + 1.5 * (not _accepts_arguments(func, len(args)))
        case ast.BinOp(left=left, right=right):
            kinds = {type(side.value) for side in (left, right) if isinstance(side, ast.Constant)}
            signed = isinstance(right, ast.UnaryOp) and not isinstance(right.op, ast.Not)
            return 1.0 * (len(kinds) == 2 and str in kinds) + 0.5 * signed
        case ast.Compare(left=ast.Constant()):
            return 0.5
        case ast.Subscript(value=ast.List() | ast.Tuple()) | ast.UnaryOp(op=ast.UAdd()):
            return 1.0
        case ast.AnnAssign(value=None):
            return 1.0
        case ast.Tuple(elts=[_], ctx=ast.Load()):
            return 0.6
    body = getattr(node, "body", None)
    return 1.2 * any(isinstance(one, _ENDS) for one in body[:-1]) if isinstance(body, list) else 0.0


def _accepts_arguments(func: ast.expr, count: int) -> bool:
    """Whether a built-in function accepts `count` arguments; true if unknown."""
    signature = _signature(func.id) if isinstance(func, ast.Name) else None
    try:
        if signature is not None:
            signature.bind(*range(count))
    except TypeError:
        return False
    return True


@cache
def _signature(name: str) -> inspect.Signature | None:
    try:
        return inspect.signature(getattr(builtins, name))
    except (AttributeError, TypeError, ValueError):
        return None
