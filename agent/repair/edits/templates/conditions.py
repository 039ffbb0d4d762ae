"""Conditions of templates: what is asked of a matched node, or of what a hole stands for."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from typing import Any

from agent.repair.edits.functions import changes
from agent.repair.evidence import plain
from agent.repair.program import Function, Program
from agent.repair.program.blocks import block_of, in_loop, is_generator

_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_CONTAINERS = frozenset({
    "list", "dict", "set", "deque", "defaultdict", "Counter", "OrderedDict", "bytearray",
})
_ITERATORS = frozenset({"map", "filter", "zip", "iter", "reversed", "enumerate"})


def mutable(program: Program, node: ast.AST, bound: Any) -> bool:
    """An expression that makes a container."""
    match bound:
        case ast.Call(func=ast.Name(id=name)):
            return name in _CONTAINERS
        case ast.BinOp(left=left, op=ast.Mult()):
            return mutable(program, node, left)
    return isinstance(bound, _DISPLAYS)


def once(program: Program, node: ast.AST, bound: Any) -> bool:
    """An expression whose items can be read only once."""
    match bound:
        case ast.Call(func=ast.Name(id=name)):
            return name in _ITERATORS or any(
                one.name == name and is_generator(one) for one in program.defined
            )
    return isinstance(bound, ast.GeneratorExp)


def once_or_view(program: Program, node: ast.AST, bound: Any) -> bool:
    """The same, and the views of a dictionary."""
    return once(program, node, bound) or bool(re.search(r"\.(keys|values|items)\(\)$",
                                                        program.code(bound)))


def read_twice(program: Program, node: ast.AST, bound: Any) -> bool:
    return isinstance(bound, ast.Name) and sum(
        isinstance(one, ast.Name) and one.id == bound.id and isinstance(one.ctx, ast.Load)
        for one in ast.walk(program.scope(node))
    ) > 1


def read_after(program: Program, node: ast.AST, bound: Any) -> bool:
    """A variable that a loop adds to and that is read after it."""
    assert isinstance(node, ast.For | ast.While)
    block = block_of(program, node)
    name = program.code(bound)
    after = block[block.index(node) + 1 :]
    return changes(node.body, name) and any(
        isinstance(one, ast.Name) and one.id == name
        for later in after for one in ast.walk(later)
    )


def discarded(program: Program, node: ast.AST, bound: Any) -> bool:
    """A value that nothing takes."""
    return isinstance(program.parents.get(node), ast.Expr) or isinstance(node, ast.Expr)


def recursive(program: Program, node: ast.AST, bound: Any) -> bool:
    """A call of the function that it is in, which elsewhere returns a value."""
    scope = program.scope(node)
    return isinstance(scope, Function) and not is_generator(scope) and (
        program.code(bound).rpartition(".")[2] == scope.name
        and any(isinstance(one, ast.Return) and one.value is not None for one in ast.walk(scope))
    )


def wrapped_function(program: Program, node: ast.AST, bound: Any) -> bool:
    """A parameter of the function around the function that the node is in, as in a decorator."""
    scope = program.scope(node)
    outer = program.scope(scope)
    return isinstance(scope, Function) and isinstance(outer, Function) and any(
        one.arg == program.code(bound) for one in outer.args.args
    ) and not any(isinstance(one, ast.Return) and one.value for one in ast.walk(scope))


def own_generator(program: Program, node: ast.AST, bound: Any) -> bool:
    """A generator of the program, called in a generator."""
    scope = program.scope(node)
    name = program.code(bound).rpartition(".")[2]
    return isinstance(scope, ast.FunctionDef) and is_generator(scope) and any(
        one.name == name and is_generator(one) for one in program.defined
    )


def iterated(program: Program, node: ast.AST, bound: Any) -> bool:
    parent = program.parents.get(node)
    return isinstance(parent, ast.For | ast.comprehension) and parent.iter is node


def repeated(program: Program, node: ast.AST, bound: Any) -> bool:
    return in_loop(program, node) or any(
        isinstance(one, ast.For | ast.While) for one in _above(program, node)
    )


def own_class(program: Program, node: ast.AST, bound: Any) -> bool:
    """The class in whose class method the node is."""
    method = program.scope(node)
    owner = program.parents.get(method)
    return isinstance(owner, ast.ClassDef) and isinstance(method, Function) and (
        program.code(bound) == owner.name
        and any(program.code(one) == "classmethod" for one in method.decorator_list)
    )


def decorator(program: Program, node: ast.AST, bound: Any) -> bool:
    """A decorator of a class; where the failure names a class, of that one."""
    parent = program.parents.get(node)
    return isinstance(parent, ast.ClassDef) and node in parent.decorator_list and (
        program.crash is None or f"'{parent.name}'" in program.crash.message
    )


def caught(program: Program, node: ast.AST, bound: Any) -> bool:
    return isinstance(program.parents.get(node), ast.ExceptHandler)


def names(program: Program, node: ast.AST, bound: Any) -> bool:
    """Several names that are assigned at once."""
    return isinstance(bound, ast.Tuple) and all(isinstance(one, ast.Name) for one in bound.elts)


def name(program: Program, node: ast.AST, bound: Any) -> bool:
    return isinstance(bound, ast.Name)


def constant(program: Program, node: ast.AST, bound: Any) -> bool:
    return isinstance(bound, ast.Constant)


def text(program: Program, node: ast.AST, bound: Any) -> bool:
    return isinstance(bound, ast.Constant) and isinstance(bound.value, str)


def decimal(program: Program, node: ast.AST, bound: Any) -> bool:
    return isinstance(bound, ast.Constant) and isinstance(bound.value, float)


def blank(program: Program, node: ast.AST, bound: Any) -> bool:
    """A variable that held blank text, or nothing that could be seen, where it failed."""
    held = [
        values[bound.id]
        for line in [program.crash.line if program.crash else None] if line is not None
        for moment in program.moments(line) if not moment.passed
        for values in [plain(moment)] if isinstance(bound, ast.Name) and bound.id in values
    ]
    held += [
        "" for key, value in (program.crash.values if program.crash else ())
        if isinstance(bound, ast.Name) and key == bound.id and not value.strip("'\"nrt\\ ")
    ]
    return any(isinstance(one, str) and not one.strip() for one in held)


def naive(program: Program, node: ast.AST, bound: Any) -> bool:
    """Whether a value may be a time without a time zone: it is, as far as was seen."""
    return "tzinfo" not in _seen(program, bound)


def aware(program: Program, node: ast.AST, bound: Any) -> bool:
    return "tzinfo" in _seen(program, bound)


def nested(program: Program, node: ast.AST, bound: Any) -> bool:
    """Whether a value may hold containers: it does, as far as was seen."""
    seen = _seen(program, bound)
    return not seen or any(mark in seen[1:] for mark in "[{(")


def _seen(program: Program, bound: Any) -> str:
    """The repr that an expression's value had, empty if that is not known."""
    text = program.code(bound)
    values = dict(program.crash.values) if program.crash else {}
    for moment in program.all_moments:
        values.update(one for one in moment.values if one[0] not in values)
    return values.get(text, "")


def _above(program: Program, node: ast.AST) -> list[ast.AST]:
    found = []
    at = program.parents.get(node)
    while at is not None:
        found.append(at)
        at = program.parents.get(at)
    return found


CONDITIONS: Mapping[str, Callable[[Program, ast.AST, Any], bool]] = {
    one.__name__.replace("_", " "): one for one in (
        mutable, once, once_or_view, read_twice, read_after, discarded, recursive, wrapped_function,
        own_generator, iterated, repeated, own_class, decorator, caught, names, name, constant,
        text, decimal, blank, naive, aware, nested,
    )
}
"""By the names that rows use."""
