"""Edits where a name, an attribute or a module does not exist, or has no value yet."""

from __future__ import annotations

import ast
import difflib
import re
import sys
from collections.abc import Iterator

from agent.search.edits.constants import NEUTRAL, quoted, together
from agent.search.edits.crashes.around import nodes_on, only_if, ways_out
from agent.search.edits.library import FOREIGN_METHODS, FOREIGN_NAMES, STANDARD
from agent.search.edits.names import attribute_name
from agent.search.program import BUILTINS, Function, Program, Splice
from agent.search.program.blocks import opening
from agent.search.values import Crash
from agent.target.environment import well_known_modules

CHANCE, MISSPELT = 3.0, 0.8
"""What a built-in function costs more whose name is less similar than this to a missing one."""
_LENGTH = frozenset({"length", "size", "count", "len"})
_FUNCTIONS = ("len", "sorted", "str", "list", "int", "sum", "max", "min", "set", "reversed")


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
    if name in FOREIGN_NAMES:
        close.insert(0, FOREIGN_NAMES[name])
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
    if name in FOREIGN_NAMES or longer or sorted(name.lower()) == sorted(builtin.lower()):
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
        edits = [(program.start(one), program.end(one), other) for one in places]
        yield together(program, edits, cost, min(one.lineno for one in places))


def _initial_values(
    program: Program, name: str, places: list[ast.Name]
) -> Iterator[Splice]:
    """A first value at the start of the functions that read a name, or whose name it is."""
    for scope in dict.fromkeys(program.scope(one) for one in places):
        if not isinstance(scope, Function) or (first := opening(program, scope)) is None:
            continue
        values = ("0", "[]", "''", "None", "{}", "1", "set()", "False", "True", "float('inf')",
                  "float('-inf')", "-1", *(one.arg for one in scope.args.args))
        for value in values:
            yield program.insert_before(first, [f"{name} = {value}"], 1.8)
        for text, _ in program.expressions(scope):
            if not re.search(rf"\b{name}\b", text):
                yield program.insert_before(first, [f"{name} = {text}"], 3.2)
        if program.crash is not None and program.crash.exception == "UnboundLocalError":
            if name in program.module_values:
                yield program.insert_before(first, [f"global {name}"], 0.2)
            outer = program.scope(scope)
            if isinstance(outer, Function):
                both = _assigned(program, scope) & _assigned(program, outer)
                for names in dict.fromkeys((name, ", ".join(sorted({name, *both})))):
                    yield program.insert_before(first, [f"nonlocal {names}"], 0.3 - 0.1 * (
                        names != name
                    ))


def _assigned(program: Program, scope: Function) -> set[str]:
    """The variables that a function itself assigns, without those of functions in it."""
    return {
        one.id for one in ast.walk(scope) if isinstance(one, ast.Name)
        and isinstance(one.ctx, ast.Store) and program.scope(one) is scope
    }


def import_place(program: Program) -> int:
    """Where an import may be added: after the docstring and `from __future__`."""
    at = 0
    if program.text.startswith("#!"):
        at = program.line_start(2)
    for statement in program.tree.body:
        is_doc = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not is_doc and not is_future:
            break
        at = program.whole_lines(statement)[1]
    return at


def unknown_attribute(program: Program, crash: Crash) -> Iterator[Splice]:
    """An attribute that does not exist: a close one, a function, or a guard against `None`."""
    match = re.search(r"'([\w.]+)' object has no attribute '(\w+)'", crash.message) or re.search(
        r"module '(\w+)' has no attribute '(\w+)'", crash.message
    )
    if match is None:
        return
    kind, name = match.groups()
    own = [
        one.name for one in ast.walk(program.tree) if isinstance(one, Function)
        and isinstance(program.parents[one], ast.ClassDef)
    ]
    pool = list(dict.fromkeys((*crash.members, *own, *program.attributes)))
    close = difflib.get_close_matches(name, pool, 6, 0.4)
    if FOREIGN_METHODS.get(name) in pool:
        close.insert(0, FOREIGN_METHODS[name])
    for node in nodes_on(program, ast.Attribute, None):
        if node.attr != name or crash.line not in (None, node.lineno, node.end_lineno):
            continue
        base = program.code(node.value)
        for place, other in enumerate(dict.fromkeys(close)):
            if not other.startswith("__"):
                yield attribute_name(program, node, other, 0.2 + 0.1 * place)
        for other in pool:
            yield attribute_name(program, node, other, 2.8)
        yield from _without(program, node)
        for cast in ("str", "list", "set", "dict", "int"):
            yield program.replace(node.value, f"{cast}({base})", 2.2)
        if kind == "NoneType":
            yield from ways_out(program, node, f"{base} is None", 2.2)
            yield from only_if(program, node, f"{base} is not None", 1.8)


def _without(program: Program, node: ast.Attribute) -> Iterator[Splice]:
    """A function of the value, an operator, or the value alone in place of its attribute."""
    base, parent = program.code(node.value), program.parents.get(node)
    if not isinstance(parent, ast.Call) or parent.func is not node:
        yield program.replace(node, f"len({base})", 0.4 if node.attr in _LENGTH else 2.4)
        return
    given = [program.code(one) for one in parent.args]
    for function in (node.attr, *_FUNCTIONS):
        if function in BUILTINS:
            text = f"{function}({', '.join([base, *given])})"
            likely = function == node.attr or (node.attr in _LENGTH and function == "len")
            yield program.replace(parent, text, 0.3 if likely else 2.2)
    if given:
        for sign in ("in", "not in", "+", "|", "&", "-", "=="):
            yield program.replace(parent, f"{given[0]} {sign} {base}", 2.4)
            yield program.replace(parent, f"{base} {sign} {given[0]}", 2.6)
        yield program.replace(parent, f"{base}[{given[0]}]", 2.2)
    yield program.replace(parent, base, 2.4)


def missing_module(program: Program, crash: Crash) -> Iterator[Splice]:
    """A module with a misspelt name, corrected wherever it is used."""
    match = re.search(r"No module named '([\w.]+)'", crash.message)
    named = re.search(r"cannot import name '(\w+)' from '([\w.]+)'", crash.message)
    modules = sorted({*sys.stdlib_module_names, *well_known_modules(), *crash.members})
    for node in ast.walk(program.tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if match is not None and match.group(1) in program.code(node):
            name = match.group(1)
            uses = [
                (program.start(one), program.end(one)) for one in program.nodes
                if isinstance(one, ast.Name) and one.id == name and one not in program.hidden
            ]
            for place, other in enumerate(difflib.get_close_matches(name, modules, 4, 0.7)):
                text = program.code(node).replace(name, other, 1)
                edits = [(program.start(node), program.end(node), text)]
                edits += [(start, end, other) for start, end in uses]
                yield together(program, edits, 0.2 + 0.2 * place, node.lineno)
        if named is not None and isinstance(node, ast.ImportFrom) and node.module == named.group(2):
            for place, other in enumerate(
                difflib.get_close_matches(named.group(1), crash.members, 4, 0.5)
            ):
                text = re.sub(rf"\b{named.group(1)}\b", other, program.code(node))
                yield program.replace_statement(node, text, 0.2 + 0.2 * place)
