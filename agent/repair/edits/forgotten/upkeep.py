"""Steps that are forgotten where something is kept: a flag to raise, a field to begin anew, a
counterpart to call."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from agent.core.trees import parse, parse_expression
from agent.repair.edits.classes import class_of
from agent.repair.program import BUILTINS, Function, Program, Splice, names_in
from agent.repair.program.blocks import (
    SIMPLE,
    simple_statements,
)

_JUMPS = (ast.Return, ast.Raise, ast.Break, ast.Continue)


def begun_anew(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """A field that has been handed on, or lies beside one that is begun anew, begun anew as the
    constructor begins it."""
    method, owner = program.scope(node), class_of(program, node)
    if not isinstance(node, SIMPLE) or isinstance(node, _JUMPS) or not program.alone(node):
        return
    if owner is None or not isinstance(method, Function) or method.name == "__init__":
        return
    handed = {
        program.code(one) for one in ast.walk(node)
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load)
    }
    known = {"self", *program.functions, *program.imported, *BUILTINS}
    for constructor in owner.body:
        if not isinstance(constructor, ast.FunctionDef) or constructor.name != "__init__":
            continue
        begun = [
            one for one in simple_statements(constructor)
            if isinstance(one, ast.Assign) and one.lineno == one.end_lineno
        ]
        kept = {
            one.value.id for one in begun if isinstance(one.value, ast.Name)
            and program.code(one.targets[0]) == f"self.{one.value.id}"
        }
        beside = _begins(program, node, begun)
        set_here = {
            program.code(one) for one in ast.walk(method)
            if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)
        }
        for one in begun:
            field = program.code(one.targets[0])
            if field not in handed and (not beside or field in {*set_here, beside}):
                continue
            if {*names_in(one)} <= known | kept:
                text = _AsFields(kept).visit(parse(program.code(one)))
                yield program.insert_after(
                    node, [ast.unparse(text)], 1.2 if beside else 3.2
                )


def _begins(program: Program, node: ast.stmt, begun: Sequence[ast.Assign]) -> str:
    """The field that a statement begins anew, as the constructor does; empty for any other."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=field, attr="clear"))):
            return program.code(field)
        case ast.Assign(targets=[field]):
            own = ast.unparse(node)
            return program.code(field) if any(ast.unparse(one) == own for one in begun) else ""
    return ""


class _AsFields(ast.NodeTransformer):
    """Parameters of a constructor as the fields that keep them."""

    def __init__(self, kept: set[str]) -> None:
        self._kept = kept

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return parse_expression(f"self.{node.id}") if node.id in self._kept else node
