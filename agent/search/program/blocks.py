"""Blocks, neighbours and lines of statements, and deliberate exits."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.search.program.program import Program
from agent.search.program.scopes import Function

SIMPLE = (ast.Assign, ast.AugAssign, ast.Expr, ast.Return, ast.Break, ast.Continue, ast.Delete)
COMPOUND = (ast.If, ast.For, ast.While, ast.With, ast.Try)
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def block_of(program: Program, node: ast.stmt) -> list[ast.stmt]:
    """The list of statements that holds a statement."""
    parent = program.parents[node]
    for name in ("body", "orelse", "finalbody"):
        found = getattr(parent, name, None)
        if isinstance(found, list) and node in found:
            return found
    return [node]


def neighbour(program: Program, node: ast.stmt, distance: int) -> ast.stmt | None:
    block = block_of(program, node)
    place = block.index(node) + distance
    return block[place] if 0 <= place < len(block) else None


def lines_of(program: Program, node: ast.stmt) -> str:
    """A statement's whole lines, with a final line end."""
    text = program.between(*program.whole_lines(node))
    return text if text.endswith(("\n", "\r")) else text + program.newline


def indented(lines: str, indent: str) -> str:
    """Reindents lines so that the first begins with `indent`; may change multi-line strings."""
    parts = lines.splitlines(keepends=True)
    first = next((part for part in parts if part.strip()), "")
    own = first[: len(first) - len(first.lstrip())]
    return "".join(indent + part.removeprefix(own) if part.strip() else part for part in parts)


def is_elif(program: Program, node: ast.AST) -> bool:
    if not isinstance(node, ast.If):
        return False
    start = program.start(node)
    return program.between(start, start + 4) == "elif"


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def simple_statements(scope: ast.AST) -> Iterator[ast.stmt]:
    """The simple statements of a scope that fit on one line, without docstrings."""
    for node in ast.walk(scope):
        if isinstance(node, SIMPLE) and node.lineno == node.end_lineno and not is_docstring(node):
            yield node


def body_start(program: Program, function: Function) -> ast.stmt | None:
    """A function's first statement after the docstring, if lines can be inserted before it."""
    first = next((one for one in function.body if not is_docstring(one)), None)
    if first is None or first.lineno == function.lineno or not program.has_own_lines(first):
        return None
    return first


def is_generator(node: Function) -> bool:
    return any(isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(node))


def in_loop(program: Program, node: ast.AST) -> bool:
    """Whether `break` and `continue` are allowed at a node."""
    at: ast.AST | None = program.parents.get(node)
    while at is not None and not isinstance(at, Function):
        if isinstance(at, ast.For | ast.While):
            return True
        at = program.parents.get(at)
    return False


def is_program_exit(node: ast.AST) -> bool:
    """Whether a statement is a deliberate exit: `sys.exit()`, `exit()`, `os._exit()`."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return False
    called = node.value.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in ("exit", "_exit", "quit", "abort")


def deliberate_exits(program: Program) -> tuple[tuple[int, int], ...]:
    """First and last lines of every `raise`, `assert` and exit, which are never edited."""
    return tuple(
        (node.lineno, node.end_lineno or node.lineno)
        for node in program.nodes
        if isinstance(node, ast.Raise | ast.Assert | ast.Expr)
        and (not isinstance(node, ast.Expr) or is_program_exit(node))
    )
