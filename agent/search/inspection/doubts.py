"""Finds signs of a wrong repair: dropped calls, unused names, and fields that the program's own
comparisons no longer compare."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher

from agent.core.trees import nodes_or_empty, parse
from agent.search.program import BUILTINS, Function, parameters

RENAMED_SIMILARITY = 0.7
"""The similarity of names from which a new call counts as the dropped call under a new name."""
ANY_NAME_READERS = frozenset({"locals", "vars", "eval", "exec", "super"})
"""A caller of one of these may read any name."""
FREE_SIGNATURES = frozenset({"__init__", "__new__", "__call__"})
"""Special methods with arbitrary parameters."""
COMPARISONS = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"})


def dropped_calls(before: str, after: str) -> tuple[str, ...]:
    """The calls of `before` that `after` lacks, in the order of the text.

    Compares calls whose result is unused, and calls of functions by name. Empty if one of the
    texts does not parse.
    """
    try:
        old, new = parse(before), parse(after)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    old_calls, new_calls = Counter(_effects(old)), Counter(_effects(new))
    # A method that is now called on a local value is still called.
    local = Counter(_effects(new, with_local=True)) - new_calls
    local -= Counter(_effects(old, with_local=True)) - old_calls
    old_names, new_names = dict.fromkeys(_named(old)), set(_named(new))
    dropped = [*(old_calls - new_calls - local), *(x for x in old_names if x not in new_names)]
    added = [*(new_calls - old_calls), *(x for x in new_names if x not in old_names)]
    return tuple(dict.fromkeys(
        name for name in dropped
        if not any(SequenceMatcher(None, name, one).ratio() >= RENAMED_SIMILARITY for one in added)
    ))


def calls(text: str, name: str) -> bool:
    """Whether a text contains a call by that name, which is written as by `dropped_calls`."""
    return any(
        isinstance(node, ast.Call) and _name(node.func) == name for node in nodes_or_empty(text)
    )


def unread_names(before: str, after: str) -> tuple[str, ...]:
    """Parameters, variables and inner functions that are never read, in the order of `after`.

    Only functions and classes that `before` does not contain unchanged are checked; functions that
    do nothing, functions with prescribed parameters, and names with a leading `_` are left out.
    Empty if one of the texts does not parse.
    """
    try:
        old, new = parse(before), parse(after)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    known = {ast.dump(node) for node in old.body}
    changed = [node for node in new.body if ast.dump(node) not in known]
    return tuple(dict.fromkeys(
        name
        for function, is_method in _functions(changed)
        if not _has_fixed_signature(function)
        for name in _unread(function, is_method)
    ))


def ignored_fields(before: str, after: str) -> tuple[str, ...]:
    """Fields that objects of the program no longer compare after a repair.

    Tests that compare such objects then pass for the wrong reason.
    """
    old, new = _comparisons(before), _comparisons(after)
    return tuple(
        field for name in old.keys() & new.keys() for field in sorted(old[name] - new[name])
    )


def _comparisons(text: str) -> dict[str, frozenset[str]]:
    """The fields that each dataclass and each comparison method of a text compares."""
    found = {}
    for node in nodes_or_empty(text):
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


def _effects(tree: ast.AST, *, with_local: bool = False) -> Iterator[str]:
    """The calls whose result is unused; calls of methods of local values only with `with_local`,
    since the answers show their effects."""
    pending: list[tuple[ast.AST, frozenset[str]]] = [(tree, frozenset())]
    while pending:
        node, local = pending.pop()
        match node:
            case ast.Expr(value=ast.Call(func=func) | ast.Await(value=ast.Call(func=func))):
                name = _name(func)
                if with_local or name.partition(".")[0] not in local:
                    yield name
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                local = _assigned(node)
        pending += [(child, local) for child in reversed([*ast.iter_child_nodes(node)])]


def _named(tree: ast.AST) -> Iterator[str]:
    """The names of called functions that are not built in."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name not in BUILTINS:
                yield name


def _assigned(function: Function) -> frozenset[str]:
    """Local variables of a function that are no parameters."""
    given = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        if isinstance(node, ast.Global | ast.Nonlocal):
            given.update(node.names)
    return frozenset(found - given)


def _name(node: ast.expr) -> str:
    """The first name of a chain of attributes, subscripts and calls, and its attributes."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
        node = node.func if isinstance(node, ast.Call) else node.value
    return ".".join([node.id if isinstance(node, ast.Name) else "", *reversed(parts)])


def _functions(statements: Iterable[ast.stmt]) -> Iterator[tuple[Function, bool]]:
    """Functions of a module, and methods of classes without bases; whether it is a method."""
    for node in statements:
        if isinstance(node, Function):
            yield node, False
        elif isinstance(node, ast.ClassDef) and not node.bases:
            yield from ((one, True) for one in node.body if isinstance(one, Function))


def _has_fixed_signature(function: Function) -> bool:
    is_protocol = function.name.startswith("__") and function.name not in FREE_SIGNATURES
    does_nothing = all(isinstance(one, ast.Pass | ast.Raise | ast.Expr) for one in function.body)
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
    if not ANY_NAME_READERS & read:
        yield from (name for name in (*given, *made) if name not in read and name[0] != "_")
