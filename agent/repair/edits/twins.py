"""Edits that repeat a statement of the program for another of its variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.repair.edits.blocks import (
    DEFINITIONS,
    SIMPLE,
    in_loop,
    is_docstring,
)
from agent.repair.program import NUMBERS, Program, Splice

_LEAVES = ("return False", "return True", "return None", "return 0")


def repeated(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """A statement's twin after it: the same for another variable."""
    if not isinstance(node, SIMPLE) or not program.alone(node) or is_docstring(node):
        return
    if program.scope(node) is program.tree or node.lineno != node.end_lineno:
        return
    if isinstance(node, ast.Return | ast.Break | ast.Continue):
        return
    for text, cost in twins(program, node):
        yield program.insert_after(node, [text], cost)


def twins(program: Program, node: ast.stmt) -> Iterator[tuple[str, float]]:
    """A statement's text with one of its variables replaced by another of the same type."""
    names: dict[str, list[ast.Name]] = {}
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and one not in program.hidden:
            names.setdefault(one.id, []).append(one)
    variables = program.variables(node)
    start = program.start(node)
    own = program.code(node).encode()
    for name, places in names.items():
        if name not in variables:
            continue
        for other in variables:
            if other == name or other in names:
                continue
            seen, there = program.seen(name), program.seen(other)
            if seen and there and not seen & there:
                continue
            text = own
            for place in sorted(places, key=program.start, reverse=True):
                at = program.start(place) - start
                text = text[:at] + other.encode() + text[at + len(name.encode()) :]
            stored = any(isinstance(place.ctx, ast.Store) for place in places)
            unread = not program.reads.get(other)
            yield text.decode(), 4.2 + 0.6 * (not seen or not there) - 0.6 * stored - 0.4 * unread


def otherwise(program: Program, node: ast.If) -> Iterator[Splice]:
    """What is done when a condition does not hold, where nothing was."""
    last = node.body[-1]
    if node.orelse or not program.alone(last) or last.lineno == node.lineno:
        return
    scope = program.scope(node)
    if scope is program.tree:
        return
    texts: dict[str, float] = {}
    for one in node.body:
        if isinstance(one, SIMPLE) and one.lineno == one.end_lineno:
            for text, cost in twins(program, one):
                texts.setdefault(text, cost + 0.4)
    for other in ast.walk(scope):
        if not isinstance(other, SIMPLE) or other in node.body or is_docstring(other):
            continue
        jumps = isinstance(other, ast.Break | ast.Continue)
        if other.lineno == other.end_lineno and not (jumps and not in_loop(program, node)):
            texts.setdefault(program.code(other), 4.8)
    for name in program.variables(node):
        if program.seen(name) & NUMBERS:
            for text in (f"{name} += 1", f"{name} -= 1", f"{name} = 0"):
                texts.setdefault(text, 5.2)
    for text in ("break", "continue") if in_loop(program, node) else ():
        texts.setdefault(text, 5.0)
    for text in ("return False", "return True", "return None"):
        texts.setdefault(text, 5.4)
    indent = program.indent(node)
    for text, cost in texts.items():
        yield program.insert_after(last, ["else:", f"{program.step}{text}"], cost, indent)


def checked(program: Program, node: ast.AugAssign | ast.Assign) -> Iterator[Splice]:
    """A way out when a value that has just changed has gone too far."""
    target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
    if not isinstance(target, ast.Name) or not program.alone(node):
        return
    if program.scope(node) is program.tree or isinstance(node, DEFINITIONS):
        return
    name = target.id
    seen = program.seen(name)
    if seen and not seen & NUMBERS:
        return
    if isinstance(node, ast.Assign) and not in_loop(program, node):
        return
    leaves = [*_LEAVES, *(("break", "continue") if in_loop(program, node) else ())]
    tests = [f"{name} < 0", f"{name} == 0", f"{name} > 1"]
    tests += [
        f"{name} {sign} {other}" for other in program.variables(node)
        if other != name and program.seen(other) & {"int"} for sign in (">", ">=")
    ][:4]
    for place, test in enumerate(tests):
        for leave in leaves:
            cost = 5.0 + 0.2 * place
            yield program.insert_after(node, [f"if {test}:", f"{program.step}{leave}"], cost)
