"""Ends that an author wanted: they are not healed away."""

from __future__ import annotations

import ast

from agent.repair.program import Program


def ends_the_program(node: ast.AST) -> bool:
    """Whether a statement is a deliberate exit: `sys.exit()`, `exit()`, `os._exit()`."""
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return False
    called = node.value.func
    name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
    return name in ("exit", "_exit", "quit", "abort")


def deliberate_ends(program: Program) -> tuple[tuple[int, int], ...]:
    """Lines of `raise`, `assert` and exits: what the author wanted is not healed away."""
    return tuple(
        (node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(program.tree)
        if isinstance(node, ast.Raise | ast.Assert) or ends_the_program(node)
        if isinstance(node, ast.stmt)
    )
