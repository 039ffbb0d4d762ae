"""Edits that put a condition before a statement, or a way out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.repair.edits.blocks import (
    DEFINITIONS,
    SIMPLE,
    in_loop,
    indented,
    is_docstring,
    is_elif,
    lines_of,
)
from agent.repair.edits.constants import NEUTRAL
from agent.repair.edits.ends import ends_the_program
from agent.repair.edits.expressions import atoms
from agent.repair.edits.observed import separators
from agent.repair.evidence import worth
from agent.repair.program import NUMBERS, Function, Program, Splice

MOST_LEFT_BY = 80
"""Conditions under which a way out is tried."""
MOST_ANSWERS = 20
"""What is tried under one condition."""


def guarded_start(program: Program, node: Function) -> Iterator[Splice]:
    """An answer for a special parameter, before anything else is done."""
    body = [one for one in node.body if not is_docstring(one)]
    if not body or body[0].lineno == node.lineno or not program.alone(body[0]):
        return
    parameters = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]
    for name in parameters:
        if name in ("self", "cls"):
            continue
        tests = [f"not {name}"]
        if program.may_be(name, NUMBERS):
            tests += [f"{name} < 0", f"{name} <= 0", f"{name} == 0", f"{name} == 1", f"{name} < 2"]
        if program.may_be(name, frozenset({"list", "str", "tuple"})):
            tests += [f"len({name}) == 1", f"len({name}) < 2"]
        if program.may_be(name, frozenset({"NoneType"})):
            tests.append(f"{name} is None")
        for test in tests:
            for position, answer in enumerate((*NEUTRAL, name, "1", "-1", "{}")):
                yield program.insert_before(
                    body[0], [f"if {test}:", f"{program.step}return {answer}"],
                    4.4 + 0.05 * position,
                )


def guarded(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """A statement done only under a condition, or a way out before it."""
    if not isinstance(node, SIMPLE) or not program.alone(node) or is_docstring(node):
        return
    if program.scope(node) is program.tree or ends_the_program(node):
        return
    start, end = program.whole_lines(node)
    inner = indented(program, lines_of(program, node), program.indent(node) + program.step)
    leaves = ["continue", "break"] if in_loop(program, node) else []
    leaves += ["return False", "return True", "return None"]
    line = node.lineno
    moments = program.moments(line)
    never, always = (False,) * len(moments), (True,) * len(moments)
    for place, (test, cost) in enumerate(atoms(program, node)):
        now = program.held(test, line)
        head = f"{program.indent(node)}if {test}:{program.newline}"
        kept = 5.4 + cost + worth(always, now, moments)
        yield Splice(start, end, head + inner, kept, node.lineno)
        if cost < 0.7 and place < MOST_LEFT_BY:
            left = 5.8 + cost + worth(never, now, moments)
            for leave in leaves:
                yield program.insert_before(node, [f"if {test}:", f"{program.step}{leave}"], left)


def answered(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """Something the function does elsewhere, done here where failing runs differ."""
    if isinstance(node, DEFINITIONS) or not program.alone(node) or is_elif(program, node):
        return
    scope = program.scope(node)
    tests = separators(program, node.lineno)[:4]
    if scope is program.tree or not tests or is_docstring(node):
        return
    texts = dict.fromkeys(
        program.code(one) for one in ast.walk(scope)
        if isinstance(one, SIMPLE) and one is not node and one.lineno == one.end_lineno
        and not is_docstring(one)
        and (in_loop(program, node) or not isinstance(one, ast.Break | ast.Continue))
    )
    parameters = [one.arg for one in scope.args.args] if isinstance(scope, Function) else []
    neutral = [f"return {value}" for value in (*NEUTRAL, *parameters)]
    for test, _, cost in tests:
        for place, text in enumerate((*texts, *neutral)):
            if place < MOST_ANSWERS:
                lines = [f"if {test}:", f"{program.step}{text}"]
                yield program.insert_before(node, lines, 4.8 + cost + 0.02 * place)
