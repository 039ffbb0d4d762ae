"""Nodes on the line of a crash, early exits before them, and conditions around them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeVar

from agent.core.trees import parse
from agent.search.edits.constants import NEUTRAL
from agent.search.program import BUILTINS, Precedence, Program, Splice, variable_names
from agent.search.program.blocks import DEFINITIONS, in_loop, is_elif

_Node = TypeVar("_Node", bound=ast.AST)


def nodes_on(program: Program, kind: type[_Node], line: int | None) -> Iterator[_Node]:
    """Nodes of a kind on a line, or in the whole program if `line` is `None`."""
    for node in ast.walk(program.tree):
        if isinstance(node, kind) and node not in program.fixed_nodes:
            first = getattr(node, "lineno", None)
            last = getattr(node, "end_lineno", None)
            if line is None or (first is not None and last is not None and first <= line <= last):
                yield node


def early_exits(program: Program, node: ast.AST, test: str, cost: float) -> Iterator[Splice]:
    """Adds `if test: return …`, `continue` or `break` before the node's statement."""
    statement = program.statement(node)
    if is_constant(test) or isinstance(statement, DEFINITIONS):
        return
    if not program.has_own_lines(statement) or is_elif(program, statement):
        return
    exits = ["continue", "break"] if in_loop(program, statement) else []
    if program.is_in_function(node):
        exits += [f"return {neutral}" for neutral in NEUTRAL] + ["return -1"]
    for rank, leave in enumerate(exits):
        yield program.insert_before(
            statement, [f"if {test}:", f"{program.indent_unit}{leave}"], cost + 0.02 * rank
        )


def only_if(program: Program, node: ast.AST, test: str, cost: float) -> Iterator[Splice]:
    """Puts the node's statement under `if test`, or adds `test` to its condition."""
    statement = program.statement(node)
    if is_constant(test):
        return
    if isinstance(statement, ast.If | ast.While):
        condition = program.parenthesized(statement.test, Precedence.NOT)
        yield program.replace(statement.test, f"{test} and {condition}", cost)
        either = program.parenthesized(statement.test, Precedence.AND)
        yield program.replace(statement.test, f"not ({test}) or {either}", cost + 0.2)
        return
    simple = isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr)
    if simple and statement.lineno == statement.end_lineno and program.has_own_lines(statement):
        indent = program.indent(statement)
        start, end = program.whole_lines(statement)
        line = program.between(start, end).lstrip()
        head = f"{indent}if {test}:{program.newline}{indent}{program.indent_unit}"
        yield Splice(start, end, head + line, cost + 0.3, statement.lineno)


def is_constant(test: str) -> bool:
    """Whether a condition reads no variable, so that it is always true or always false."""
    try:
        tree = parse(f"({test}\n)")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return {*variable_names(tree)} <= BUILTINS
