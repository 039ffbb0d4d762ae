"""Edits that take all of a sequence for one of its elements, or one for all."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.repair.program import ATOM, SEQUENCES, Program, Splice

_FOLDS = ("sum", "max", "min", "len")


def folded(program: Program, node: ast.Subscript) -> Iterator[Splice]:
    """All elements taken together in place of one of them."""
    if not isinstance(node.ctx, ast.Load) or isinstance(node.slice, ast.Slice):
        return
    constant = isinstance(node.slice, ast.Constant | ast.UnaryOp)
    if not constant or not program.type_of(node.value) & SEQUENCES:
        return
    whole = program.code(node.value)
    for name in _FOLDS:
        yield program.replace(node, f"{name}({whole})", 4.4)


def one_of(program: Program, node: ast.Call) -> Iterator[Splice]:
    """The first or the last element in place of all taken together."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=[whole], keywords=[]) if name in _FOLDS:
            text = program.grouped(whole, ATOM)
            if not isinstance(whole, ast.GeneratorExp):
                yield program.replace(node, f"{text}[0]", 4.8)
                yield program.replace(node, f"{text}[-1]", 4.8)
