"""Edits of whole functions: missing returns, mutable defaults, copies of shared values."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from agent.search.edits.constants import NEUTRAL
from agent.search.program import Function, Program, Splice
from agent.search.program.blocks import block_of, body_start, is_generator

_MUTATING_METHODS = frozenset(
    "append extend insert remove pop clear sort reverse add discard update popitem setdefault "
    "appendleft popleft".split()
)


def missing_return(program: Program, node: Function) -> Iterator[Splice]:
    """Adds a return at the end of a function."""
    last = node.body[-1]
    if is_generator(node) or not program.has_own_lines(last) or last.lineno == node.lineno:
        return
    if isinstance(last, ast.Return | ast.Raise):
        return
    cost = 2.0 if not any(isinstance(one, ast.Return) for one in ast.walk(node)) else 3.0
    indent = program.indent(node.body[0])
    values = [(name, cost) for name in program.variables(node.body[0])]
    values += [(neutral, cost + 0.6) for neutral in (*NEUTRAL[1:], "-1")]
    for value, value_cost in values:
        yield program.insert_after(last, [f"return {value}"], value_cost, indent)


def mutable_default(program: Program, node: Function) -> Iterator[Splice]:
    """Creates a mutable default in each call instead of sharing it."""
    positional = [*node.args.posonlyargs, *node.args.args]
    pairs = list(zip(reversed(positional), reversed(node.args.defaults), strict=False))
    pairs += [
        (one, value)
        for one, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if value is not None
    ]
    first = body_start(program, node)
    if first is None:
        return
    for argument, value in pairs:
        if isinstance(value, ast.List | ast.Dict | ast.Set) or (
            isinstance(value, ast.Call) and not value.args
        ):
            start = program.whole_lines(first)[0]
            indent = program.indent(first)
            lines = [
                f"{indent}if {argument.arg} is None:",
                f"{indent}{program.indent_unit}{argument.arg} = {program.code(value)}",
            ]
            text = (
                "None" + program.between(program.end(value), start)
                + "".join(line + program.newline for line in lines)
            )
            cost = 0.0 if mutates(node.body, argument.arg) else 1.2
            yield Splice(program.start(value), start, text, cost, node.lineno)


def copied(program: Program, node: ast.Assign | ast.Return) -> Iterator[Splice]:
    """Copies a value that is changed later, or that an object returns or stores."""
    value = node.value
    if not isinstance(value, ast.Name | ast.Attribute | ast.Subscript):
        return
    kinds = program.type_of(value)
    if kinds and not kinds & {"list", "dict", "set", "deque", "Counter", "defaultdict"}:
        return
    cost, shared_cost = (4.2, 2.8) if kinds else (5.0, 3.4)
    match node:
        case ast.Assign(targets=[ast.Name(id=name), *_]):
            block = block_of(program, node)
            if mutates(block[block.index(node) + 1 :], name):
                cost = 2.6
        case ast.Return(value=ast.Attribute(value=ast.Name(id="self"))):
            cost = shared_cost
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"))], value=ast.Name()):
            cost = shared_cost
    text = program.code(value)
    if not kinds or "list" in kinds:
        yield program.replace(value, f"{text}[:]", cost)
        yield program.replace(value, f"list({text})", cost + 0.1)
    yield program.replace(value, f"{text}.copy()", cost + 0.2)
    for kind in ("dict", "set"):
        if kind in kinds:
            yield program.replace(value, f"{kind}({text})", cost + 0.1)


def mutates(body: Iterable[ast.AST], name: str) -> bool:
    """Whether statements modify the object that a name or attribute refers to."""
    for one in (inner for statement in body for inner in ast.walk(statement)):
        match one:
            case ast.Call(func=ast.Attribute(value=base, attr=attr)) if attr in _MUTATING_METHODS:
                if ast.unparse(base) == name:
                    return True
            case ast.Subscript(value=base, ctx=ast.Store() | ast.Del()):
                if ast.unparse(base) == name:
                    return True
            case ast.AugAssign(target=target):
                if ast.unparse(target) == name:
                    return True
    return False
