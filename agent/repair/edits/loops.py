"""Edits of loops: what belongs inside, what outside, and how far they go."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.repair.edits.blocks import block_of, indented, is_elif, lines_of, neighbour
from agent.repair.edits.calls import given_arguments, replaced_call
from agent.repair.program import NUMBERS, Program, Splice

_LOOPS = (ast.For, ast.While)


def early_end(program: Program, node: ast.For | ast.While) -> Iterator[Splice]:
    """An `else: return` at a loop's end that ends it in its first round: after the loop instead."""
    last = node.body[-1]
    if not isinstance(last, ast.If) or node.orelse:
        return
    inner = last
    while len(inner.orelse) == 1 and is_elif(program, inner.orelse[0]):
        following = inner.orelse[0]
        assert isinstance(following, ast.If)
        inner = following
    if len(inner.orelse) != 1 or not isinstance(inner.orelse[0], ast.Return | ast.Assign):
        return
    leaving = inner.orelse[0]
    if not program.alone(leaving) or not program.alone(inner.body[-1]):
        return
    start = program.whole_lines(inner.body[-1])[1]
    end = program.whole_lines(leaving)[1]
    text = indented(program, lines_of(program, leaving), program.indent(node))
    yield Splice(start, end, text, 2.0, leaving.lineno)


def reset(program: Program, node: ast.Assign) -> Iterator[Splice]:
    """A value set before a loop that should be set in each round, or the other way round."""
    if not program.alone(node) or not isinstance(node.targets[0], ast.Name):
        return
    start, end = program.whole_lines(node)
    own = lines_of(program, node)
    block, parent = block_of(program, node), program.parents[node]
    place = block.index(node)
    for later in block[place + 1 :]:
        if not isinstance(later, _LOOPS) or not program.alone(later):
            continue
        body = later.body[0]
        if body.lineno == later.lineno:
            continue
        stop = program.whole_lines(body)[0]
        text = program.between(end, stop) + indented(program, own, program.indent(body))
        yield Splice(start, stop, text, 2.8, node.lineno)
        break
    plain = isinstance(node.value, ast.Constant | ast.List | ast.Dict | ast.Set | ast.Call)
    above: ast.AST | None = parent
    cost = 2.4
    while plain and len(block) > 1 and isinstance(above, ast.stmt):
        if isinstance(above, _LOOPS) and program.alone(above):
            first = program.whole_lines(above)[0]
            outer = indented(program, own, program.indent(above))
            text = outer + program.between(first, start)
            yield Splice(first, end, text, cost, node.lineno)
            cost += 0.4
        above = program.parents.get(above)


def turned(program: Program, node: ast.Assign) -> Iterator[Splice]:
    """`a = b` and `b = a` done at once, so that neither is lost."""
    after = neighbour(program, node, 1)
    if not isinstance(after, ast.Assign) or not program.alone(node) or not program.alone(after):
        return
    if len(node.targets) != 1 or len(after.targets) != 1:
        return
    if isinstance(node.targets[0], ast.Tuple) or isinstance(after.targets[0], ast.Tuple):
        return
    first, second = (program.code(one.targets[0]) for one in (node, after))
    a, b = program.code(node.value), program.code(after.value)
    if first not in {ast.unparse(one) for one in ast.walk(after.value)
                     if isinstance(one, ast.expr)}:
        return
    start, end = program.start(node), program.end(after)
    text = f"{first}, {second} = {a}, {b}"
    yield Splice(start, end, text, 1.8 if (a, b) == (second, first) else 2.4, node.lineno)


def by_index(program: Program, node: ast.For) -> Iterator[Splice]:
    """Places in a sequence where its elements were gone through, and the other way round."""
    text = program.code(node.iter)
    target = program.code(node.target)
    indexed = any(
        isinstance(one, ast.Subscript) and program.code(one.slice) == target
        and program.code(one.value) == text
        for statement in node.body for one in ast.walk(statement)
    )
    match node.iter:
        case ast.Call(func=ast.Name(id="range"), args=[ast.Call(func=ast.Name(id="len"), args=[
            inner
        ])]):
            yield program.replace(node.iter, program.code(inner), 3.4)
        case ast.Name() | ast.Attribute() | ast.Subscript():
            if not isinstance(node.target, ast.Tuple):
                yield program.replace(node.iter, f"range(len({text}))", 1.6 if indexed else 4.4)
            else:
                yield program.replace(node.iter, f"enumerate({text})", 3.2)
                yield program.replace(node.iter, f"{text}.items()", 3.2)
    if isinstance(node.target, ast.Name):
        for other in program.variables(node):
            if program.seen(other) & {"list", "tuple"} and other != text:
                yield program.replace(node.iter, other, 4.0)


def both_bounds(program: Program, node: ast.Call) -> Iterator[Splice]:
    """Both bounds of a range one further, or one less far."""
    if not (isinstance(node.func, ast.Name) and node.func.id == "range"):
        return
    given = given_arguments(program, node)
    if len(given) not in (2, 3) or any(isinstance(one, ast.Starred) for one in node.args):
        return
    near = [_near(program, one) for one in node.args[:2]]
    for start in near[0]:
        for stop in near[1]:
            yield replaced_call(program, node, [start, stop, *given[2:]], [], 3.4)
    if len(given) == 3:
        start, stop, step = given
        yield replaced_call(program, node, [start, stop], [], 3.2)
        turned = step[1:] if step.startswith("-") else f"-{step}"
        yield replaced_call(program, node, [start, stop, turned], [], 3.0)
        yield replaced_call(program, node, [stop, start, turned], [], 3.2)


def _near(program: Program, node: ast.expr) -> list[str]:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return [str(node.value + 1), str(node.value - 1)]
    match node:
        case ast.BinOp(left=left, op=ast.Sub(), right=ast.Constant(value=1)):
            return [program.code(left), f"{program.code(left)} - 2"]
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=1)):
            return [f"{program.code(left)} + 2", program.code(left)]
    kinds = program.type_of(node)
    if kinds and not kinds & NUMBERS:
        return []
    text = program.grouped(node, 10)
    return [f"{text} + 1", f"{text} - 1"]
