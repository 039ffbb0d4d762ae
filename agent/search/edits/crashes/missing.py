"""Edits for names, attributes and modules that do not exist, and variables without a value."""

from __future__ import annotations

import ast
import difflib
import re
import sys
from collections.abc import Iterator

from agent.search.edits.constants import NEUTRAL, combined, quoted
from agent.search.edits.crashes.around import early_exits, nodes_on, only_if
from agent.search.edits.library import FOREIGN_METHODS, FOREIGN_NAMES, MODULE_OF_NAME
from agent.search.edits.names import attribute_name
from agent.search.program import BUILTINS, Function, Program, Splice
from agent.search.program.blocks import body_start
from agent.search.values import Crash
from agent.target.environment import well_known_modules

CHANCE_COST, MISSPELT = 3.0, 0.8
"""Added to the cost of a built-in name whose similarity to the missing name is below `MISSPELT`."""
_LENGTH = frozenset({"length", "size", "count", "len"})
_FUNCTIONS = ("len", "sorted", "str", "list", "int", "sum", "max", "min", "set", "reversed")


def unknown_name(program: Program, crash: Crash) -> Iterator[Splice]:
    """Repairs an undefined name: by a similar name, an import or an initial value."""
    match = re.search(r"(?:name|variable) '(\w+)'", crash.message)
    if match is None:
        return
    name = match.group(1)
    places = [node for node in program.nodes if isinstance(node, ast.Name) and node.id == name]
    if not places:
        return
    if crash.exception == "NameError":
        at = places[0]
        reachable = tuple(dict.fromkeys(
            (*program.variables(at), *program.callables(at), *program.imported)
        ))
        close = difflib.get_close_matches(name, [*reachable, *sorted(BUILTINS)], 6, 0.5)
        if name in FOREIGN_NAMES:
            close.insert(0, FOREIGN_NAMES[name])
        yield from _imports(program, name)
        yield from _misspelt(program, places, close, reachable)
        yield from _replace_undefined(program, places)
        if name in MODULE_OF_NAME or name in close:
            return
        yield from _misspelt_import(program, at)
    yield from _initial_values(program, name, places)


def _misspelt(
    program: Program, places: list[ast.Name], close: list[str], reachable: tuple[str, ...]
) -> Iterator[Splice]:
    """Replaces a name by similar names, in one place and in all of them at once."""
    name = places[0].id
    ranked = [
        (other, 0.15 * place + CHANCE_COST * (other not in reachable and _is_chance(name, other)))
        for place, other in enumerate(dict.fromkeys(close))
    ]
    ranked += [(other, 1.4) for other in reachable if other not in close]
    for other, cost in ranked:
        if other == name:
            continue
        for one in places:
            yield program.replace(one, other, cost + 0.2)
        if len(places) > 1:
            edits = [(program.start(one), program.end(one), other) for one in places]
            yield combined(program, edits, cost, min(one.lineno for one in places))


def _replace_undefined(program: Program, places: list[ast.Name]) -> Iterator[Splice]:
    """Replaces a name by a field, by a string of its letters, or by a neutral value."""
    for one in places[:4]:
        yield program.replace(one, f"self.{one.id}", 0.9)
        inside = isinstance(program.parents.get(one), ast.FormattedValue)
        word = repr(one.id) if inside else quoted(one.id, _any_string(program))
        yield program.replace(one, word, 1.4)
        for neutral in NEUTRAL:
            yield program.replace(one, neutral, 2.0)


def _misspelt_import(program: Program, place: ast.Name) -> Iterator[Splice]:
    """Replaces a name by a similar one of the standard library, and imports that."""
    for other in difflib.get_close_matches(place.id, sorted(MODULE_OF_NAME), 2, 0.75):
        line = f"from {MODULE_OF_NAME[other]} import {other}{program.newline}"
        at = import_place(program)
        text = line + program.between(at, program.start(place)) + other
        yield Splice(at, program.end(place), text, 1.2, place.lineno)


def _is_chance(name: str, builtin: str) -> bool:
    """Whether a name is similar to a built-in one, but not enough for a misspelling."""
    longer = name.startswith(builtin) or builtin.startswith(name)
    if name in FOREIGN_NAMES or longer or sorted(name.lower()) == sorted(builtin.lower()):
        return False
    return difflib.SequenceMatcher(None, name, builtin).ratio() < MISSPELT


def _any_string(program: Program) -> str:
    """The source of the first plain string of the program, for its quotes."""
    strings = (
        node for node in ast.walk(program.tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        and isinstance(program.parents.get(node), ast.expr | ast.Assign | ast.keyword)
        and not isinstance(program.parents.get(node), ast.JoinedStr)
    )
    return next(map(program.code, strings), "")


def _imports(program: Program, name: str) -> Iterator[Splice]:
    """Adds a forgotten import."""
    at = import_place(program)
    line = program.crash.line if program.crash and program.crash.line else 1
    if name in MODULE_OF_NAME:
        text = f"from {MODULE_OF_NAME[name]} import {name}{program.newline}"
        yield Splice(at, at, text, -0.5, line)
    if name in sys.stdlib_module_names:
        yield Splice(at, at, f"import {name}{program.newline}", -0.4, line)


def _initial_values(program: Program, name: str, places: list[ast.Name]) -> Iterator[Splice]:
    """Adds an assignment, `global` or `nonlocal` at the start of the functions with the name."""
    for scope in dict.fromkeys(program.scope(one) for one in places):
        if not isinstance(scope, Function) or (first := body_start(program, scope)) is None:
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
                    cost = 0.3 - 0.1 * (names != name)
                    yield program.insert_before(first, [f"nonlocal {names}"], cost)


def _assigned(program: Program, scope: Function) -> set[str]:
    """The variables that a function assigns, without those of nested functions."""
    return {
        one.id for one in ast.walk(scope) if isinstance(one, ast.Name)
        and isinstance(one.ctx, ast.Store) and program.scope(one) is scope
    }


def import_place(program: Program) -> int:
    """The offset at which an import may be added: after the docstring and `from __future__`."""
    at = program.line_start(2) if program.text.startswith("#!") else 0
    for statement in program.tree.body:
        is_doc = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not is_doc and not is_future:
            break
        at = program.whole_lines(statement)[1]
    return at


def unknown_attribute(program: Program, crash: Crash) -> Iterator[Splice]:
    """Repairs a missing attribute: by a similar one, a function, or a guard against `None`."""
    match = re.search(r"'([\w.]+)' object has no attribute '(\w+)'", crash.message) or re.search(
        r"module '(\w+)' has no attribute '(\w+)'", crash.message
    )
    if match is None:
        return
    kind, name = match.groups()
    own = [one.name for one in program.defined if isinstance(program.parents[one], ast.ClassDef)]
    pool = list(dict.fromkeys((*crash.known_names, *own, *program.attributes)))
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
        yield from _replace_attribute(program, node)
        for cast in ("str", "list", "set", "dict", "int"):
            yield program.replace(node.value, f"{cast}({base})", 2.2)
        if kind == "NoneType":
            yield from early_exits(program, node, f"{base} is None", 2.2)
            yield from only_if(program, node, f"{base} is not None", 1.8)


def _replace_attribute(program: Program, node: ast.Attribute) -> Iterator[Splice]:
    """Replaces an attribute by a function of the object, an operator, or the object."""
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
    """Corrects the name of a misspelt module or imported name."""
    match = re.search(r"No module named '([\w.]+)'", crash.message)
    named = re.search(r"cannot import name '(\w+)' from '([\w.]+)'", crash.message)
    modules = sorted({*sys.stdlib_module_names, *well_known_modules(), *crash.known_names})
    for node in ast.walk(program.tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        missing, known = match.group(1) if match is not None else "", modules
        relative = (node.module or "") if isinstance(node, ast.ImportFrom) and node.level else ""
        if relative and missing.endswith(f".{relative}"):
            package = missing.removesuffix(relative)
            known = [one.removeprefix(package) for one in modules if one.startswith(package)]
            missing = relative
        if missing and missing in program.code(node):
            name = missing
            uses = [
                one for one in program.nodes
                if isinstance(one, ast.Name) and one.id == name and one not in program.fixed_nodes
            ]
            for place, other in enumerate(difflib.get_close_matches(name, known, 4, 0.7)):
                text = program.code(node).replace(name, other, 1)
                edits = [(program.start(node), program.end(node), text)]
                edits += [(program.start(one), program.end(one), other) for one in uses]
                yield combined(program, edits, 0.2 + 0.2 * place, node.lineno)
        if named is not None and isinstance(node, ast.ImportFrom) and (
            node.module == named.group(2)
            or (relative and named.group(2).endswith(f".{relative}"))
        ):
            close = difflib.get_close_matches(named.group(1), crash.known_names, 4, 0.5)
            for place, other in enumerate(close):
                text = re.sub(rf"\b{named.group(1)}\b", other, program.code(node))
                yield program.replace_statement(node, text, 0.2 + 0.2 * place)
