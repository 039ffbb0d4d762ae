"""What a function is given or works out and nothing reads: an answer that ought to hang on it
does not."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from agent.repair.program import Function
from agent.trees import parse

FROM_OUTSIDE = frozenset({"locals", "vars", "eval", "exec", "super"})
"""Whoever calls one of these may read any name."""
MAKERS = frozenset({"__init__", "__new__", "__call__"})
"""Of the methods that Python calls, those whose parameters nobody prescribes."""


def unread_names(before: str, after: str) -> tuple[str, ...]:
    """Parameters and plain variables that their function never reads, in the order of `after`: in
    those functions and classes of a module that `before` does not have so; none where one of them
    does not parse. A function that does nothing, one whose parameters somebody else may prescribe,
    and names that begin with `_` are left out."""
    try:
        old, new = parse(before), parse(after)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    known = {ast.dump(node) for node in old.body}
    changed = [node for node in new.body if ast.dump(node) not in known]
    return tuple(dict.fromkeys(
        name
        for function, is_method in _functions(changed)
        if not _is_prescribed(function)
        for name in _unread(function, is_method)
    ))


def _functions(statements: Iterable[ast.stmt]) -> Iterator[tuple[Function, bool]]:
    """Functions of a module, and methods of a class that has no parent; whether it is one."""
    for node in statements:
        if isinstance(node, Function):
            yield node, False
        elif isinstance(node, ast.ClassDef) and not node.bases:
            yield from ((one, True) for one in node.body if isinstance(one, Function))


def _is_prescribed(function: Function) -> bool:
    is_protocol = function.name.startswith("__") and function.name not in MAKERS
    does_nothing = all(
        isinstance(one, ast.Pass | ast.Raise | ast.Expr) for one in function.body
    )
    return bool(function.decorator_list) or is_protocol or does_nothing


def _unread(function: Function, is_method: bool) -> Iterator[str]:
    own = function.args
    given = [one.arg for one in (*own.posonlyargs, *own.args, *own.kwonlyargs)][is_method:]
    read: set[str] = set()
    made: list[str] = []
    for node in (inner for statement in function.body for inner in ast.walk(statement)):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AugAssign(target=ast.Name(id=name)):
                made.append(name)
            case ast.Name(id=name, ctx=ast.Load() | ast.Del()):
                read.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                read.update(names)
    if not FROM_OUTSIDE & read:
        yield from (name for name in (*given, *made) if name not in read and name[0] != "_")
