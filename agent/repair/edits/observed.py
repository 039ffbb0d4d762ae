"""Conditions and constants made from what the variables held while the tests ran.

What is made here is chosen by what tells failing runs from passing ones. It is a condition, a
threshold, a key: never an answer, so no literal of a test is ever returned.
"""

from __future__ import annotations

import ast
import difflib
import math
from collections.abc import Iterator, Mapping
from typing import Any

from agent.repair.edits.constants import quoted
from agent.repair.evidence import USE, plain, worth
from agent.repair.program import COMPARE, COMPARISONS, Program, Splice
from agent.trees import parse

MOST = 24
"""Conditions made for one line."""
_DIVISORS = (2, 3, 4, 5, 7, 10, 100)
_COMMON = (0, 1, -1, 2)
_OPPOSITE = {
    "<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "==", "in": "not in",
    "not in": "in",
}
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
ALIKE = 0.75
"""How similar a misspelt constant is to the value it was meant to be."""


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


def threshold(program: Program, node: ast.Compare) -> Iterator[Splice]:
    """A bound moved so that it changes failing runs alone."""
    if len(node.ops) != 1:
        return
    sign = COMPARISONS[type(node.ops[0])]
    sides = ((node.left, node.comparators[0], sign), (node.comparators[0], node.left,
                                                      _TURNED.get(sign, "")))
    for side, bound, turned in sides:
        old = bound.value if isinstance(bound, ast.Constant) else None
        if not turned or not isinstance(old, int | float) or isinstance(old, bool):
            continue
        line = program.statement(node).lineno
        moments = program.moments(line)
        text = program.grouped(side, COMPARE + 1)
        before = program.held(program.code(node), line)
        if not any(one is not None for one in before):
            continue
        offers = _bounds(program, text, line, old)
        found = []
        for value in offers:
            after = program.held(f"{text} {turned} {_shown(value)}", line)
            use = worth(before, after, moments)
            if use < 0:
                found.append((use, abs(value - old), value))
        for place, (use, distance, value) in enumerate(sorted(found)[:6]):
            # A bound far away is likelier to fit these tests than to be what was meant.
            far = min(1.5, 0.4 * math.log1p(distance)) + use - USE
            yield program.replace(bound, _shown(value), 2.2 + far + 0.15 * place)


def _bounds(program: Program, text: str, line: int, old: float) -> list[float]:
    """Numbers next to those that a side of a comparison was."""
    found: dict[float, None] = {}
    try:
        names = {one.id for one in ast.walk(parse(text)) if isinstance(one, ast.Name)}
    except SyntaxError:
        return []
    for moment in program.moments(line):
        values = plain(moment)
        for name in sorted(names):
            number = values.get(name)
            if isinstance(number, str | list | tuple | dict | set):
                number = len(number)
            if isinstance(number, int | float) and type(number) is not bool:
                found.update(dict.fromkeys((number, number + 1, number - 1)))
    return [number for number in found if number != old and math.isfinite(number)]


def difference(program: Program, node: ast.Constant) -> Iterator[Splice]:
    """A number of a computation off by as much as the answers were."""
    value = node.value
    if type(value) not in (int, float) or node in program.hidden:
        return
    assert isinstance(value, int | float)
    parent = program.parents.get(node)
    if not isinstance(parent, ast.BinOp | ast.AugAssign | ast.keyword | ast.Call):
        return
    for change, cost in program_differences(program):
        for new in (value + change, value - change):
            yield program.replace(node, _shown(new), cost)
    for ratio, cost in _ratios(program):
        for new in (value * ratio, value / ratio):
            if new and (type(value) is float or new == int(new)):
                yield program.replace(node, _shown(new), cost + 0.4)


def constant_term(program: Program, node: ast.Return | ast.Assign) -> Iterator[Splice]:
    """A number added to a computed value, as much as all answers lacked."""
    value = node.value
    if value is None or isinstance(value, ast.Constant | ast.Tuple | ast.List):
        return
    kinds = program.type_of(value)
    if kinds and not kinds & {"int", "float"}:
        return
    for change, cost in program_differences(program):
        # One answer alone would only be copied.
        if cost < 3.0:
            sign = "+" if change > 0 else "-"
            text = f"{program.grouped(value, 10)} {sign} {_shown(abs(change))}"
            yield program.replace(value, text, cost + 1.0)


def program_differences(program: Program) -> list[tuple[float, float]]:
    """By how much all failing answers were off, with its cost: dearer where there is but one."""
    pairs = _answers(program)
    changes = dict.fromkeys(expected - got for got, expected in pairs)
    if len(changes) != 1:
        return []
    change = next(iter(changes))
    if not change or not math.isfinite(change):
        return []
    return [(change, 2.0 if len(pairs) > 1 else 3.6)]


def _ratios(program: Program) -> list[tuple[float, float]]:
    pairs = _answers(program)
    if not pairs or not all(got and expected for got, expected in pairs):
        return []
    ratios = {round(expected / got, 9) for got, expected in pairs}
    if len(ratios) != 1:
        return []
    ratio = ratios.pop()
    return [(ratio, 2.2 if len(pairs) > 1 else 3.6)] if ratio not in (0.0, 1.0) else []


def _answers(program: Program) -> list[tuple[float, float]]:
    found = []
    for got, expected in program.answers:
        try:
            pair = ast.literal_eval(got), ast.literal_eval(expected)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            return []
        if not all(type(one) in (int, float) and abs(one) < 1e12 for one in pair):
            return []
        found.append(pair)
    return found


def key(program: Program, node: ast.Constant) -> Iterator[Splice]:
    """A key that the dictionaries have, and a word as the arguments spell it."""
    value = node.value
    if not isinstance(value, str) or node in program.hidden:
        return
    parent = program.parents.get(node)
    line = program.statement(node).lineno
    moments = program.moments(line)
    if isinstance(parent, ast.Subscript) or (
        isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute)
        and parent.func.attr in ("get", "pop", "setdefault")
    ):
        keys: dict[str, None] = {}
        for moment in moments:
            for held in plain(moment).values():
                for one in (held, *(held if isinstance(held, list | tuple) else ())):
                    if isinstance(one, dict):
                        keys.update(dict.fromkeys(k for k in one if isinstance(k, str)))
        for place, name in enumerate([name for name in keys if name != value][:8]):
            near = difflib.SequenceMatcher(None, name, value).ratio()
            cost = (2.2 if near >= ALIKE else 3.0) + 0.1 * place
            yield program.replace(node, quoted(name, program.code(node)), cost)
    elif isinstance(parent, ast.Compare | ast.List | ast.Tuple | ast.Set | ast.Dict):
        words = dict.fromkeys(
            held for lines in program.all_moments for held in plain(lines).values()
            if isinstance(held, str) and 3 < len(held) <= 40
        )
        if len(value) > 3 and value not in words:
            for word in difflib.get_close_matches(value, words, 2, ALIKE):
                yield program.replace(node, quoted(word, program.code(node)), 2.4)
