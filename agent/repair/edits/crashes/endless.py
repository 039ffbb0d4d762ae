"""Edits where a loop or a recursion does not end."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.repair.edits.blocks import is_docstring
from agent.repair.edits.crashes.around import nodes_on
from agent.repair.facts import Crash
from agent.repair.program import Program, Splice


def endless(program: Program, crash: Crash) -> Iterator[Splice]:
    """A loop that does not end: a step towards its end."""
    for loop in nodes_on(program, ast.While, None):
        tested = [
            one.id for one in ast.walk(loop.test) if isinstance(one, ast.Name)
            and one.id in program.variables(loop)
        ]
        last = loop.body[-1]
        if not program.alone(last) or last.lineno == loop.lineno:
            continue
        indent = program.indent(loop.body[0])
        steps = []
        for name in dict.fromkeys(tested):
            seen = program.seen(name)
            if not seen or seen & {"int", "float"}:
                steps += [f"{name} += 1", f"{name} -= 1", f"{name} //= 2", f"{name} //= 10"]
            if not seen or seen & {"list", "set", "dict"}:
                steps.append(f"{name}.pop()")
            if seen & {"list", "str"}:
                steps.append(f"{name} = {name}[1:]")
            for attribute in program.attributes:
                steps.append(f"{name} = {name}.{attribute}")
        for step in steps:
            yield program.insert_after(last, [step], 2.4, indent)
            for inner in ast.walk(loop):
                if not isinstance(inner, ast.If) or not program.alone(inner.body[-1]):
                    continue
                if inner.body[-1].lineno > inner.lineno:
                    yield program.insert_after(inner.body[-1], [step], 3.0)
                    yield program.insert_before(inner.body[-1], [step], 3.0)
        yield program.insert_after(last, ["break"], 3.2, indent)


def endless_recursion(program: Program, crash: Crash) -> Iterator[Splice]:
    """A function that calls itself for ever: an answer for the smallest case."""
    for function in nodes_on(program, ast.FunctionDef, None):
        calls = any(
            isinstance(one, ast.Call) and isinstance(one.func, ast.Name)
            and one.func.id == function.name for one in ast.walk(function)
        )
        body = [one for one in function.body if not is_docstring(one)]
        if not calls or not body or body[0].lineno == function.lineno:
            continue
        for argument in function.args.args:
            name = argument.arg
            tests = [f"not {name}"]
            if program.may_be(name, frozenset({"int"})):
                tests += [f"{name} <= 0", f"{name} <= 1", f"{name} < 2"]
            if program.may_be(name, frozenset({"list", "str", "tuple"})):
                tests += [f"len({name}) <= 1"]
            for test in tests:
                for answer in ("0", "1", name, "[]", "''", "None", "True", "False", "{}"):
                    lines = [f"if {test}:", f"{program.step}return {answer}"]
                    yield program.insert_before(body[0], lines, 1.6)
