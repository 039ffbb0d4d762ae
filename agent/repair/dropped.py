"""Calls that a repair no longer makes. What they did, a test of answers does not see."""

from __future__ import annotations

import ast
import difflib
from collections import Counter
from collections.abc import Iterator

from agent.repair.program import BUILTINS, Function
from agent.trees import parse

MISSPELT = 0.7
"""From so much likeness on, a name that is called now is taken for one that was called before."""


def dropped_calls(before: str, after: str) -> tuple[str, ...]:
    """What `before` calls for its effect, or by a name of its own, and `after` does not call, in
    the order of the text; nothing where one of them does not parse."""
    try:
        old, new = parse(before), parse(after)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    made, still = Counter(_effects(old)), Counter(_effects(new))
    named, named_still = dict.fromkeys(_named(old)), set(_named(new))
    lost = [*(made - still), *(name for name in named if name not in named_still)]
    fresh = [*(still - made), *(name for name in named_still if name not in named)]
    return tuple(dict.fromkeys(
        name for name in lost
        if not any(_ratio(name, other) >= MISSPELT for other in fresh)
    ))


def _effects(tree: ast.AST) -> Iterator[str]:
    """What statements call without using what it gives, but for methods of a local value: what
    becomes of that shows in the answers."""
    pending: list[tuple[ast.AST, frozenset[str]]] = [(tree, frozenset())]
    while pending:
        node, local = pending.pop()
        match node:
            case ast.Expr(value=ast.Call(func=func) | ast.Await(value=ast.Call(func=func))):
                name = _name(func)
                if name.partition(".")[0] not in local:
                    yield name
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                local = _assigned(node)
        pending += [(child, local) for child in reversed([*ast.iter_child_nodes(node)])]


def _named(tree: ast.AST) -> Iterator[str]:
    """Functions called by a name that is no built-in one."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name not in BUILTINS:
                yield name


def _assigned(function: Function) -> frozenset[str]:
    """Names that a function assigns, and that are not the caller's."""
    given = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        if isinstance(node, ast.Global | ast.Nonlocal):
            given.update(node.names)
    return frozenset(found - given)


def _name(node: ast.expr) -> str:
    """The name that a chain of attributes begins with, and the attributes."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
        node = node.func if isinstance(node, ast.Call) else node.value
    return ".".join([node.id if isinstance(node, ast.Name) else "", *reversed(parts)])


def _ratio(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other).ratio()
