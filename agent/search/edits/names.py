"""Edits of names: variables, attributes, functions and methods."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from agent.search.edits.constants import combined
from agent.search.edits.library import FUNCTIONS, MEMBERS, METHODS
from agent.search.program import BUILTINS, SEQUENCES, Program, Splice

_TAKES_ONE = frozenset({"remove", "discard", "append", "add", "index", "count"})


def variable(program: Program, node: ast.Name) -> Iterator[Splice]:
    """Reads another variable."""
    if not isinstance(node.ctx, ast.Load) or _is_function(program, node):
        return
    own = program.observed_types(node.id)
    for name in program.variables(node):
        if name == node.id:
            continue
        types = program.observed_types(name)
        cost = 3.0 if not types or not own or types & own else 4.5
        if not program.reads.get(name):
            cost -= 0.8  # assigned but never read, so it is a likely replacement
        yield program.replace(node, name, cost)


def target(program: Program, node: ast.Name) -> Iterator[Splice]:
    """Assigns to another variable."""
    if isinstance(node.ctx, ast.Store):
        for name in program.variables(node):
            if name != node.id:
                alike = program.observed_types(name) & program.observed_types(node.id)
                yield program.replace(node, name, 4.0 if alike else 4.5)


def function(program: Program, node: ast.Name) -> Iterator[Splice]:
    """Calls a related function: `min` instead of `max`."""
    if isinstance(node.ctx, ast.Load):
        for variant in FUNCTIONS.get(node.id, ()):
            edits = [(program.start(node), program.end(node), variant)]
            edits += _imported(program, node.id, variant)
            yield combined(program, edits, 2.5, node.lineno)
        if node.id in program.functions and _is_function(program, node):
            for other in program.callables(node):
                if other != node.id:
                    yield program.replace(node, other, 3.5)


def _imported(program: Program, name: str, variant: str) -> Iterator[tuple[int, int, str]]:
    """Adds a function that is not defined yet to the import of a related one."""
    if variant in {*BUILTINS, *program.imported, *program.functions}:
        return
    for one in program.nodes:
        if isinstance(one, ast.ImportFrom):
            for alias in one.names:
                if alias.name == name and alias.asname is None and alias.end_col_offset:
                    end = program.line_start(alias.lineno) + alias.end_col_offset
                    yield end, end, f", {variant}"
                    return


def method(program: Program, node: ast.Attribute) -> Iterator[Splice]:
    """Calls a related method: `upper` instead of `lower`."""
    parent = program.parents.get(node)
    if isinstance(parent, ast.Call) and program.is_called(node):
        for variant in METHODS.get(node.attr, ()):
            if parent.args or variant not in _TAKES_ONE:
                yield attribute_name(program, node, variant, 2.5)
                continue
            base = program.code(node.value)
            for name in program.variables(node):
                if name != base:
                    yield program.replace(parent, f"{base}.{variant}({name})", 2.7)


def attribute(program: Program, node: ast.Attribute) -> Iterator[Splice]:
    """Replaces an attribute by another one, or by the object itself."""
    if program.is_called(node):
        return
    for other in dict.fromkeys((*program.attributes, *program.peer_fields.get(node.attr, ()))):
        # Assignments to special attributes are no likely repair.
        is_special = other.startswith("__") and not isinstance(node.ctx, ast.Load)
        if other != node.attr and not is_special:
            yield attribute_name(program, node, other, 2.5)
    if isinstance(node.ctx, ast.Load):
        yield program.replace(node, program.code(node.value), 4.0)


def element_of(program: Program, node: ast.Name) -> Iterator[Splice]:
    """Replaces a variable by an element or a slice of a sequence."""
    if not isinstance(node.ctx, ast.Load) or _is_function(program, node):
        return
    parent = program.parents.get(node)
    if isinstance(parent, ast.Attribute):
        return
    own = program.observed_types(node.id)
    variables = program.variables(node)
    counts = [name for name in variables if "int" in program.observed_types(name)]
    if not own or own & SEQUENCES:
        cost = 4.6 if own else 5.6
        for part in ("1:", ":-1", "::-1"):
            yield program.replace(node, f"{node.id}[{part}]", cost)
        for name in counts:
            for part in (f"{name}:", f":{name}", f"{name} + 1:", f":{name} + 1"):
                yield program.replace(node, f"{node.id}[{part}]", cost + 0.3)
    if isinstance(parent, ast.For):
        return
    indices = [*counts, "0", "-1", *(f"{n} - 1" for n in counts), *(f"{n} + 1" for n in counts)]
    for name in variables:
        if program.observed_types(name) & SEQUENCES:
            for index in indices:
                if index != name:
                    yield program.replace(node, f"{name}[{index}]", 5.4)
        if "dict" in program.observed_types(name):
            for key in variables:
                if key != name:
                    yield program.replace(node, f"{name}[{key}]", 5.6)


def class_of_module(program: Program, node: ast.Attribute) -> Iterator[Splice]:
    """Replaces a module by its class of the same name, or the reverse, as for `datetime`."""
    crash = program.crash
    if crash is None or crash.exception != "AttributeError" or not isinstance(node.value, ast.Name):
        return
    name = node.value.id
    match = re.search(r"(?:module|type object) '([\w.]+)' has no attribute '(\w+)'", crash.message)
    if match is None or match[2] != node.attr or name not in program.imported:
        return
    if crash.message.startswith("module") and name in MEMBERS.get(name, ()):
        yield program.replace(node.value, f"{name}.{name}", 0.4)
        for statement in program.tree.body:
            if isinstance(statement, ast.Import) and program.code(statement) == f"import {name}":
                start, end = program.start(statement), program.end(statement)
                yield Splice(start, end, f"from {name} import {name}", 0.5, node.lineno)
    elif name in MEMBERS and name == match[1].rpartition(".")[2]:
        for statement in program.tree.body:
            if isinstance(statement, ast.ImportFrom) and statement.module == name:
                start, end = program.start(statement), program.end(statement)
                yield Splice(start, end, f"import {name}", 0.6, node.lineno)
    elif match[1] in MEMBERS and node.attr in MEMBERS[match[1]]:
        yield program.replace(node, node.attr, 1.0)


def attribute_name(program: Program, node: ast.Attribute, name: str, cost: float) -> Splice:
    """Replaces the name of an attribute and leaves the rest of the node as it is."""
    end = program.end(node)
    return Splice(end - len(node.attr.encode()), end, name, cost, node.end_lineno or node.lineno)


def _is_function(program: Program, node: ast.Name) -> bool:
    """Whether a name refers to a function, a class or a module."""
    return program.is_called(node) or node.id in (*program.functions, *program.imported) or (
        node.id in BUILTINS and node.id not in program.variables(node)
    )
