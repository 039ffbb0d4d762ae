"""Edits of a whole function: its last return, its defaults, the names it takes from outside."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.repair.edits.blocks import is_docstring, is_generator
from agent.repair.edits.constants import NEUTRAL
from agent.repair.program import Function, Program, Splice


def missing_return(program: Program, node: Function) -> Iterator[Splice]:
    """A return at a function's end, and after each loop."""
    if is_generator(node) or not program.alone(node.body[-1]):
        return
    if node.body[-1].lineno == node.lineno:
        return
    cost = 2.0 if not any(isinstance(one, ast.Return) for one in ast.walk(node)) else 3.0
    last = node.body[-1]
    if isinstance(last, ast.Return | ast.Raise):
        return
    indent = program.indent(node.body[0])
    answers = [(name, cost) for name in program.variables(node.body[0])]
    answers += [(neutral, cost + 0.6) for neutral in (*NEUTRAL[1:], "-1")]
    for answer, dearer in answers:
        yield program.insert_after(last, [f"return {answer}"], dearer, indent)


def mutable_default(program: Program, node: Function) -> Iterator[Splice]:
    """A default that all calls share, made anew in each call."""
    positional = [*node.args.posonlyargs, *node.args.args]
    pairs = list(zip(reversed(positional), reversed(node.args.defaults), strict=False))
    pairs += [
        (one, value)
        for one, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if value is not None
    ]
    body = [one for one in node.body if not is_docstring(one)]
    if not body or body[0].lineno == node.lineno:
        return
    for argument, value in pairs:
        if isinstance(value, ast.List | ast.Dict | ast.Set) or (
            isinstance(value, ast.Call) and not value.args
        ):
            start = program.whole_lines(body[0])[0]
            indent = program.indent(body[0])
            lines = [
                f"{indent}if {argument.arg} is None:",
                f"{indent}{program.step}{argument.arg} = {program.code(value)}",
            ]
            text = (
                "None" + program.between(program.end(value), start)
                + "".join(line + program.newline for line in lines)
            )
            yield Splice(program.start(value), start, text, 2.0, node.lineno)


def outer_variable(program: Program, node: Function) -> Iterator[Splice]:
    """`global` or `nonlocal` for a name that is assigned here and outside."""
    body = [one for one in node.body if not is_docstring(one)]
    if not body or body[0].lineno == node.lineno:
        return
    assigned = {
        one.id for one in ast.walk(node) if isinstance(one, ast.Name)
        and isinstance(one.ctx, ast.Store)
    }
    outer = program.scope(node)
    for name in sorted(assigned):
        if name in program.module_values:
            yield program.insert_before(body[0], [f"global {name}"], 3.0)
        if isinstance(outer, Function) and name in program.variables(outer.body[0]):
            yield program.insert_before(body[0], [f"nonlocal {name}"], 2.6)
