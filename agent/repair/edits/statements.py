"""Edits of what a single statement does: assigned, returned, gone on with, tested."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.repair.edits.blocks import neighbour
from agent.repair.edits.constants import NEUTRAL
from agent.repair.program import Program, Splice


def assignment(program: Program, node: ast.Assign) -> Iterator[Splice]:
    """An augmented assignment, a maximum, or a return in place of an assignment."""
    if len(node.targets) != 1:
        return
    first, value = node.targets[0], program.code(node.value)
    target = program.code(first)
    if isinstance(first, ast.Tuple):
        if isinstance(node.value, ast.Tuple) and len(first.elts) == len(node.value.elts):
            pairs = [
                f"{program.code(one)} = {program.code(other)}"
                for one, other in zip(first.elts, node.value.elts, strict=True)
            ]
            if program.alone(node):
                joint = program.newline + program.indent(node)
                yield program.replace_statement(node, joint.join(pairs), 4.0)
                yield program.replace_statement(node, joint.join(reversed(pairs)), 4.0)
        return
    if isinstance(node.value, ast.UnaryOp) and isinstance(node.value.op, ast.UAdd | ast.USub):
        # `x =+ 1` is a misspelt `x += 1`.
        sign = "+" if isinstance(node.value.op, ast.UAdd) else "-"
        operand = program.code(node.value.operand)
        yield program.replace_statement(node, f"{target} {sign}= {operand}", 1.6)
    for sign, cost in (("+", 2.8), ("-", 3.2), ("*", 3.4), ("|", 5.0), ("//", 5.0)):
        yield program.replace_statement(node, f"{target} {sign}= {value}", cost)
    yield program.replace_statement(node, f"{target} = max({target}, {value})", 4.0)
    yield program.replace_statement(node, f"{target} = min({target}, {value})", 4.0)
    if program.scope(node) is not program.tree:
        yield program.replace_statement(node, f"return {value}", 4.4)


def returned(program: Program, node: ast.Return) -> Iterator[Splice]:
    """Another returned value."""
    for name in program.variables(node):
        yield program.replace_statement(node, f"return {name}", 3.5)
    if node.value is None:
        for neutral in NEUTRAL[1:]:
            yield program.replace_statement(node, f"return {neutral}", 3.5)
    else:
        yield program.replace_statement(node, f"yield {program.code(node.value)}", 4.4)


def expression(program: Program, node: ast.Expr) -> Iterator[Splice]:
    """A computed value that was thrown away: returned or assigned."""
    value = node.value
    if isinstance(value, ast.Constant):
        return
    text = program.code(value)
    in_function = program.scope(node) is not program.tree
    if isinstance(value, ast.Yield | ast.YieldFrom):
        inner = program.code(value.value) if value.value is not None else "None"
        for word, cost in (("yield", 2.8), ("yield from", 2.8), ("return", 4.0)):
            yield program.replace_statement(node, f"{word} {inner}", cost)
        return
    if in_function:
        yield program.replace_statement(node, f"return {text}", 3.2)
    if isinstance(value, ast.Call):
        if isinstance(value.func, ast.Attribute) and isinstance(value.func.value, ast.Name):
            name = value.func.value.id
            yield program.replace_statement(node, f"{name} = {text}", 3.8)
            if value.func.attr in ("append", "add", "extend") and len(value.args) == 1:
                inner = program.code(value.args[0])
                yield program.replace_statement(node, f"{name} += {inner}", 4.4)
        elif isinstance(value.func, ast.Name):
            for name in program.variables(node):
                yield program.replace_statement(node, f"{name} = {text}", 4.6)
    elif isinstance(value, ast.Compare) and len(value.ops) == 1:
        target, new = program.code(value.left), program.code(value.comparators[0])
        yield program.replace_statement(node, f"{target} = {new}", 1.6)


def jump(program: Program, node: ast.Break | ast.Continue | ast.Pass) -> Iterator[Splice]:
    """Another way to go on, or a return."""
    words = ["break", "continue", "pass"]
    if program.scope(node) is not program.tree:
        words += ["return", "return True", "return False", "return None"]
    for word in words:
        yield program.replace_statement(node, word, 2.6)
    if program.scope(node) is not program.tree:
        for name in program.variables(node):
            yield program.replace_statement(node, f"return {name}", 3.8)


def branch_kind(program: Program, node: ast.If | ast.While) -> Iterator[Splice]:
    """`if` for `while` and `elif`, and the other way round."""
    start = program.start(node)
    word = program.between(start, start + 5)
    if isinstance(node, ast.While):
        yield Splice(start, start + 5, "if", 3.6, node.lineno)
    elif word.startswith("elif"):
        yield Splice(start, start + 4, "if", 3.0, node.lineno)
    else:
        if not node.orelse:
            yield Splice(start, start + 2, "while", 3.6, node.lineno)
        previous = neighbour(program, node, -1)
        if isinstance(previous, ast.If) and not previous.orelse:
            yield Splice(start, start + 2, "elif", 3.0, node.lineno)
