"""Finds what speaks against a repair that passes: calls that it no longer makes, names that nothing
reads, and fields that the program's own comparisons no longer compare."""

from __future__ import annotations

import ast
import difflib
from collections import Counter
from collections.abc import Iterable, Iterator

from agent.core.trees import parse, readable_nodes
from agent.search.program import BUILTINS, Function, parameters

MISSPELT = 0.7
"""From so much likeness on, a name that is called now is taken for one that was called before."""
READS_UNSEEN = frozenset({"locals", "vars", "eval", "exec", "super"})
"""A caller of one of these may read any name."""
MAKERS = frozenset({"__init__", "__new__", "__call__"})
"""Of the methods that Python calls, those whose parameters nobody prescribes."""
COMPARISONS = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"})


def dropped_calls(before: str, after: str) -> tuple[str, ...]:
    """What `before` calls for its effect, or by a name of its own, and `after` does not call, in
    the order of the text; nothing where one of them does not parse."""
    try:
        old, new = parse(before), parse(after)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    made, still = Counter(_effects(old)), Counter(_effects(new))
    # What has come to be called on a value of its own is still called.
    own = Counter(_effects(new, outside=False)) - still
    own -= Counter(_effects(old, outside=False)) - made
    named, named_still = dict.fromkeys(_named(old)), set(_named(new))
    lost = [*(made - still - own), *(name for name in named if name not in named_still)]
    fresh = [*(still - made), *(name for name in named_still if name not in named)]
    return tuple(dict.fromkeys(
        name for name in lost
        if not any(_ratio(name, other) >= MISSPELT for other in fresh)
    ))


def calls(text: str, name: str) -> bool:
    """Whether a text calls something by that name, as `dropped_calls` writes it."""
    return any(
        isinstance(node, ast.Call) and _name(node.func) == name for node in readable_nodes(text)
    )


def unread_names(before: str, after: str) -> tuple[str, ...]:
    """Parameters, plain variables and inner functions that their function never reads, in the order
    of `after`: in those functions and classes of a module that `before` does not have so; none
    where one of them does not parse. A function that does nothing, one whose parameters somebody
    else may prescribe, and names that begin with `_` are left out."""
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


def ignored_fields(before: str, after: str) -> tuple[str, ...]:
    """Fields that objects of the program no longer compare after a repair.

    Tests that compare such objects then pass by the repaired code's own verdict.
    """
    old, new = _comparisons(before), _comparisons(after)
    return tuple(
        field for name in old.keys() & new.keys() for field in sorted(old[name] - new[name])
    )


def _comparisons(text: str) -> dict[str, frozenset[str]]:
    """The fields that each dataclass, and each comparing method, of a text compares."""
    found = {}
    for node in readable_nodes(text):
        if not isinstance(node, ast.ClassDef):
            continue
        found[node.name] = frozenset(
            one.target.id for one in node.body
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
            and "compare=False" not in ast.unparse(one)
        )
        found |= {
            f"{node.name}.{one.name}": frozenset(
                inner.attr for inner in ast.walk(one) if isinstance(inner, ast.Attribute)
            ) for one in node.body if isinstance(one, Function) and one.name in COMPARISONS
        }
    return found


def _effects(tree: ast.AST, *, outside: bool = True) -> Iterator[str]:
    """What statements call without using what it gives; `outside` leaves out methods of a local
    value, of which what becomes shows in the answers."""
    pending: list[tuple[ast.AST, frozenset[str]]] = [(tree, frozenset())]
    while pending:
        node, local = pending.pop()
        match node:
            case ast.Expr(value=ast.Call(func=func) | ast.Await(value=ast.Call(func=func))):
                name = _name(func)
                if not outside or name.partition(".")[0] not in local:
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
    given = parameters(function)[is_method:]
    read: set[str] = set()
    made: list[str] = []
    for node in (inner for statement in function.body for inner in ast.walk(statement)):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AugAssign(target=ast.Name(id=name)):
                made.append(name)
            case ast.FunctionDef(name=name, decorator_list=[]):
                made.append(name)
            case ast.Name(id=name, ctx=ast.Load() | ast.Del()):
                read.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                read.update(names)
    if not READS_UNSEEN & read:
        yield from (name for name in (*given, *made) if name not in read and name[0] != "_")
