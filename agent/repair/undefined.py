"""Names that a program reads and nothing defines: it fails wherever it comes to one."""

from __future__ import annotations

import ast

from agent.repair.program import BUILTINS, Function

MODULE = frozenset({
    "__name__", "__file__", "__doc__", "__spec__", "__builtins__", "__package__", "__loader__",
    "__annotations__", "__class__", "__qualname__", "__module__",
})
FROM_OUTSIDE = frozenset({"globals", "exec", "vars", "setattr", "locals"})
"""Whoever calls one of these may define names that stand nowhere."""


def undefined_names(text: str) -> tuple[str, ...]:
    """Names that are read somewhere and bound nowhere in the text, in the order they are read;
    none where it does not parse, or where names may come from elsewhere."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    read: dict[str, None] = {}
    bound: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                read[name] = None
            case ast.Name(id=name) | ast.ExceptHandler(name=str(name)) | ast.arg(arg=name):
                bound.add(name)
            case ast.ClassDef(name=name) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
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
    if FROM_OUTSIDE & read.keys():
        return ()
    return tuple(name for name in read if name not in bound | BUILTINS | MODULE)
