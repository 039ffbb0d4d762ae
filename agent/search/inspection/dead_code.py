"""Finds and removes unreachable statements and unused imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from agent.core.trees import is_parsable, nodes_or_empty, tree_of
from agent.search.program import variable_names

BLOCK_ENDS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_BINDS = (
    ast.Yield, ast.YieldFrom, ast.Await, ast.NamedExpr, ast.Global, ast.Nonlocal, ast.Import,
    ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.MatchAs,
    ast.MatchStar, ast.MatchMapping,
)
"""Nodes that change the meaning of their function even if they never run."""


def without_dead_code(text: str, before: str = "") -> str:
    """Removes unreachable statements and unused imports, except for lines that `before` contains.

    Returns the text unchanged if it, or the result, does not parse.
    """
    if not is_parsable(text):
        return text
    lines = text.splitlines(keepends=True)
    known = {line.strip() for line in before.splitlines()}
    dead = [*dead_statements(text), *_unused_imports(tree_of(text))]
    for node in sorted(dead, key=lambda one: -one.lineno):
        first, last = node.lineno - 1, node.end_lineno or node.lineno
        if _is_alone(node, lines) and not known & {line.strip() for line in lines[first:last]}:
            del lines[first:last]
    shorter = "".join(lines)
    return shorter if is_parsable(shorter) else text


def reachable_children(node: ast.AST) -> Iterator[ast.AST]:
    """The children of a node without the statements after the end of their block."""
    for _, value in ast.iter_fields(node):
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield part
            if isinstance(part, BLOCK_ENDS):
                break


def dead_statements(text: str) -> Iterator[ast.stmt]:
    """The statements after the end of their block; none if the text does not parse."""
    for node in nodes_or_empty(text):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                yield from _after_end(block)


def _after_end(block: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    """The statements after the end of a block; none if one of them binds a name."""
    for place, one in enumerate(block):
        if isinstance(one, BLOCK_ENDS):
            rest = block[place + 1 :]
            return () if any(_binds(node) for left in rest for node in ast.walk(left)) else rest
    return ()


def _binds(node: ast.AST) -> bool:
    stored = isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    return stored or isinstance(node, _BINDS) or (
        isinstance(node, ast.ExceptHandler) and node.name is not None
    )


def _unused_imports(tree: ast.Module) -> Iterator[ast.stmt]:
    words = {*variable_names(tree)}
    words |= {  # names in strings, as in `__all__` or in annotations
        word for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for word in node.value.replace(".", " ").split()
    }
    for node in tree.body:
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if isinstance(node, ast.Import | ast.ImportFrom) and not future:
            names = {(one.asname or one.name).partition(".")[0] for one in node.names}
            if not names & (words | {"*"}):
                yield node


def _is_alone(node: ast.stmt, lines: Sequence[str]) -> bool:
    """Whether its lines contain nothing else."""
    first, last = lines[node.lineno - 1], lines[(node.end_lineno or node.lineno) - 1]
    end = last.encode()[node.end_col_offset or 0 :].strip()
    return not first.encode()[: node.col_offset].strip() and (not end or end.startswith(b"#"))
