"""Exceptions that a program raises or expects and nothing defines: the check fails by itself."""

from __future__ import annotations

import ast

from agent.repair.program import BUILTINS, Function
from agent.trees import parse

FROM_OUTSIDE = frozenset({"globals", "exec", "vars", "setattr", "locals"})
"""Whoever calls one of these may define names that stand nowhere."""


def undefined_exceptions(text: str) -> tuple[str, ...]:
    """Names that are raised or expected and bound nowhere in the text, in its order; none where it
    does not parse, or where names may come from elsewhere."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    read: set[str] = set()
    meant: dict[str, None] = {}
    bound: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Raise(exc=ast.Name(id=name) | ast.Call(func=ast.Name(id=name))):
                meant[name] = None
            case ast.Name(id=name, ctx=ast.Load()):
                read.add(name)
            case ast.Name(id=name) | ast.ExceptHandler(name=str(name)) | ast.arg(arg=name):
                bound.add(name)
            case ast.ClassDef(name=name) | ast.MatchAs(name=str(name)):
                bound.add(name)
            case ast.MatchStar(name=str(name)):
                bound.add(name)
            case ast.MatchMapping(rest=str(name)):
                bound.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                bound.update(names)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                if any(one.name == "*" for one in aliases):
                    return ()
                bound.update((one.asname or one.name).partition(".")[0] for one in aliases)
        if isinstance(node, Function):
            bound.add(node.name)
        if isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Name):
            meant[node.type.id] = None
    if FROM_OUTSIDE & read:
        return ()
    return tuple(name for name in meant if name not in bound | BUILTINS)
