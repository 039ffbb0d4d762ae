"""Edits for cases of a kind that were thought of once and hold for more."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations

from agent.repair.edits.blocks import is_elif
from agent.repair.edits.expressions import atoms
from agent.repair.program import NOT, Program, Splice

MOST_NAMES = 4
_JUMPS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def another_case(program: Program, node: ast.BoolOp) -> Iterator[Splice]:
    """One part of a condition once more, with two of its variables exchanged."""
    word = "or" if isinstance(node.op, ast.Or) else "and"
    known = {program.code(one) for one in node.values}
    for part in node.values:
        for text in _exchanged(program, part):
            plain = text.removeprefix("(").removesuffix(")")
            if not known & {plain, f"({plain})"}:
                known.add(plain)
                joined = f"{program.code(node)} {word} ({plain})"
                yield program.replace(node, joined, 3.9)


def all_orders(program: Program, node: ast.Compare) -> Iterator[Splice]:
    """A comparison of several variables, asked of them in every order."""
    if isinstance(program.parents.get(node), ast.BoolOp | ast.Compare):
        return
    names = _names(program, node)
    if not 2 <= len(names) <= MOST_NAMES:
        return
    text = program.grouped(node, NOT)
    turned = [_renamed(program, node, dict(zip(names, names[n:] + names[:n], strict=True)))
              for n in range(1, len(names))]
    for one in turned[:1] if len(names) == 2 else [*turned, None]:
        others = turned if one is None else [one]
        yield program.replace(node, " or ".join([text, *others]), 4.9)
        yield program.replace(node, " and ".join([text, *others]), 5.2)


def another_check(program: Program, node: ast.If) -> Iterator[Splice]:
    """The same way out for another reason, asked right after."""
    last = node.body[-1]
    if node.orelse or not isinstance(last, _JUMPS) or not program.alone(node):
        return
    if is_elif(program, node) or last.lineno == node.lineno:
        return
    own = program.code(node.test)
    head, body = program.start(node.test), program.end(node.test)
    start, end = program.whole_lines(node)
    before, after = program.between(start, head), program.between(body, end)
    if not after.endswith("\n"):
        return
    for test, cost in atoms(program, node):
        if test != own and cost < 0.7:
            yield Splice(end, end, f"{before}{test}{after}", 4.6 + cost, last.lineno)


def _names(program: Program, node: ast.expr) -> list[str]:
    """The variables an expression reads, each once."""
    variables = set(program.variables(node))
    return list(
        dict.fromkeys(
            one.id for one in ast.walk(node) if isinstance(one, ast.Name) and one.id in variables
        )
    )


def _exchanged(program: Program, node: ast.expr) -> Iterator[str]:
    names = _names(program, node)
    for one, other in combinations(names[:MOST_NAMES], 2):
        yield _renamed(program, node, {one: other, other: one})


def _renamed(program: Program, node: ast.expr, names: dict[str, str]) -> str:
    """An expression's text with other names, to stand among others of a condition."""
    start = program.start(node)
    data = program.code(node).encode("utf-8", "surrogatepass")
    places = [
        one for one in ast.walk(node) if isinstance(one, ast.Name) and one.id in names
    ]
    for one in sorted(places, key=program.start, reverse=True):
        at = program.start(one) - start
        data = data[:at] + names[one.id].encode() + data[at + len(one.id.encode()) :]
    text = data.decode("utf-8", "surrogatepass")
    return text if isinstance(node, ast.Compare) else f"({text})"
