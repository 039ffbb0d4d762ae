"""What stands elsewhere and is missing here: statements of other blocks and of sibling
functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.repair.program import Function, Program, Splice
from agent.repair.program.blocks import (
    block_of,
    indented,
    is_docstring,
    is_elif,
    lines_of,
)

MOST_LINES = 3


def block(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """A short condition with what it guards, done at the start of another block too, or at its
    end."""
    parent, scope = program.parents.get(node), program.scope(node)
    if scope is program.tree or not isinstance(parent, ast.If | ast.For | ast.While | Function):
        return
    around = block_of(program, node)
    if not program.alone(node) or is_docstring(node) or is_elif(program, node):
        return
    above = _above(program, node)
    for one in ast.walk(scope):
        if one is node or not isinstance(one, ast.If) or one in around or one in above:
            continue
        assert one.end_lineno is not None
        if one.orelse or is_elif(program, one) or one.end_lineno - one.lineno >= MOST_LINES:
            continue
        text = indented(lines_of(program, one), program.indent(node))
        start, end = program.whole_lines(node)
        if around[0] is node and not isinstance(parent, Function):
            yield Splice(start, start, text, 3.2, node.lineno)
        if around[-1] is node and not isinstance(node, ast.Return | ast.Raise | ast.Continue):
            yield Splice(end, end, text, 3.4, node.lineno)


def _above(program: Program, node: ast.AST) -> set[ast.AST]:
    found: set[ast.AST] = set()
    at: ast.AST | None = program.parents.get(node)
    while at is not None:
        found.add(at)
        at = program.parents.get(at)
    return found
