"""What is empty, absent, negative or one of several: the cases that a value or a branch forgets."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.repair.edits.constants import NEUTRAL, quoted
from agent.repair.edits.entries import fitting
from agent.repair.evidence import worth
from agent.repair.program import AND, COMPARE, NUMBERS, OR, Function, Program, Splice
from agent.repair.program.blocks import (
    SIMPLE,
    ends_the_program,
    in_loop,
    is_docstring,
    is_generator,
)

MOST_NAMES, MOST_ANSWERS, MOST_OTHERS = 4, 6, 4


def empty_or_none(program: Program, node: ast.expr) -> Iterator[Splice]:
    """Empty is not absent, or the other way round."""
    parent = program.parents.get(node)
    match node:
        case ast.Name() | ast.Attribute() if program.is_tested(node):
            text = program.code(node)
            if isinstance(parent, ast.UnaryOp):
                yield program.replace(parent, f"{text} is None", 2.4)
            else:
                yield program.replace(node, f"{text} is not None", 2.6)
        case ast.Compare(left=left, ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]):
            yield program.replace(node, program.code(left), 2.8)
        case ast.Compare(left=left, ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
            yield program.replace(node, f"not {program.grouped(left, COMPARE)}", 2.8)
        case ast.BoolOp(op=ast.Or(), values=[ast.Name() | ast.Attribute() as first, other]):
            text = program.code(first)
            whole = f"{text} if {text} is not None else {program.grouped(other, OR)}"
            yield program.replace(node, whole, 2.6)


def or_else(program: Program, node: ast.expr) -> Iterator[Splice]:
    """Another value where there is none."""
    parent = program.parents.get(node)
    if not isinstance(parent, ast.Assign | ast.Return | ast.Call | ast.keyword | ast.Tuple):
        return
    if isinstance(parent, ast.Call) and parent.func is node:
        return
    kinds = program.type_of(node)
    match node:
        case ast.Subscript(value=base, slice=place) if not isinstance(place, ast.Slice):
            own, key = program.code(base), program.code(place)
            if not isinstance(place, ast.Constant) or isinstance(place.value, str):
                yield program.replace(node, f"{own}.get({key})", 3.0)
                for neutral in ("0", "''", "[]"):
                    yield program.replace(node, f"{own}.get({key}, {neutral})", 3.2)
            others = [
                text for text, one in program.expressions(program.scope(node))
                if isinstance(one, ast.Subscript) and program.code(one.value) == own
                and text != program.code(node)
            ]
        case ast.Call(func=ast.Attribute(attr="get" | "group") as called):
            others = [
                text for text, one in program.expressions(program.scope(node))
                if isinstance(one, ast.Call) and text != program.code(node)
                and program.code(one.func) == program.code(called)
            ]
        case ast.Name() | ast.Attribute() if "NoneType" in kinds:
            others = []
        case _:
            return
    text = program.grouped(node, AND)
    for far, other in enumerate((*others[:MOST_OTHERS], "''", "[]", "0", "{}")):
        yield program.replace(node, f"{text} or {other}", 3.0 + 0.1 * far)


def early(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """A way out before a statement that has nothing to work on."""
    scope = program.scope(node)
    if not isinstance(node, (*SIMPLE, ast.For, ast.While)) or not program.alone(node):
        return
    if not isinstance(scope, Function) or is_docstring(node) or ends_the_program(node):
        return
    asked: ast.AST = node.iter if isinstance(node, ast.For) else node
    variables = {*program.variables(node)}
    names = dict.fromkeys(
        one.id for one in ast.walk(asked)
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load) and one.id in variables
        and one.id not in ("self", "cls")
    )
    fields = dict.fromkeys(
        program.code(one) for one in ast.walk(asked)
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)
        and one.value.id == "self" and not isinstance(program.parents.get(one), ast.Call)
    )
    line = node.lineno
    moments = program.moments(line)
    answers = _answers(program, node, scope)
    for name in [*names, *fields][:MOST_NAMES]:
        kinds = program.seen(name)
        tests = [f"not {name}"]
        if "NoneType" in kinds:
            tests.append(f"{name} is None")
        if kinds & NUMBERS:
            tests.append(f"{name} < 0")
        for far, test in enumerate(tests):
            use = worth((False,) * len(moments), program.held(test, line), moments)
            for place, answer in enumerate(answers):
                cost = 3.6 + 0.1 * far + 0.06 * place + 0.6 * use
                yield program.insert_before(node, [f"if {test}:", f"{program.step}{answer}"], cost)


def _answers(program: Program, node: ast.stmt, scope: Function) -> list[str]:
    """How a function may end early: as it does elsewhere, or with what it was given."""
    found = ["continue", "break"] if in_loop(program, node) else []
    if is_generator(scope):
        return [*found, "return"]
    returned = [
        one.value for one in ast.walk(scope)
        if isinstance(one, ast.Return) and one.value is not None and one is not node
    ]
    found += [f"return {program.code(one)}" for one in returned
              if isinstance(one, ast.Constant | ast.Name)]
    given = [one.arg for one in (*scope.args.posonlyargs, *scope.args.args)]
    found += [f"return {given[0]}"] if given else []
    found += [f"return {value}" for value in NEUTRAL] if returned else ["return"]
    return [*dict.fromkeys(found)][: MOST_ANSWERS + 2]


def one_of(program: Program, node: ast.Compare) -> Iterator[Splice]:
    """One of several texts or numbers, where one alone is asked for."""
    match node:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.NotEq() as op],
                         comparators=[ast.Constant(value=value) as one]):
            pass
        case _:
            return
    if isinstance(value, bool) or not isinstance(value, str | int):
        return
    others: list[str] = []
    if isinstance(value, str):
        near = [*map(str, program.constants(node, str)), *program.words]
        others = [quoted(text, program.code(one)) for text in fitting(near, [value])]
    else:
        others = [repr(value + 1), repr(value - 1)]
    word = "in" if isinstance(op, ast.Eq) else "not in"
    for place, other in enumerate(others[:MOST_ANSWERS]):
        text = f"{program.grouped(left, COMPARE + 1)} {word} ({program.code(one)}, {other})"
        yield program.replace(node, text, 3.0 + 0.1 * place)


def not_negative(program: Program, node: ast.BinOp) -> Iterator[Splice]:
    """A difference that never falls below zero, or counts without its sign."""
    parent = program.parents.get(node)
    if isinstance(node.op, ast.Sub) and isinstance(
        parent, ast.Return | ast.Assign | ast.Call | ast.keyword
    ):
        yield program.replace(node, f"max(0, {program.code(node)})", 3.0)
