"""Edits of classes: `self`, constructors, kinds of methods, fields of data classes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from agent.search.program import Function, Program, Splice, parameters
from agent.search.program.blocks import body_start, is_docstring

_OPERATOR_METHOD = re.compile(
    r"__(eq|ne|lt|le|gt|ge|[ir]?(add|sub|mul|truediv|floordiv|mod|and|or|xor|matmul|pow))__\Z"
)


def missing_self(program: Program, node: ast.Name) -> Iterator[Splice]:
    """Adds a forgotten `self.` before the name of a field or method."""
    owner = class_of(program, node)
    if owner is None or node.id in ("self", "cls", "super"):
        return
    method = program.scope(node)
    if not isinstance(method, Function) or "self" not in parameters(method):
        return
    fields, methods = _names(owner)
    called = program.is_called(node)
    if called and node.id in methods:
        yield program.replace(node, f"self.{node.id}", 0.8)
    elif not called and node.id in fields:
        likely = node.id not in parameters(method)
        yield program.replace(node, f"self.{node.id}", 1.6 if likely else 2.8)


def field_assignment(program: Program, node: ast.Assign) -> Iterator[Splice]:
    """Assigns to a field instead of a local variable in a constructor."""
    method = program.scope(node)
    if not isinstance(method, Function) or "self" not in parameters(method):
        return
    for target in node.targets:
        if isinstance(target, ast.Name) and method.name == "__init__":
            yield program.replace(target, f"self.{target.id}", 1.8)


def constructor(program: Program, node: ast.FunctionDef) -> Iterator[Splice]:
    """Adds fields that a constructor does not set, and a call of the parent's constructor."""
    owner = program.parents.get(node)
    if node.name != "__init__" or not isinstance(owner, ast.ClassDef):
        return
    body = [one for one in node.body if not is_docstring(one)]
    if not body or body[0].lineno == node.lineno or not program.has_own_lines(body[-1]):
        return
    names = [one for one in parameters(node) if one != "self"]
    assigned: set[str] = set()
    for one in body:
        match one:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)]):
                assigned.add(name)
    read = {
        one.attr for one in ast.walk(owner)
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)
        and one.value.id == "self" and isinstance(one.ctx, ast.Load)
    }
    for name in names:
        if name not in assigned:
            cost = 0.8 if name in read else 2.4
            yield program.insert_after(body[-1], [f"self.{name} = {name}"], cost)
    for name in sorted(read - assigned - {*names} - {*_names(owner)[1]}):
        for start in ("0", "[]", "''", "{}", "None", "False", "set()"):
            yield program.insert_after(body[-1], [f"self.{name} = {start}"], 2.0)
    yield from parent_constructor_call(program, node, owner, body, names)


def parent_constructor_call(
    program: Program, node: ast.FunctionDef, owner: ast.ClassDef, body: list[ast.stmt],
    names: list[str],
) -> Iterator[Splice]:
    """Adds a call of the parent's constructor, with as many own arguments as the parent takes."""
    if not owner.bases or any(
        isinstance(one, ast.Name) and one.id == "super" for one in ast.walk(node)
    ):
        return
    parents = {one.name: one for one in program.nodes if isinstance(one, ast.ClassDef)}
    wanted: list[str] | None = None
    for base in owner.bases:
        above = parents.get(base.id) if isinstance(base, ast.Name) else None
        for one in above.body if above is not None else ():
            if isinstance(one, ast.FunctionDef) and one.name == "__init__":
                wanted = [name for name in parameters(one) if name != "self"]
    if wanted is None:
        given = [[], *([name] for name in names), names]
    else:
        shared = [name for name in wanted if name in names]
        given = [shared, names[: len(wanted)], []]
    for place, arguments in enumerate(given):
        call = f"super().__init__({', '.join(arguments)})"
        yield program.insert_before(body[0], [call], 1.2 + 0.3 * place)


def method_kind(program: Program, node: ast.FunctionDef) -> Iterator[Splice]:
    """Adds a missing `self`, or the decorator of a property, static or class method."""
    owner = program.parents.get(node)
    if not isinstance(owner, ast.ClassDef) or node.decorator_list:
        return
    names = parameters(node)
    uses = any(isinstance(one, ast.Name) and one.id == "self" for one in ast.walk(node))
    if names[:1] in (["self"], ["cls"]):
        if not uses or program.crash is None or program.crash.exception != "TypeError":
            return
        yield program.insert_before(node, ["@property"], 3.4)
        return
    opening = program.data.find(b"(", program.start(node)) + 1
    yield Splice(opening, opening, "self, " if names else "self", 0.4, node.lineno)
    if not uses:
        yield program.insert_before(node, ["@staticmethod"], 0.9)
        if names:
            yield program.insert_before(node, ["@classmethod"], 2.4)


def data_field(program: Program, node: ast.AnnAssign) -> Iterator[Splice]:
    """Excludes a field of a data class from comparisons, or from its `repr`."""
    owner = program.parents.get(node)
    if not isinstance(owner, ast.ClassDef) or not isinstance(node.target, ast.Name):
        return
    if not any("dataclass" in program.code(one) for one in owner.decorator_list):
        return
    call = "field" if "field" in program.imported else "dataclasses.field"
    if call.partition(".")[0] not in program.imported:
        return
    target = program.between(program.start(node), program.end(node.annotation))
    match node.value:
        case None:
            given = []
        case ast.Call(func=ast.Name(id="field") | ast.Attribute(attr="field")):
            return
        case value:
            given = [f"default={program.code(value)}"]
    for option, cost in (("compare=False", 2.8), ("repr=False", 3.4)):
        text = f"{target} = {call}({', '.join([*given, option])})"
        yield program.replace_statement(node, text, cost)


def other_operand(program: Program, node: ast.FunctionDef) -> Iterator[Splice]:
    """Leaves operands of other classes to them: `return NotImplemented`."""
    owner, names = class_of(program, node), parameters(node)
    first = body_start(program, node)
    if owner is None or first is None or len(names) != 2 or not _OPERATOR_METHOD.match(node.name):
        return
    if "NotImplemented" in program.code(node):
        return
    other, inner = names[1], program.indent_unit
    for place, answer in enumerate(("NotImplemented", "False")):
        lines = [f"if not isinstance({other}, {owner.name}):", f"{inner}return {answer}"]
        yield program.insert_before(first, lines, 2.4 + 0.4 * place)
        if isinstance(first, ast.Assert):
            text = f"{lines[0]}{program.newline}{program.indent(first)}{lines[1]}"
            yield program.replace_statement(first, text, cost=2.2 + 0.4 * place)


def hash_like_equality(program: Program, node: ast.FunctionDef) -> Iterator[Splice]:
    """Makes `__hash__` of what `__eq__` compares."""
    owner = class_of(program, node)
    if owner is None or node.name != "__hash__" or not isinstance(node.body[-1], ast.Return):
        return
    compared = [
        program.code(side) for one in owner.body if isinstance(one, Function)
        and one.name == "__eq__" for inner in program.walk(one) if isinstance(inner, ast.Compare)
        for side in (inner.left, *inner.comparators) if "self." in program.code(side)
    ]
    if compared:
        values = ", ".join(dict.fromkeys(compared))
        text = f"return hash({values})" if len(compared) == 1 else f"return hash(({values}))"
        yield program.replace_statement(node.body[-1], text, cost=1.2)


def fields_of(program: Program, node: ast.AST) -> list[str]:
    """The names of the fields of `self` in the method around a node."""
    owner, method = class_of(program, node), program.scope(node)
    if owner is None or not isinstance(method, Function) or "self" not in parameters(method):
        return []
    declared = [
        one.target.id for one in owner.body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
    ]
    return [*dict.fromkeys((*_names(owner)[0], *declared))]


def class_of(program: Program, node: ast.AST) -> ast.ClassDef | None:
    """The innermost class around a node."""
    at = program.parents.get(node)
    while at is not None and not isinstance(at, ast.ClassDef):
        at = program.parents.get(at)
    return at


@lru_cache(maxsize=64)
def _names(owner: ast.ClassDef) -> tuple[list[str], list[str]]:
    """The names of a class's fields and of its methods."""
    fields = [
        one.attr for one in ast.walk(owner)
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)
        and one.value.id == "self"
    ]
    fields += [
        target.id for one in owner.body if isinstance(one, ast.Assign)
        for target in one.targets if isinstance(target, ast.Name)
    ]
    methods = [one.name for one in owner.body if isinstance(one, Function)]
    return [name for name in dict.fromkeys(fields) if name not in methods], methods
