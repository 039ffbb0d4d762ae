"""Inserts forgotten steps: early exits, conditions of another block, resets of variables."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from agent.search.edits.classes import class_of
from agent.search.edits.constants import NEUTRAL
from agent.search.evidence import cost_delta
from agent.search.program import (
    BUILTINS,
    NUMBERS,
    Function,
    Program,
    Splice,
    parameters,
    variable_names,
)
from agent.search.program.blocks import (
    SIMPLE,
    block_of,
    in_loop,
    indented,
    is_docstring,
    is_elif,
    is_generator,
    is_program_exit,
    lines_of,
    simple_statements,
)

MAX_NAMES, MAX_ANSWERS, MAX_LINES = 4, 8, 3
_JUMPS = (ast.Return, ast.Raise, ast.Break, ast.Continue)


def early_exit(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """Adds an exit before a statement whose input is empty, `None` or negative."""
    scope = program.scope(node)
    if not isinstance(node, (*SIMPLE, ast.For, ast.While, ast.If)) or is_elif(program, node):
        return
    if not program.has_own_lines(node):
        return
    if not isinstance(scope, Function) or is_docstring(node) or is_program_exit(node):
        return
    source: ast.AST = node
    if isinstance(node, ast.For):
        source = node.iter
    elif isinstance(node, ast.If):
        source = node.test
    variables = {*program.variables(node)}
    names = [
        one for one in variable_names(source, context=ast.Load)
        if one in variables and one not in ("self", "cls")
    ]
    fields = dict.fromkeys(
        program.code(one) for one in program.walk(source)
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)
        and (one.value.id == "self" or one.value.id in variables) and not program.is_called(one)
    )
    line = node.lineno
    moments = program.moments(line)
    exits = _exits(program, node, scope)
    for name in [*names, *fields][:MAX_NAMES]:
        kinds = program.observed_types(name)
        tests = [f"not {name}"]
        if "NoneType" in kinds:
            tests.append(f"{name} is None")
        if kinds & NUMBERS:
            tests.append(f"{name} < 0")
        for far, test in enumerate(tests):
            use = cost_delta((False,) * len(moments), program.condition_values(test, line), moments)
            for place, leave in enumerate(exits):
                cost = 3.6 + 0.1 * far + 0.06 * place + 0.6 * use
                lines = [f"if {test}:", f"{program.indent_unit}{leave}"]
                yield program.insert_before(node, lines, cost)


def _exits(program: Program, node: ast.stmt, scope: Function) -> list[str]:
    """Statements that leave a function or loop early, the likeliest first."""
    found = ["continue", "break"] if in_loop(program, node) else []
    if is_generator(scope):
        return [*found, "return"]
    returned = [
        one.value for one in program.walk(scope)
        if isinstance(one, ast.Return) and one.value is not None and one is not node
    ]
    found += [f"return {program.code(one)}" for one in returned
              if isinstance(one, ast.Constant | ast.Name)]
    found += [f"return {name}" for name in parameters(scope, keywords=False)[:1]]
    found += [f"return {value}" for value in NEUTRAL] if returned else ["return"]
    return [*dict.fromkeys(found)][:MAX_ANSWERS]


def copied_condition(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """Copies a short `if` statement to the start or end of another block."""
    parent, scope = program.parents.get(node), program.scope(node)
    if scope is program.tree or not isinstance(parent, ast.If | ast.For | ast.While | Function):
        return
    around = block_of(program, node)
    if not program.has_own_lines(node) or is_docstring(node) or is_elif(program, node):
        return
    for one in program.walk(scope):
        if not isinstance(one, ast.If) or one in around or node in program.walk(one):
            continue
        assert one.end_lineno is not None
        if one.orelse or is_elif(program, one) or one.end_lineno - one.lineno >= MAX_LINES:
            continue
        text = indented(lines_of(program, one), program.indent(node))
        start, end = program.whole_lines(node)
        if around[0] is node and not isinstance(parent, Function):
            yield Splice(start, start, text, 3.2, node.lineno)
        if around[-1] is node and not isinstance(node, ast.Return | ast.Raise | ast.Continue):
            yield Splice(end, end, text, 3.4, node.lineno)


def reset_variable(
    program: Program, node: ast.Continue | ast.Break | ast.Return
) -> Iterator[Splice]:
    """Resets a variable before a jump, as elsewhere in the function."""
    if not program.has_own_lines(node):
        return
    for text in dict.fromkeys(
        program.code(one) for one in program.walk(program.scope(node))
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
        and isinstance(one.value, ast.Constant | ast.List | ast.Dict)
    ):
        if "\n" not in text:
            yield program.insert_before(node, [text], 3.0)


def reset_field(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """Resets a field to its value in the constructor, after it was used or another was reset."""
    method, owner = program.scope(node), class_of(program, node)
    if owner is None or not isinstance(method, Function) or method.name == "__init__":
        return
    begins = method.name == "__iter__" and isinstance(node, ast.Return)
    if not isinstance(node, SIMPLE) or not program.has_own_lines(node):
        return
    if isinstance(node, _JUMPS) and not begins:
        return
    read = {
        program.code(one) for one in ast.walk(node)
        if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load)
    }
    known = {"self", *program.functions, *program.imported, *BUILTINS}
    for constructor in owner.body:
        if not isinstance(constructor, ast.FunctionDef) or constructor.name != "__init__":
            continue
        initial = [
            one for one in simple_statements(constructor)
            if isinstance(one, ast.Assign) and one.lineno == one.end_lineno
        ]
        stored = {
            one.value.id for one in initial if isinstance(one.value, ast.Name)
            and program.code(one.targets[0]) == f"self.{one.value.id}"
        }
        other = _reset_by(program, node, initial)
        set_here = {
            program.code(one) for one in program.walk(method)
            if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)
        }
        for one in initial:
            field = program.code(one.targets[0])
            if not begins and field not in read and (not other or field in {*set_here, other}):
                continue
            if {*variable_names(one)} <= known | stored:
                value = program.code(one.value)
                for name in stored.intersection(variable_names(one.value)):
                    value = re.sub(rf"(?<![\w.]){name}\b", f"self.{name}", value)
                if begins and value != field:
                    yield program.insert_before(node, [f"{field} = {value}"], 1.6)
                elif not begins:
                    cost = 1.2 if other else 3.2
                    yield program.insert_after(node, [f"{field} = {value}"], cost)


def _reset_by(program: Program, node: ast.stmt, initial: Sequence[ast.Assign]) -> str:
    """The field that a statement resets as the constructor does; empty if there is none."""
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=field, attr="clear"))):
            return program.code(field)
        case ast.Assign(targets=[field]):
            own = ast.unparse(node)
            return program.code(field) if any(ast.unparse(one) == own for one in initial) else ""
    return ""
