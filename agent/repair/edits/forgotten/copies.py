"""What stands elsewhere and is missing here: statements of other blocks and of sibling
functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.repair.program import BUILTINS, Function, Program, Splice, names_in
from agent.repair.program.blocks import (
    block_of,
    indented,
    is_docstring,
    is_elif,
    lines_of,
    opening,
)

MOST_LINES = 3
MOST_SIBLINGS = 30


def reset(program: Program, node: ast.Continue | ast.Break | ast.Return) -> Iterator[Splice]:
    """A variable set back before a jump, as it is elsewhere in the function."""
    scope = program.scope(node)
    if not program.alone(node):
        return
    for text in dict.fromkeys(
        program.code(one) for one in ast.walk(scope)
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
        and isinstance(one.value, ast.Constant | ast.List | ast.Dict)
    ):
        if "\n" not in text:
            yield program.insert_before(node, [text], 3.0)


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


def guard(program: Program, node: Function) -> Iterator[Splice]:
    """The guard with which a sibling function begins."""
    first = opening(program, node)
    if first is None:
        return
    own = {*program.variables(first)}
    known = {*own, *program.functions, *program.imported, *program.module_values, *BUILTINS}
    found: dict[str, None] = {}
    for other in program.defined:
        at = opening(program, other)
        if other is node or not isinstance(at, ast.If) or at.orelse or len(at.body) > 1:
            continue
        names = {*names_in(at)}
        if names <= known and names & own:
            found[indented(lines_of(program, at), program.indent(first))] = None
    start = program.whole_lines(first)[0]
    here = program.between(start, program.whole_lines(node)[1])
    for text in [*found][:MOST_SIBLINGS]:
        if text not in here:
            yield Splice(start, start, text, 3.4, first.lineno)


def _above(program: Program, node: ast.AST) -> set[ast.AST]:
    found: set[ast.AST] = set()
    at: ast.AST | None = program.parents.get(node)
    while at is not None:
        found.add(at)
        at = program.parents.get(at)
    return found
