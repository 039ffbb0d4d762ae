"""What is true or false by its text alone, whatever the program does."""

from __future__ import annotations

import ast
import operator
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from agent.intake.effects import may_keep_state
from agent.intake.parsing import Definition, is_function, names_in, statements_of, toplevel
from agent.trees import is_literal

_OPERATORS: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}
_WITH_ITSELF: Mapping[type[ast.cmpop], bool] = {
    ast.Eq: True, ast.LtE: True, ast.GtE: True, ast.NotEq: False, ast.Lt: False, ast.Gt: False,
}
_CHANGING = frozenset({
    "asyncio", "datetime", "itertools", "os", "random", "secrets", "socket", "sys", "threading",
    "time", "uuid",
})
"""Modules by which a function may answer otherwise the next time."""


@lru_cache(maxsize=8)
def answering_alike(program: str) -> frozenset[str]:
    """Functions of the program that give equal answers to equal calls: it has no classes, which
    may say what is equal, keeps nothing between calls and knows neither chance nor time."""
    if may_keep_state(program):
        return frozenset()
    body = statements_of(program)
    modules = {
        name.partition(".")[0] for node in body for one in ast.walk(node)
        for name in (
            [alias.name for alias in one.names] if isinstance(one, ast.Import)
            else [one.module or ""] if isinstance(one, ast.ImportFrom) else []
        )
    }
    if modules & _CHANGING:
        return frozenset()
    return frozenset(
        node.name for node in toplevel(body)
        if isinstance(node, ast.FunctionDef) and is_function(node) and not any(
            isinstance(one, ast.Yield | ast.YieldFrom | ast.Lambda | ast.GeneratorExp)
            for one in ast.walk(node)
        ) and not node.decorator_list and "input" not in names_in(node).reads
    )


def truth(node: ast.expr, program: str) -> bool | None:
    """Whether an expression is true; `None` where that depends on what the program does."""
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Set(elts=parts):
            return bool(parts)
        case ast.Dict(keys=keys):
            return bool(keys)
        case ast.Lambda() | ast.GeneratorExp():
            return True
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            known = truth(inner, program)
            return None if known is None else not known
        case ast.BoolOp(op=kind, values=values):
            deciding = isinstance(kind, ast.Or)
            found = [truth(one, program) for one in values]
            if deciding in found:
                return deciding
            return None if None in found else not deciding
        case ast.NamedExpr(value=value):
            return truth(value, program)
        case ast.Call(func=ast.Name("callable"), args=[ast.Name(id=name)], keywords=[]):
            return True if name in _defined(program) else None
        case ast.Compare(left=left, ops=[kind], comparators=[right]):
            return _compared(left, kind, right, program)
    return bool(ast.literal_eval(node)) if is_literal(node) else None


@lru_cache(maxsize=8)
def _defined(program: str) -> frozenset[str]:
    """Names that stand for a plain function or class of the program and for nothing else."""
    body = statements_of(program)
    bound = Counter(name for node in body for name in names_in(node).binds)
    return frozenset(
        node.name for node in body
        if isinstance(node, Definition) and not node.decorator_list and bound[node.name] == 1
    )


def _compared(
    left: ast.expr, kind: ast.cmpop, right: ast.expr, program: str
) -> bool | None:
    if is_literal(left) and is_literal(right) and type(kind) in _OPERATORS:
        try:
            return bool(_OPERATORS[type(kind)](ast.literal_eval(left), ast.literal_eval(right)))
        except TypeError:
            return None
    if ast.dump(left) != ast.dump(right):
        return None
    alike = answering_alike(program)
    if not alike:
        return None
    calls = [one for one in ast.walk(left) if isinstance(one, ast.Call)]
    known = all(isinstance(one.func, ast.Name) and one.func.id in alike for one in calls)
    if not known or any(isinstance(one, ast.NamedExpr | ast.Await) for one in ast.walk(left)):
        return None
    if isinstance(kind, ast.Is | ast.IsNot):
        return None if calls else isinstance(kind, ast.Is)
    return _WITH_ITSELF.get(type(kind))
