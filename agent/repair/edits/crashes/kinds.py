"""Edits where a value is of the wrong type, or a call has other arguments than it takes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.repair.edits.crashes.around import nodes_on, ways_out
from agent.repair.facts import Crash
from agent.repair.program import ATOM, Program, Splice

_TAKERS = (
    ast.BinOp, ast.Call, ast.Compare, ast.Subscript, ast.AugAssign, ast.Return, ast.For, ast.Assign,
)
"""What takes a value that may have to be converted."""


def wrong_type(program: Program, crash: Crash) -> Iterator[Splice]:
    """Values of the wrong type converted, calls for indices, missing arguments, `self`."""
    message = crash.message
    for node in nodes_on(program, ast.expr, crash.line):
        context = getattr(node, "ctx", None)
        if isinstance(node, ast.Slice | ast.Starred) or isinstance(context, ast.Store | ast.Del):
            continue
        parent = program.parents.get(node)
        called = isinstance(parent, ast.Call) and parent.func is node
        if not called and isinstance(parent, _TAKERS):
            yield from _converted(program, node, message)
        if "not callable" in message and isinstance(node, ast.Call):
            yield from _uncalled(program, node)
        is_value = isinstance(node, ast.Attribute) or (
            isinstance(node, ast.Name) and node.id in program.functions
        )
        if is_value and not called:
            yield program.replace(node, f"{program.code(node)}()", 1.2)
        if isinstance(node, ast.Subscript) and "not subscriptable" in message:
            inner = program.code(node.slice)
            yield program.replace(node, f"{program.code(node.value)}({inner})", 0.8)
        if isinstance(node, ast.Name | ast.Attribute) and "NoneType" in message:
            text = program.code(node)
            yield from ways_out(program, node, f"{text} is None", 2.6)
            yield program.replace(node, f"({text} or 0)", 2.2)
            yield program.replace(node, f"({text} or [])", 2.4)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and "str" in message:
            left, right = program.code(node.left), program.code(node.right)
            yield program.replace(node, f"str({left}) + str({right})", 1.8)
    if "positional argument" in message or "required" in message:
        yield from _signatures(program)


def _converted(program: Program, node: ast.expr, message: str) -> Iterator[Splice]:
    """A value as another type has it: by a function, a method, or its first element."""
    text, parent = program.code(node), program.parents.get(node)
    for cast in ("str", "int", "float", "list", "tuple", "len", "sum"):
        likely = f"not {cast}" in message or cast in ("str", "int")
        if cast == "str" and "concatenate str" in message:
            likely = not isinstance(node, ast.Constant)
        yield program.replace(node, f"{cast}({text})", 1.4 if likely else 2.0)
    base = program.grouped(node, ATOM)
    for view in (".encode()", ".decode()", "[0]", ".items()", ".values()"):
        yield program.replace(node, base + view, 2.2)
    iterated = isinstance(parent, ast.For) and parent.iter is node
    yield program.replace(node, f"range({text})", 0.6 if iterated else 2.4)
    yield program.replace(node, f"range(len({text}))", 0.8 if iterated else 2.4)


def _uncalled(program: Program, node: ast.Call) -> Iterator[Splice]:
    """An index, a value or a product in place of a call."""
    given = ", ".join(program.code(one) for one in node.args)
    function = program.code(node.func)
    yield program.replace(node, f"{function}[{given}]", 0.6)
    yield program.replace(node, function, 0.8)
    yield program.replace(node, f"{function} * ({given})", 1.2)


def unpacking(program: Program, crash: Crash) -> Iterator[Splice]:
    """Too many or too few values: pairs made by `items`, `enumerate` or `zip`."""
    for node in ast.walk(program.tree):
        if not isinstance(node, ast.For | ast.comprehension):
            continue
        if isinstance(node.target, ast.Tuple) and crash.line in (None, node.iter.lineno):
            text = program.code(node.iter)
            base = program.grouped(node.iter, ATOM)
            yield program.replace(node.iter, f"{base}.items()", 0.8)
            yield program.replace(node.iter, f"enumerate({text})", 0.8)
            yield program.replace(node.iter, f"zip({text})", 2.0)


def _signatures(program: Program) -> Iterator[Splice]:
    """A missing `self`, a missing argument."""
    for function in nodes_on(program, ast.FunctionDef, None):
        owner = program.parents[function]
        names = [one.arg for one in function.args.args]
        if isinstance(owner, ast.ClassDef) and names[:1] not in (["self"], ["cls"]):
            opening = program.data.find(b"(", program.start(function))
            text = "self, " if names else "self"
            yield Splice(opening + 1, opening + 1, text, 0.4, function.lineno)
    for call in nodes_on(program, ast.Call, None):
        if program.crash and program.crash.line not in (None, call.lineno):
            continue
        opening = program.data.find(b"(", program.end(call.func)) + 1
        given = [program.code(one) for one in call.args]
        if call.keywords:
            continue
        for i in range(len(given) + 1):
            for name in (*program.variables(call), "0", "1", "[]", "''", "None"):
                text = ", ".join([*given[:i], name, *given[i:]])
                yield Splice(opening, program.end(call) - 1, text, 2.4, call.lineno)
