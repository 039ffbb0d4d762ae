"""Conditions of templates on the matched node or on the value of a hole."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agent.search.edits.classes import class_of
from agent.search.edits.forgotten.kept_state import ITERATORS, called, is_container
from agent.search.edits.functions import mutates
from agent.search.evidence import literal_values
from agent.search.program import Function, Program
from agent.search.program.blocks import block_of, is_generator


def _mutable(program: Program, node: ast.AST, bound: Any) -> bool:
    """An expression that creates a container."""
    if isinstance(bound, ast.BinOp):
        return isinstance(bound.op, ast.Mult) and _mutable(program, node, bound.left)
    return is_container(bound)


def _once(program: Program, node: ast.AST, bound: Any) -> bool:
    """An expression whose items can be read only once."""
    name = called(bound)
    return isinstance(bound, ast.GeneratorExp) or name in ITERATORS or any(
        one.name == name and is_generator(one) for one in program.defined
    )


def _once_or_view(program: Program, node: ast.AST, bound: Any) -> bool:
    """As `_once`, or a view of a dictionary."""
    is_view = re.search(r"\.(keys|values|items)\(\)$", program.code(bound))
    return is_view is not None or _once(program, node, bound)


def _read_twice(program: Program, node: ast.AST, bound: Any) -> bool:
    reads = [
        one for one in program.walk(program.scope(node)) if isinstance(one, ast.Name)
        and one.id == program.code(bound) and isinstance(one.ctx, ast.Load)
    ]
    return len(reads) > 1


def _read_after(program: Program, node: ast.AST, bound: Any) -> bool:
    """A variable that a loop modifies and that is read after it."""
    assert isinstance(node, ast.For)
    block, name = block_of(program, node), program.code(bound)
    return mutates(node.body, name) and any(
        isinstance(one, ast.Name) and one.id == name
        for later in block[block.index(node) + 1 :] for one in ast.walk(later)
    )


def _recursive(program: Program, node: ast.AST, bound: Any) -> bool:
    """A recursive call in a function that returns a value."""
    scope = program.scope(node)
    return isinstance(scope, Function) and not is_generator(scope) and _returns(scope) and (
        program.code(bound).rpartition(".")[2] == scope.name
    )


def _wrapped_function(program: Program, node: ast.AST, bound: Any) -> bool:
    """A parameter of the enclosing function, as in a decorator."""
    scope = program.scope(node)
    outer = program.scope(scope)
    return isinstance(outer, Function) and not _returns(scope) and any(
        one.arg == program.code(bound) for one in outer.args.args
    )


def _gives_a_value(program: Program, node: ast.AST, bound: Any) -> bool:
    """A function that returns something."""
    name = program.code(bound)
    return name in ("sorted", "set", "list", "round", "abs") or any(
        one.name == name and _returns(one) for one in program.defined
    )


def _own_generator(program: Program, node: ast.AST, bound: Any) -> bool:
    """A generator of the program, called in a generator."""
    scope, name = program.scope(node), program.code(bound).rpartition(".")[2]
    return isinstance(scope, ast.FunctionDef) and is_generator(scope) and any(
        one.name == name and is_generator(one) for one in program.defined
    )


def _own_class(program: Program, node: ast.AST, bound: Any) -> bool:
    """The class of the class method around the node."""
    method = program.scope(node)
    owner = program.parents.get(method)
    return isinstance(owner, ast.ClassDef) and owner.name == program.code(bound) and (
        "classmethod" in _decorators(program, method)
    )


def _own_property(program: Program, node: ast.AST, bound: Any) -> bool:
    """The name of the property around the node."""
    method = program.scope(node)
    return isinstance(method, Function) and method.name == bound and bool(
        {"property", f"{bound}.setter"} & _decorators(program, method)
    )


def _decorator(program: Program, node: ast.AST, bound: Any) -> bool:
    """A decorator of the class that the failure names."""
    parent = program.parents.get(node)
    return isinstance(parent, ast.ClassDef) and node in parent.decorator_list and (
        program.crash is None or f"'{parent.name}'" in program.crash.message
    )


def _repeated(program: Program, node: ast.AST, bound: Any) -> bool:
    """A node in a loop of its function."""
    at = program.parents.get(node)
    while at is not None and not isinstance(at, Function | ast.For | ast.While):
        at = program.parents.get(at)
    return isinstance(at, ast.For | ast.While)


def _changed_nearby(program: Program, node: ast.AST, bound: Any) -> bool:
    """A container that the function around the node modifies."""
    scope, name = program.scope(node), program.code(bound)
    return isinstance(scope, Function) and mutates(scope.body, name)


def _changed_in_the_loop(program: Program, node: ast.AST, bound: Any) -> bool:
    """A container that a loop iterates over and modifies."""
    return isinstance(node, ast.For) and mutates(node.body, program.code(bound))


def _class_attribute(program: Program, node: ast.AST, bound: Any) -> bool:
    """A name that is assigned in the class body and not on `self`."""
    owner = class_of(program, node)
    return owner is not None and any(
        isinstance(one, ast.Assign) and program.code(one.targets[0]) == bound for one in owner.body
    ) and f"self.{bound} =" not in program.code(owner)


def _exception(program: Program, node: ast.AST, bound: Any) -> bool:
    """A caught exception, or a variable that holds one."""
    scope, name = program.scope(node), program.code(bound)
    caught = {one.name for one in ast.walk(scope) if isinstance(one, ast.ExceptHandler)}
    return name in caught or any(
        isinstance(one, ast.Assign) and program.code(one.targets[0]) == name
        and program.code(one.value) in caught for one in ast.walk(scope)
    )


def _a_fraction(program: Program, node: ast.AST, bound: Any) -> bool:
    """An expression whose type is float or unknown."""
    types = program.type_of(bound)
    return not types or "float" in types


def _unmoved(program: Program, node: ast.AST, bound: Any) -> bool:
    """An ordered dictionary in a function without `move_to_end`."""
    scope = program.scope(node)
    return isinstance(scope, Function) and "move_to_end" not in program.code(scope)


def _iterated(program: Program, node: ast.AST, bound: Any) -> bool:
    parent = program.parents.get(node)
    return isinstance(parent, ast.For | ast.comprehension) and parent.iter is node


def _blank(program: Program, node: ast.AST, bound: Any) -> bool:
    """A variable that held blank text at the failure."""
    return any(not one.strip() for one in _texts(program, program.code(bound)))


def _texts(program: Program, name: str) -> Iterator[str]:
    """The strings that a variable held at the failure."""
    crash = program.crash
    for moment in program.moments(crash.line or 0) if crash else ():
        value = literal_values(moment).get(name) if not moment.passed else None
        if isinstance(value, str):
            yield value
    for key, shown in crash.values if crash else ():
        if key == name and shown[:1] in "'\"":
            yield re.sub(r"\\[nrt]", " ", shown.strip("'\""))


def _naive(program: Program, node: ast.AST, bound: Any) -> bool:
    """A time that is compared or subtracted and had no time zone at runtime, if known."""
    parent = program.parents.get(node)
    is_operand = isinstance(parent, ast.Compare) or (
        isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Sub)
    )
    return is_operand and "tzinfo" not in _repr(program, bound)


def _nested(program: Program, node: ast.AST, bound: Any) -> bool:
    """A value that held containers at runtime, or is unknown."""
    shown = _repr(program, bound)
    return not shown or any(mark in shown[1:] for mark in "[{(")


def _repr(program: Program, bound: Any) -> str:
    """The `repr` that an expression had at runtime, empty if unknown."""
    moments = [one for moment in program.all_moments for one in moment.values]
    values = program.crash.values if program.crash else ()
    return dict([*moments, *values]).get(program.code(bound), "")


def _scope(program: Program, node: ast.AST) -> str:
    """The text of the function around a node, or of the whole program."""
    scope = program.scope(node)
    return program.code(scope) if isinstance(scope, Function) else program.text


def _returns(scope: ast.AST) -> bool:
    return any(isinstance(one, ast.Return) and one.value for one in ast.walk(scope))


def _decorators(program: Program, method: ast.AST) -> set[str]:
    return {program.code(one) for one in getattr(method, "decorator_list", ())}


CONDITIONS: Mapping[str, Callable[[Program, ast.AST, Any], bool]] = {
    **{one.__name__[1:].replace("_", " "): one for one in (
        _mutable, _once, _once_or_view, _read_twice, _read_after, _recursive, _wrapped_function,
        _gives_a_value, _own_generator, _own_class, _own_property, _decorator, _repeated,
        _iterated, _unmoved, _blank, _naive, _nested, _changed_nearby, _changed_in_the_loop,
        _class_attribute, _exception, _a_fraction,
    )},
    "not committed": lambda program, node, bound: "commit" not in _scope(program, node),
    "not flushed": lambda program, node, bound: "flush" not in _scope(program, node),
    "caught": lambda program, node, bound: isinstance(program.parents.get(node), ast.ExceptHandler),
    "name": lambda program, node, bound: isinstance(bound, ast.Name),
    "names": lambda program, node, bound: isinstance(bound, ast.Tuple),
    "constant": lambda program, node, bound: isinstance(bound, ast.Constant),
    "text": lambda program, node, bound: isinstance(getattr(bound, "value", None), str),
    "fraction": lambda program, node, bound: isinstance(getattr(bound, "value", None), float),
}
"""The conditions by their names in `templates.toml`."""
