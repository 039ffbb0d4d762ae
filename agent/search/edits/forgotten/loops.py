"""Edits of loops: their order, `while` for `if`, the last batch, modular arithmetic."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.search.program import Function, Precedence, Program, Splice, variable_names
from agent.search.program.blocks import is_elif, is_generator

_GROWS = frozenset({"append", "extend", "add", "update", "insert"})


def order(program: Program, node: ast.expr) -> Iterator[Splice]:
    """Iterates in reversed or sorted order."""
    parent = program.parents.get(node)
    if not isinstance(parent, ast.For | ast.comprehension) or parent.iter is not node:
        return
    called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
    if called == "range":
        yield program.replace(node, f"reversed({program.code(node)})", 3.0)
    if called in ("range", "reversed", "sorted", "zip", "enumerate"):
        return
    text = program.code(node)
    yield program.replace(node, f"reversed({text})", 2.8)
    yield program.replace(node, f"sorted({text})", 3.0)


def while_for_if(program: Program, node: ast.If) -> Iterator[Splice]:
    """Repeats the body while the condition holds: `while` for `if`."""
    if node.orelse or is_elif(program, node) or not (
        {*variable_names(node.test)} & {*variable_names(*node.body, context=ast.Store)}
    ):
        return
    start = program.start(node)
    yield Splice(start, start + 2, "while", 2.4, node.lineno)


def flushed(program: Program, node: ast.For | ast.While) -> Iterator[Splice]:
    """Repeats after a loop the statement that emits collected items, for the last batch."""
    if not program.has_own_lines(node):
        return
    scope = program.scope(node)
    collected = {*variable_names(*node.body, context=ast.Store)} | {
        one.func.value.id for one in ast.walk(node)
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute)
        and one.func.attr in _GROWS and isinstance(one.func.value, ast.Name)
    }
    emitted: dict[str, ast.expr] = {}
    for statement in ast.walk(node):
        if not isinstance(statement, ast.Expr):
            continue
        match statement.value:
            case ast.Yield(value=ast.expr() as value):
                emitted[program.code(statement)] = value
            case ast.Call(func=ast.Attribute(attr="append" | "add" | "extend"), args=[value]):
                emitted[program.code(statement)] = value
            case ast.Call(func=ast.Name(), args=[value, *_]):
                emitted[program.code(statement)] = value
    seen: set[str] = set()
    for text, value in emitted.items():
        for name in sorted({*variable_names(value)} & collected):
            if isinstance(value, ast.Name):
                seen.add(name)
            lines = [f"if {name}:", f"{program.indent_unit}{text}"]
            yield program.insert_after(node, lines, 2.8)
            yield program.insert_after(node, [text], 3.0)
    if isinstance(scope, Function) and is_generator(scope):
        for name in sorted(collected - seen)[:6]:
            lines = [f"if {name}:", f"{program.indent_unit}yield {name}"]
            yield program.insert_after(node, lines, 2.9)


def modulo(program: Program, node: ast.BinOp) -> Iterator[Splice]:
    """Makes a remainder one-based, or rounds a quotient up."""
    left, right = program.code(node.left), program.parenthesized(node.right, Precedence.UNARY)
    if isinstance(node.op, ast.Mod) and not isinstance(node.left, ast.Constant):
        near = program.parenthesized(node.left, Precedence.SUM)
        yield program.replace(node, f"({near} - 1) % {right} + 1", 2.6)
        if isinstance(node.left, ast.BinOp):
            yield program.replace(node, f"({near} + 1) % {right} - 1", 3.4)
    elif isinstance(node.op, ast.FloorDiv):
        up = f"-(-{program.parenthesized(node.left, Precedence.POWER)} // {right})"
        yield program.replace(node, up, 2.8)
        if isinstance(node.right, ast.Constant | ast.Name | ast.Attribute):
            yield program.replace(node, f"({left} + {right} - 1) // {right}", 3.0)
