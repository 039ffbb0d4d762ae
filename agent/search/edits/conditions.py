"""Edits that add or extend conditions, cheaper if they separate failing from passing runs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from heapq import nsmallest
from operator import itemgetter

from agent.search.edits.constants import NEUTRAL
from agent.search.edits.everyday import conditions_elsewhere
from agent.search.evidence import cost_delta, values_of_and, values_of_or
from agent.search.program import (
    NUMBERS,
    SEQUENCES,
    Function,
    Precedence,
    Program,
    Splice,
    parameters,
)
from agent.search.program.blocks import (
    SIMPLE,
    body_start,
    in_loop,
    indented,
    is_docstring,
    is_program_exit,
    lines_of,
)

MAX_CONDITIONS = 400
"""Conditions that are tried at one place."""
_LOW_PRECEDENCE = re.compile(r"\b(or|and|if|lambda)\b")
_CONTAINERS = frozenset({"list", "str", "tuple", "set", "dict"})
MAX_EXIT_CONDITIONS = 80
"""Conditions under which an early exit is tried at one place."""


def condition(program: Program, node: ast.expr) -> Iterator[Splice]:
    """Adds an operand to a condition with `and` or `or`, or replaces the condition."""
    returned = isinstance(program.parents.get(node), ast.Return)
    if not program.is_condition(node) and not (returned and program.type_of(node) == {"bool"}):
        return
    if isinstance(program.parents.get(node), ast.BoolOp | ast.UnaryOp):
        return
    text = program.code(node)
    extra = 0.5 * returned
    line = program.statement(node).lineno
    moments, before = program.moments(line), program.condition_values(text, line)
    operand = program.parenthesized(node, Precedence.NOT)
    alternative = program.parenthesized(node, Precedence.AND)
    for atom, cost in atoms(program, node):
        if atom == text:
            continue
        part = f"({atom})" if _LOW_PRECEDENCE.search(atom) else atom
        now = program.condition_values(atom, line)
        narrow = 4.8 + cost + extra + cost_delta(before, values_of_and(before, now), moments)
        wide = 4.8 + cost + extra + cost_delta(before, values_of_or(before, now), moments)
        yield program.replace(node, f"{operand} and {part}", narrow)
        yield program.replace(node, f"{alternative} or {part}", wide)
        yield program.replace(node, f"{part} and {operand}", narrow + 0.3)
        yield program.replace(node, atom, 5.0 + cost + extra + cost_delta(before, now, moments))


def guarded_start(program: Program, node: Function) -> Iterator[Splice]:
    """Adds an early return for a special value of a parameter at the start of a function."""
    first = body_start(program, node)
    if first is None:
        return
    for name in parameters(node, keywords=False):
        if name in ("self", "cls"):
            continue
        tests = [f"not {name}"]
        if program.may_be(name, NUMBERS):
            tests += [f"{name} < 0", f"{name} <= 0", f"{name} == 0", f"{name} == 1", f"{name} < 2"]
        if program.may_be(name, frozenset({"list", "str", "tuple"})):
            tests += [f"len({name}) == 1", f"len({name}) < 2"]
        if program.may_be(name, frozenset({"NoneType"})):
            tests.append(f"{name} is None")
        for test in tests:
            for position, answer in enumerate((*NEUTRAL, name, "1", "-1", "{}")):
                yield program.insert_before(
                    first, [f"if {test}:", f"{program.indent_unit}return {answer}"],
                    4.4 + 0.05 * position,
                )


def guarded(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """Puts a statement under a condition, or inserts a conditional exit before it."""
    if not isinstance(node, SIMPLE) or not program.has_own_lines(node) or is_docstring(node):
        return
    if not program.is_in_function(node) or is_program_exit(node):
        return
    start, end = program.whole_lines(node)
    inner = indented(lines_of(program, node), program.indent(node) + program.indent_unit)
    exits = ["continue", "break"] if in_loop(program, node) else []
    exits += ["return False", "return True", "return None"]
    line = node.lineno
    moments = program.moments(line)
    never, always = (False,) * len(moments), (True,) * len(moments)
    for place, (test, cost) in enumerate(atoms(program, node)):
        now = program.condition_values(test, line)
        head = f"{program.indent(node)}if {test}:{program.newline}"
        guard_cost = 5.4 + cost + cost_delta(always, now, moments)
        yield Splice(start, end, head + inner, guard_cost, node.lineno)
        if cost < 0.7 and place < MAX_EXIT_CONDITIONS:
            exit_cost = 5.8 + cost + cost_delta(never, now, moments)
            for leave in exits:
                lines = [f"if {test}:", f"{program.indent_unit}{leave}"]
                yield program.insert_before(node, lines, exit_cost)


def atoms(program: Program, node: ast.expr | ast.stmt) -> list[tuple[str, float]]:
    """The `MAX_CONDITIONS` likeliest conditions for a place with their costs, cheapest first."""
    return nsmallest(MAX_CONDITIONS, _atoms(program, node), key=itemgetter(1))


def _atoms(program: Program, node: ast.expr | ast.stmt) -> Iterator[tuple[str, float]]:
    names = program.variables(node)
    numbers = [one for one in program.constants(node, int) if isinstance(one, int)]
    divisors = [near for one in numbers if 1 < one < 100 for near in (one, one + 1)][:4]
    scope = program.scope(node)
    predicates = [one.name for one in program.predicates if one is not scope]
    for text in program.conditions(scope):
        if len(text) < 60:
            yield text, 0.0
    for text in conditions_elsewhere(program, node):
        yield text, 0.5
    for name in names:
        types = program.observed_types(name)
        if program.is_only_filled(name) and program.may_be(name, _CONTAINERS):
            # A container that is only filled was probably built for a lookup.
            for value in program.fills.get(name, ()):
                yield f"{value} in {name}", 0.0
                yield f"{value} not in {name}", 0.05
            for other in names:
                places = ("", "[0]", "[1]", "[-1]") if program.may_be(other, SEQUENCES) else ("",)
                for place in places if other != name else ():
                    yield f"{other}{place} in {name}", 0.1
                    yield f"{other}{place} not in {name}", 0.1
        yield f"not {name}", 0.2
        yield name, 0.4
        if not types or "NoneType" in types:
            yield f"{name} is None", 0.5
            yield f"{name} is not None", 0.5
        if not types or types & NUMBERS:
            for test in ("> 0", "== 0", "< 0", ">= 0", "== 1", "> 1", "!= 0", "<= 0", "<= 1"):
                yield f"{name} {test}", 0.6
            for other in names:
                if other != name and program.may_be(other, NUMBERS):
                    for sign in ("<", "<=", "==", "!="):
                        yield f"{name} {sign} {other}", 0.9
        if types & _CONTAINERS:
            for other in names:
                if other != name:
                    yield f"{other} in {name}", 0.7
                    yield f"{other} not in {name}", 0.7
            for test in ("== 0", "== 1", "> 1"):
                yield f"len({name}) {test}", 0.9
        if types & {"int"}:
            for divisor in dict.fromkeys((2, *divisors)):
                yield f"{name} % {divisor} == 0", 0.9
                yield f"{name} % {divisor} != 0", 0.9
        for function in predicates:
            yield f"{function}({name})", 0.8
            yield f"not {function}({name})", 0.9
        if "str" in types:
            for test in ("isdigit()", "isalpha()", "isupper()", "islower()"):
                yield f"{name}.{test}", 0.9
        plain = {"int", "float", "str", "list", "tuple", "dict", "set", "bool"}
        if not types or not types <= plain:
            for attribute in program.attributes:
                yield f"{name}.{attribute}", 0.9
                yield f"not {name}.{attribute}", 0.9
                yield f"{name}.{attribute} is None", 0.9
