"""Conditions put where none was, or extended: those of the program, and those that told failing
runs from passing ones while the tests ran.

What is observed becomes a condition, never an answer, so no literal of a test is ever returned.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping
from heapq import nsmallest
from operator import itemgetter
from typing import Any

from agent.repair.edits.constants import NEUTRAL
from agent.repair.evidence import USE, both, either, plain, worth
from agent.repair.program import (
    AND,
    NOT,
    NUMBERS,
    SEQUENCES,
    Function,
    Program,
    Splice,
    parameters,
)
from agent.repair.program.blocks import (
    SIMPLE,
    ends_the_program,
    in_loop,
    indented,
    is_docstring,
    lines_of,
    opening,
)

MOST_CONDITIONS = 400
"""What is asked at one place."""
_LOOSE = re.compile(r"\b(or|and|if|lambda)\b")
_CONTAINERS = frozenset({"list", "str", "tuple", "set", "dict"})
MOST_LEFT_BY = 80
"""Conditions under which a way out is tried."""
MOST = 24
"""Conditions made for one line."""
_DIVISORS = (2, 3, 4, 5, 7, 10, 100)
_COMMON = (0, 1, -1, 2)
_OPPOSITE = {
    "<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "==", "in": "not in",
    "not in": "in",
}


def condition(program: Program, node: ast.expr) -> Iterator[Splice]:
    """A condition with a further part, or another condition."""
    returned = isinstance(program.parents.get(node), ast.Return)
    if not program.is_tested(node) and not (returned and program.type_of(node) == {"bool"}):
        return
    if isinstance(program.parents.get(node), ast.BoolOp | ast.UnaryOp):
        return
    text = program.code(node)
    extra = 0.5 * returned
    line = program.statement(node).lineno
    moments, before = program.moments(line), program.held(text, line)
    for atom, cost in atoms(program, node):
        if atom == text:
            continue
        part = f"({atom})" if _LOOSE.search(atom) else atom
        now = program.held(atom, line)
        narrow = 4.8 + cost + extra + worth(before, both(before, now), moments)
        wide = 4.8 + cost + extra + worth(before, either(before, now), moments)
        yield program.replace(node, f"{program.grouped(node, NOT)} and {part}", narrow)
        yield program.replace(node, f"{program.grouped(node, AND)} or {part}", wide)
        yield program.replace(node, f"{part} and {program.grouped(node, NOT)}", narrow + 0.3)
        yield program.replace(node, atom, 5.0 + cost + extra + worth(before, now, moments))


def guarded_start(program: Program, node: Function) -> Iterator[Splice]:
    """An answer for a special parameter, before anything else is done."""
    first = opening(program, node)
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
                    first, [f"if {test}:", f"{program.step}return {answer}"],
                    4.4 + 0.05 * position,
                )


def guarded(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """A statement done only under a condition, or a way out before it."""
    if not isinstance(node, SIMPLE) or not program.alone(node) or is_docstring(node):
        return
    if program.scope(node) is program.tree or ends_the_program(node):
        return
    start, end = program.whole_lines(node)
    inner = indented(lines_of(program, node), program.indent(node) + program.step)
    leaves = ["continue", "break"] if in_loop(program, node) else []
    leaves += ["return False", "return True", "return None"]
    line = node.lineno
    moments = program.moments(line)
    never, always = (False,) * len(moments), (True,) * len(moments)
    for place, (test, cost) in enumerate(atoms(program, node)):
        now = program.held(test, line)
        head = f"{program.indent(node)}if {test}:{program.newline}"
        kept = 5.4 + cost + worth(always, now, moments)
        yield Splice(start, end, head + inner, kept, node.lineno)
        if cost < 0.7 and place < MOST_LEFT_BY:
            left = 5.8 + cost + worth(never, now, moments)
            for leave in leaves:
                yield program.insert_before(node, [f"if {test}:", f"{program.step}{leave}"], left)


def atoms(program: Program, node: ast.expr | ast.stmt) -> list[tuple[str, float]]:
    """Conditions that could be asked at a place, with how far-fetched each is, the likeliest first.

    Many names in reach make thousands, none of which is likely.
    """
    return nsmallest(MOST_CONDITIONS, _atoms(program, node), key=itemgetter(1))


def _atoms(program: Program, node: ast.expr | ast.stmt) -> Iterator[tuple[str, float]]:
    names = program.variables(node)
    numbers = [one for one in program.constants(node, int) if isinstance(one, int)]
    divisors = [near for one in numbers if 1 < one < 100 for near in (one, one + 1)][:4]
    scope = program.scope(node)
    asked = [one.name for one in program.askers if one is not scope]
    for text in program.conditions(scope):
        if len(text) < 60:
            yield text, 0.0
    for text, opposite, cost in separators(program, program.statement(node).lineno):
        yield text, cost - 0.5
        yield opposite, cost - 0.5
    for name in names:
        seen = program.seen(name)
        if not program.reads.get(name) and program.may_be(name, _CONTAINERS):
            # What was prepared and is never looked at was meant to be asked.
            for other in names:
                places = ("", "[0]", "[1]", "[-1]") if program.may_be(other, SEQUENCES) else ("",)
                for place in places if other != name else ():
                    yield f"{other}{place} in {name}", 0.1
                    yield f"{other}{place} not in {name}", 0.1
        yield f"not {name}", 0.2
        yield name, 0.4
        if not seen or "NoneType" in seen:
            yield f"{name} is None", 0.5
            yield f"{name} is not None", 0.5
        if not seen or seen & NUMBERS:
            for test in ("> 0", "== 0", "< 0", ">= 0", "== 1", "> 1", "!= 0", "<= 0", "<= 1"):
                yield f"{name} {test}", 0.6
            for other in names:
                if other != name and program.may_be(other, NUMBERS):
                    for sign in ("<", "<=", "==", "!="):
                        yield f"{name} {sign} {other}", 0.9
        if seen & {"list", "str", "tuple", "set", "dict"}:
            for other in names:
                if other != name:
                    yield f"{other} in {name}", 0.7
                    yield f"{other} not in {name}", 0.7
            for test in ("== 0", "== 1", "> 1"):
                yield f"len({name}) {test}", 0.9
        if seen & {"int"}:
            for divisor in dict.fromkeys((2, *divisors)):
                yield f"{name} % {divisor} == 0", 0.9
                yield f"{name} % {divisor} != 0", 0.9
        for function in asked:
            yield f"{function}({name})", 0.8
            yield f"not {function}({name})", 0.9
        if "str" in seen:
            for test in ("isdigit()", "isalpha()", "isupper()", "islower()"):
                yield f"{name}.{test}", 0.9
        plain = {"int", "float", "str", "list", "tuple", "dict", "set", "bool"}
        if not seen or not seen <= plain:
            for attribute in program.attributes:
                yield f"{name}.{attribute}", 0.9
                yield f"not {name}.{attribute}", 0.9
                yield f"{name}.{attribute} is None", 0.9


def separators(program: Program, line: int) -> list[tuple[str, str, float]]:
    """Conditions that held in failing runs alone, their opposites, how far-fetched each is."""
    moments = program.moments(line)
    failing = [plain(one) for one in moments if not one.passed]
    passing = [plain(one) for one in moments if one.passed]
    if not failing or not passing:
        return []
    found: dict[str, tuple[str, float]] = {}

    def offer(left: str, sign: str, right: str, cost: float) -> None:
        found.setdefault(f"{left} {sign} {right}", (f"{left} {_OPPOSITE[sign]} {right}", cost))

    names = list(dict.fromkeys(name for values in failing for name in values))
    for name in names:
        for text, fs, ps in _quantities(name, failing, passing):
            _thresholds(text, fs, ps, offer)
    numbers = [name for name in names if _numbers(failing, name)]
    for place, first in enumerate(numbers):
        for second in numbers[place + 1 :]:
            for sign in ("<", ">", "==", "!=", "<=", ">="):
                offer(first, sign, second, 0.9)
    for name in names:
        if any(isinstance(values.get(name), list | tuple) for values in failing):
            offer(f"len(set({name}))", "<", f"len({name})", 0.8)
            offer(name, "==", f"sorted({name})", 0.9)
    never = (False,) * len(moments)
    kept = []
    for text, (opposite, cost) in found.items():
        use = worth(never, program.held(text, line), moments)
        if use < 0:
            kept.append((text, opposite, cost + use - USE))
    kept.sort(key=lambda one: one[2])
    return kept[:MOST]


def _quantities(
    name: str, failing: list[Mapping[str, Any]], passing: list[Mapping[str, Any]]
) -> Iterator[tuple[str, list[float], list[float]]]:
    """Numbers that a name stands for: itself, or its length."""
    fs, ps = _numbers(failing, name), _numbers(passing, name)
    if fs:
        yield name, fs, ps
    lengths = [
        [float(len(values[name])) for values in side
         if isinstance(values.get(name), str | list | tuple | dict | set)]
        for side in (failing, passing)
    ]
    if lengths[0]:
        yield f"len({name})", lengths[0], lengths[1]


def _numbers(side: list[Mapping[str, Any]], name: str) -> list[float]:
    found = (values.get(name) for values in side)
    return [one for one in found if isinstance(one, int | float) and type(one) is not bool]


def _thresholds(text: str, fs: list[float], ps: list[float], offer: Any) -> None:
    """Bounds, values and remainders that a number has in failing runs alone."""
    if not ps:
        return
    low, high = min(ps), max(ps)
    below, above = [one for one in fs if one < low], [one for one in fs if one > high]
    if below:
        for bound in dict.fromkeys((low, max(below) + 1)):
            offer(text, "<", _shown(bound), 0.5 if bound in _COMMON else 0.6)
    if above:
        for bound in dict.fromkeys((high, min(above) - 1)):
            offer(text, ">", _shown(bound), 0.5 if bound in _COMMON else 0.6)
    for value in dict.fromkeys(fs):
        # A single value of a single test would be the test itself, written as a condition.
        if value not in ps and (value in _COMMON or fs.count(value) > 1):
            offer(text, "==", _shown(value), 0.9 if value in _COMMON else 1.6)
    if any(one != int(one) for one in (*fs, *ps) if math.isfinite(one)) or "len(" in text:
        return
    for divisor in _DIVISORS:
        there = {one % divisor for one in ps}
        here = {one % divisor for one in fs} - there
        if 0.0 in here:
            offer(f"{text} % {divisor}", "==", "0", 1.5)
        elif there == {0.0} and here:
            offer(f"{text} % {divisor}", "!=", "0", 1.5)
        elif len(here) == 1 and len(fs) > 1:
            offer(f"{text} % {divisor}", "==", _shown(here.pop()), 1.8)


def _shown(number: float) -> str:
    whole = math.isfinite(number) and number == int(number)
    return str(int(number)) if whole else repr(number)
