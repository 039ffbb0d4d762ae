"""The way out that is forgotten where there is nothing to work on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.repair.edits.constants import NEUTRAL
from agent.repair.evidence import worth
from agent.repair.program import NUMBERS, Function, Program, Splice, names_in, parameters
from agent.repair.program.blocks import (
    SIMPLE,
    ends_the_program,
    in_loop,
    is_docstring,
    is_generator,
)

MOST_NAMES, MOST_ANSWERS = 4, 8


def early(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """A way out before a statement that has nothing to work on."""
    scope = program.scope(node)
    if not isinstance(node, (*SIMPLE, ast.For, ast.While)) or not program.alone(node):
        return
    if not isinstance(scope, Function) or is_docstring(node) or ends_the_program(node):
        return
    asked: ast.AST = node.iter if isinstance(node, ast.For) else node
    variables = {*program.variables(node)}
    names = [
        one for one in names_in(asked, context=ast.Load)
        if one in variables and one not in ("self", "cls")
    ]
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
    given = parameters(scope, keywords=False)
    found += [f"return {given[0]}"] if given else []
    found += [f"return {value}" for value in NEUTRAL] if returned else ["return"]
    return [*dict.fromkeys(found)][:MOST_ANSWERS]
