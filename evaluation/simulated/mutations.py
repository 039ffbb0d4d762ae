"""Programs that are wrong by one change, made for the simulated programmer.

The changes are of its own: most are no edit that our search could take back, such as a statement
that is gone, moved or swapped, a call left out, or a value of another name. What they share with
the operators of the search (a constant, a comparison) is the smaller part.
"""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Callable, Iterator
from functools import partial

Change = Callable[[], object]
MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In,
}


def mutants(text: str, depth: int, most: int, seed: str) -> tuple[str, ...]:
    """Up to `most` other texts, each with `depth` changes one after the other; the same for the
    same seed. Layout and comments are those of `ast.unparse`."""
    chance = random.Random(seed)
    found: dict[str, None] = {}
    for _ in range(most * 6):
        changed = text
        for _ in range(depth):
            changed = _changed(changed, chance)
        if ast.dump(ast.parse(changed)) != ast.dump(ast.parse(text)):
            found[changed] = None
        if len(found) == most:
            break
    return tuple(found)


def _changed(text: str, chance: random.Random) -> str:
    tree = ast.parse(text)
    count = sum(1 for _ in _changes(tree))
    if not count:
        return text
    wanted = chance.randrange(count)
    fresh = copy.deepcopy(tree)
    for number, change in enumerate(_changes(fresh)):
        if number == wanted:
            change()
            break
    text = ast.unparse(ast.fix_missing_locations(fresh)) + "\n"
    compile(text, "mutant", "exec")
    return text


def _changes(tree: ast.Module) -> Iterator[Change]:
    """Every change of a tree, each to be made at most once, in a fixed order."""
    names = sorted({
        node.id for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    } | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)})
    for node in ast.walk(tree):
        yield from _of_bodies(node)
        yield from _of_expressions(node, names)


def _of_bodies(node: ast.AST) -> Iterator[Change]:
    for part in ("body", "orelse"):
        body = getattr(node, part, None)
        if not isinstance(body, list) or isinstance(node, ast.Module | ast.ClassDef):
            continue
        for place, one in enumerate(body):
            if _is_docstring(one):
                continue
            if not isinstance(one, ast.FunctionDef):
                yield partial(body.__setitem__, place, ast.Pass())
            if place + 1 < len(body) and not isinstance(one, ast.Return):
                swapped = [body[place + 1], one]
                yield partial(body.__setitem__, slice(place, place + 2), swapped)
            if isinstance(one, ast.For | ast.While) and len(one.body) > 1:
                yield partial(_move_out, body, place, one)


def _move_out(body: list[ast.stmt], place: int, loop: ast.For | ast.While) -> None:
    """The last statement of a loop comes after it."""
    body.insert(place + 1, loop.body.pop())


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _of_expressions(node: ast.AST, names: list[str]) -> Iterator[Change]:
    match node:
        case ast.Name(id=name, ctx=ast.Load()) if name in names:
            for other in names:
                if other != name:
                    yield partial(setattr, node, "id", other)
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield partial(setattr, node, "test", ast.UnaryOp(ast.Not(), test))
        case ast.Compare(ops=[op, *_]) if type(op) in MIRRORED:
            yield partial(node.ops.__setitem__, 0, MIRRORED[type(op)]())
        case ast.Constant(value=bool()):
            yield partial(setattr, node, "value", not node.value)
        case ast.Constant(value=int(value)):
            yield partial(setattr, node, "value", value + 1)
        case ast.Call(args=[_, _, *_]):
            yield node.args.reverse
        case ast.Return(value=ast.Call(args=[first])):
            yield partial(setattr, node, "value", first)
        case ast.BinOp(op=op):
            other_op = ast.Sub() if isinstance(op, ast.Add) else ast.Add()
            yield partial(setattr, node, "op", other_op)
