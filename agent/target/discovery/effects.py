"""Determines from a text what running a piece of code may change.

In doubt the answer is that it may change something: a test with too much setup is only longer, one
with too little would be wrong.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from agent.target.parsing import (
    BUILTIN_NAMES,
    Definition,
    FunctionNode,
    arguments_of,
    called_name,
    name_usage,
    parsed,
    root_name,
    statements_of,
    toplevel,
    walk_scope,
)

MUTATING_METHODS = frozenset({
    "__next__", "add", "append", "appendleft", "clear", "discard", "extend", "extendleft",
    "get_nowait", "insert", "pop", "popitem", "popleft", "put", "remove", "reverse", "send",
    "setdefault", "sort", "update", "write",
})
_CHANGING_BUILTINS = frozenset({"next", "setattr", "delattr", "exec", "eval", "iter"})

_PLAIN_METHODS = frozenset(
    name
    for kind in (str, bytes, list, dict, set, tuple, int, float)
    for name in dir(kind)
) - MUTATING_METHODS


@lru_cache(maxsize=16)
def keeps_state(program: str) -> bool:
    """Whether earlier calls can influence later ones."""
    return any(_keeps_state(node) for node in statements_of(program))


@lru_cache(maxsize=16)
def may_keep_state(program: str) -> bool:
    """Whether the intended program may keep state between calls.

    True also for classes, and for functions that mention module-level values.
    """
    try:
        body = parsed(program).body
    except SyntaxError:
        return True
    definitions = [node for node in toplevel(body) if isinstance(node, FunctionNode)]
    classes = any(isinstance(node, ast.ClassDef) for node in toplevel(body))
    assigned = (node for node in toplevel(body) if isinstance(node, ast.Assign | ast.AnnAssign))
    values = name_usage(*assigned).binds
    mentioned = {
        one.id for node in definitions for one in ast.walk(node) if isinstance(one, ast.Name)
    }
    return classes or keeps_state(program) or bool(values & mentioned)


@lru_cache(maxsize=16)
def prints(program: str) -> bool:
    """Whether any function of the program, when called, may write to standard output."""
    functions = (
        definition
        for node in statements_of(program)
        for definition in ([node, *node.body] if isinstance(node, ast.ClassDef) else [node])
        if isinstance(definition, Definition)
    )
    return any(
        called_name(inner) in ("print", "pprint", "pprint.pprint")
        or (isinstance(inner, ast.Attribute) and inner.attr == "stdout")
        for definition in functions
        for inner in ast.walk(definition)
    )


def changed_by(node: ast.stmt) -> frozenset[str]:
    """Names that the statement binds or whose value it may change."""
    changed = set(name_usage(node).binds)
    for inner in walk_scope(node):
        if isinstance(inner, (ast.Attribute, ast.Subscript)):
            if not isinstance(inner.ctx, ast.Load):
                changed.add(root_name(inner))
        elif isinstance(inner, ast.Call):
            changed |= _changed_by_call(inner)
    return frozenset(changed - {""})


def _changed_by_call(call: ast.Call) -> set[str]:
    if isinstance(call.func, ast.Attribute) and call.func.attr in _PLAIN_METHODS:
        return set()
    name = called_name(call)
    if name in BUILTIN_NAMES and name not in _CHANGING_BUILTINS:
        return set()
    passed = {root_name(one) for one in (*call.args, *(key.value for key in call.keywords))}
    return passed | {root_name(call.func)} if isinstance(call.func, ast.Attribute) else passed


def _keeps_state(node: ast.AST) -> bool:
    for inner in ast.walk(node):
        if isinstance(inner, (ast.Global, ast.Nonlocal)):
            return True
        if isinstance(inner, ast.ClassDef) and any(
            _is_mutable_display(statement.value)
            for statement in inner.body
            if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value
        ):
            return True
        if isinstance(inner, FunctionNode) and (
            _has_mutable_default(inner) or _changes(inner, _outer_names(inner))
        ):
            return True
    return False


def _has_mutable_default(node: FunctionNode) -> bool:
    defaults = [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]
    return any(_is_mutable_display(default) for default in defaults)


def _is_mutable_display(node: ast.expr) -> bool:
    return isinstance(
        node, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
    ) or called_name(node).rpartition(".")[2] in (
        "list", "dict", "set", "defaultdict", "Counter", "deque", "OrderedDict", "count", "iter",
    )


def _outer_names(node: FunctionNode) -> frozenset[str]:
    """Names that the function reads but does not bind, and `cls`."""
    names = name_usage(*node.body)
    return (names.reads - names.binds - {one.arg for one in arguments_of(node)}) | {"cls"}


def _changes(node: FunctionNode, names: frozenset[str]) -> bool:
    """Whether the function assigns to a part of one of the names or calls a mutating method."""
    for inner in ast.walk(node):
        if isinstance(inner, (ast.Subscript, ast.Attribute)):
            if not isinstance(inner.ctx, ast.Load) and root_name(inner) in names:
                return True
        elif isinstance(inner, ast.AugAssign):
            if root_name(inner.target) in names:
                return True
        elif isinstance(inner, ast.Call):
            method = inner.func.attr if isinstance(inner.func, ast.Attribute) else ""
            if method in MUTATING_METHODS and root_name(inner.func) in names:
                return True
            if called_name(inner) == "next" and inner.args and root_name(inner.args[0]) in names:
                return True
    return False
