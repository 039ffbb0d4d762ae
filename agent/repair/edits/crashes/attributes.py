"""Edits where an attribute does not exist."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator

from agent.repair.edits.crashes.around import nodes_on, only_if, ways_out
from agent.repair.edits.names import attribute_name
from agent.repair.facts import Crash
from agent.repair.program import BUILTINS, Function, Program, Splice

_METHODS = {
    "push": "append", "push_back": "append", "add": "append", "append": "add",
    "toLowerCase": "lower", "toUpperCase": "upper", "trim": "strip", "indexOf": "index",
    "iteritems": "items", "itervalues": "values", "iterkeys": "keys", "put": "append",
    "enqueue": "append", "dequeue": "popleft", "remove": "pop", "update": "extend",
    "substring": "strip", "contains": "__contains__", "has_key": "__contains__",
}
"""What other types, and other languages, call it."""
_LENGTH = frozenset({"length", "size", "count", "len"})
_FUNCTIONS = ("len", "sorted", "str", "list", "int", "sum", "max", "min", "set", "reversed")


def unknown_attribute(program: Program, crash: Crash) -> Iterator[Splice]:
    """An attribute that does not exist: a close one, a function, or a guard against `None`."""
    match = re.search(r"'([\w.]+)' object has no attribute '(\w+)'", crash.message) or re.search(
        r"module '(\w+)' has no attribute '(\w+)'", crash.message
    )
    if match is None:
        return
    kind, name = match.groups()
    own = [
        one.name for one in ast.walk(program.tree) if isinstance(one, Function)
        and isinstance(program.parents[one], ast.ClassDef)
    ]
    pool = list(dict.fromkeys((*crash.members, *own, *program.attributes)))
    close = difflib.get_close_matches(name, pool, 6, 0.4)
    if _METHODS.get(name) in pool:
        close.insert(0, _METHODS[name])
    for node in nodes_on(program, ast.Attribute, None):
        if node.attr != name or crash.line not in (None, node.lineno, node.end_lineno):
            continue
        base = program.code(node.value)
        for place, other in enumerate(dict.fromkeys(close)):
            if not other.startswith("__"):
                yield attribute_name(program, node, other, 0.2 + 0.1 * place)
        for other in pool:
            yield attribute_name(program, node, other, 2.8)
        yield from _without(program, node)
        for cast in ("str", "list", "set", "dict", "int"):
            yield program.replace(node.value, f"{cast}({base})", 2.2)
        if kind == "NoneType":
            yield from ways_out(program, node, f"{base} is None", 2.2)
            yield from only_if(program, node, f"{base} is not None", 1.8)


def _without(program: Program, node: ast.Attribute) -> Iterator[Splice]:
    """A function of the value, an operator, or the value alone in place of its attribute."""
    base, parent = program.code(node.value), program.parents.get(node)
    if not isinstance(parent, ast.Call) or parent.func is not node:
        yield program.replace(node, f"len({base})", 0.4 if node.attr in _LENGTH else 2.4)
        return
    given = [program.code(one) for one in parent.args]
    for function in (node.attr, *_FUNCTIONS):
        if function in BUILTINS:
            text = f"{function}({', '.join([base, *given])})"
            likely = function == node.attr or (node.attr in _LENGTH and function == "len")
            yield program.replace(parent, text, 0.3 if likely else 2.2)
    if given:
        for sign in ("in", "not in", "+", "|", "&", "-", "=="):
            yield program.replace(parent, f"{given[0]} {sign} {base}", 2.4)
            yield program.replace(parent, f"{base} {sign} {given[0]}", 2.6)
        yield program.replace(parent, f"{base}[{given[0]}]", 2.2)
    yield program.replace(parent, base, 2.4)
