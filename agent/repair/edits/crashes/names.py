"""Edits where a name does not exist, or has no value yet."""

from __future__ import annotations

import ast
import difflib
import re
import sys
from collections.abc import Iterator

from agent.repair.edits.blocks import is_docstring
from agent.repair.edits.constants import NEUTRAL, quoted
from agent.repair.edits.library import STANDARD, import_place
from agent.repair.facts import Crash
from agent.repair.program import BUILTINS, Function, Program, Splice

_FOREIGN = {
    "true": "True", "false": "False", "null": "None", "none": "None", "nil": "None",
    "undefined": "None", "NULL": "None", "this": "self", "println": "print", "string": "str",
    "integer": "int", "boolean": "bool", "unicode": "str", "xrange": "range",
    "raw_input": "input", "unichr": "chr", "basestring": "str", "long": "int",
}
"""What other languages, and Python 2, call it."""

CHANCE, MISSPELT = 3.0, 0.8
"""What a built-in function costs more whose name is less similar than this to a missing one."""

def unknown_name(program: Program, crash: Crash) -> Iterator[Splice]:
    """A name that does not exist: a close one, an import, or an initial value."""
    match = re.search(r"(?:name|variable) '(\w+)'", crash.message)
    if match is None:
        return
    name = match.group(1)
    places = [
        node for node in ast.walk(program.tree)
        if isinstance(node, ast.Name) and node.id == name
    ]
    if not places:
        return
    if crash.exception == "NameError":
        at = places[0]
        reachable = tuple(dict.fromkeys(
            (*program.variables(at), *program.callables(at), *program.imported)
        ))
        close = _close(name, reachable)
        yield from _imports(program, name)
        yield from _misspelt(program, places, close, reachable)
        yield from _meant(program, places)
        if name in STANDARD or name in close:
            return
        yield from _close_import(program, places[0])
    yield from _initial_values(program, name, places)


def _close(name: str, reachable: tuple[str, ...]) -> list[str]:
    """Names that a missing one may have been meant to be, the likeliest first."""
    close = difflib.get_close_matches(name, [*reachable, *sorted(BUILTINS)], 6, 0.5)
    if name in _FOREIGN:
        close.insert(0, _FOREIGN[name])
    return close


def _misspelt(
    program: Program, places: list[ast.Name], close: list[str], reachable: tuple[str, ...]
) -> Iterator[Splice]:
    name = places[0].id
    ranked = [
        (other, 0.15 * place + CHANCE * (other not in reachable and _is_chance(name, other)))
        for place, other in enumerate(dict.fromkeys(close))
    ]
    ranked += [(other, 1.4) for other in reachable if other not in close]
    for other, cost in ranked:
        if other != name:
            yield from _renamed(program, places, other, cost)


def _meant(program: Program, places: list[ast.Name]) -> Iterator[Splice]:
    """A field, a word without its quotes, or a neutral value in place of a name."""
    for one in places[:4]:
        yield program.replace(one, f"self.{one.id}", 0.9)
        inside = isinstance(program.parents.get(one), ast.FormattedValue)
        word = repr(one.id) if inside else quoted(one.id, _any_string(program))
        yield program.replace(one, word, 1.4)
        for neutral in NEUTRAL:
            yield program.replace(one, neutral, 2.0)


def _close_import(program: Program, place: ast.Name) -> Iterator[Splice]:
    """A misspelt name of the standard library, and its import."""
    for other in difflib.get_close_matches(place.id, sorted(STANDARD), 2, 0.75):
        line = f"from {STANDARD[other]} import {other}{program.newline}"
        at = import_place(program)
        text = line + program.between(at, program.start(place)) + other
        yield Splice(at, program.end(place), text, 1.2, place.lineno)


def _is_chance(name: str, builtin: str) -> bool:
    """Whether a built-in function merely resembles a name, which is no misspelling of it."""
    longer = name.startswith(builtin) or builtin.startswith(name)
    if name in _FOREIGN or longer or sorted(name.lower()) == sorted(builtin.lower()):
        return False
    return difflib.SequenceMatcher(None, name, builtin).ratio() < MISSPELT


def _any_string(program: Program) -> str:
    """The first plain string of the program as it is written, for its quotes."""
    strings = (
        node for node in ast.walk(program.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        and isinstance(program.parents.get(node), ast.expr | ast.Assign | ast.keyword)
        and not isinstance(program.parents.get(node), ast.JoinedStr)
    )
    return next(map(program.code, strings), "")


def _imports(program: Program, name: str) -> Iterator[Splice]:
    """The import that a program forgot."""
    at = import_place(program)
    line = program.crash.line if program.crash and program.crash.line else 1
    if name in STANDARD:
        text = f"from {STANDARD[name]} import {name}{program.newline}"
        yield Splice(at, at, text, -0.5, line)
    if name in sys.stdlib_module_names:
        yield Splice(at, at, f"import {name}{program.newline}", -0.4, line)


def _renamed(
    program: Program, places: list[ast.Name], other: str, cost: float
) -> Iterator[Splice]:
    """Another name in one place, and in all of them at once."""
    for one in places:
        yield program.replace(one, other, cost + 0.2)
    if len(places) > 1:
        ordered = sorted(places, key=program.start)
        first, last = program.start(ordered[0]), program.end(ordered[-1])
        text, at = "", first
        for one in ordered:
            text += program.between(at, program.start(one)) + other
            at = program.end(one)
        yield Splice(first, last, text, cost, ordered[0].lineno)


def _initial_values(
    program: Program, name: str, places: list[ast.Name]
) -> Iterator[Splice]:
    """A first value at the start of the functions that read a name, or whose name it is."""
    for scope in dict.fromkeys(program.scope(one) for one in places):
        if not isinstance(scope, Function):
            continue
        body = [one for one in scope.body if not is_docstring(one)]
        if not body or body[0].lineno == scope.lineno:
            continue
        values = ("0", "[]", "''", "None", "{}", "1", "set()", "False", "True", "float('inf')",
                  "float('-inf')", "-1", *(one.arg for one in scope.args.args))
        for value in values:
            yield program.insert_before(body[0], [f"{name} = {value}"], 1.8)
        for text, _ in program.expressions(scope):
            if not re.search(rf"\b{name}\b", text):
                yield program.insert_before(body[0], [f"{name} = {text}"], 3.2)
        if program.crash is not None and program.crash.exception == "UnboundLocalError":
            if name in program.module_values:
                yield program.insert_before(body[0], [f"global {name}"], 0.2)
            if isinstance(program.scope(scope), Function):
                yield program.insert_before(body[0], [f"nonlocal {name}"], 0.3)
