"""Edits of coroutines: a forgotten `await`, or the `async` of a loop."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.search.edits.library import AWAITED
from agent.search.program import Function, Program, Splice


def awaited(program: Program, node: ast.Call) -> Iterator[Splice]:
    """Awaits a call of a coroutine of the program, of asyncio, or of an object."""
    parent = program.parents.get(node)
    if not isinstance(program.scope(node), ast.AsyncFunctionDef) or isinstance(
        parent, ast.Await | ast.Starred | ast.AsyncFor | ast.comprehension | ast.withitem
    ):
        return
    match node.func:
        case ast.Name(id=name) | ast.Attribute(attr=name) if name in _coroutines(program):
            cost = 0.4
        case ast.Attribute(value=ast.Name(id="asyncio"), attr=name) if name in AWAITED:
            cost = 0.4
        case ast.Name(id=name) if name in _parameters(program, node):
            cost = 0.8
        case ast.Attribute(attr=name) if name in AWAITED:
            cost = 1.6
        case _:
            return
    text = f"await {program.code(node)}"
    is_bound = isinstance(parent, ast.Attribute | ast.Subscript | ast.BinOp | ast.UnaryOp)
    yield program.replace(node, f"({text})" if is_bound else text, cost)


def looped(program: Program, node: ast.For) -> Iterator[Splice]:
    """Makes a loop over an asynchronous generator an `async for`."""
    match node.iter:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if (
            name in _coroutines(program)
            and isinstance(program.scope(node), ast.AsyncFunctionDef)
        ):
            at = program.start(node)
            yield Splice(at, at, "async ", 0.4, node.lineno)


def _parameters(program: Program, node: ast.AST) -> set[str]:
    """The parameters of all functions around a node, such as a decorator's function."""
    at, found = program.scope(node), set[str]()
    while isinstance(at, Function):
        found |= {one.arg for one in at.args.args}
        at = program.scope(at)
    return found


def _coroutines(program: Program) -> set[str]:
    return {one.name for one in program.defined if isinstance(one, ast.AsyncFunctionDef)}
