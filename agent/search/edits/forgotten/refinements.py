"""Refines conditions and values: `None` guards, unused names, further fields, normalised text."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from agent.search.edits.calls import keyword_arguments, positional_arguments, replaced_call
from agent.search.edits.classes import fields_of
from agent.search.edits.constants import quoted
from agent.search.program import NUMBERS, Precedence, Program, Splice

MAX_SEPARATORS, MAX_FIELDS = 4, 8
_LOOKED_UP = frozenset({"get", "index", "find", "count", "add", "append", "setdefault", "pop",
                        "fromkeys", "fullmatch", "match", "search"})
_SPELLINGS = (".lower()", ".casefold()", ".strip()", ".upper()")


def none_guard(program: Program, node: ast.Compare) -> Iterator[Splice]:
    """Guards a comparison against `None`."""
    if len(node.ops) != 1 or isinstance(node.ops[0], ast.Is | ast.IsNot):
        return
    text = program.code(node)
    context = program.code(program.statement(node)) if program.is_condition(node) else text
    equal = isinstance(node.ops[0], ast.Eq | ast.NotEq)
    for side in (node.left, node.comparators[0]):
        if not isinstance(side, ast.Name | ast.Attribute):
            continue
        name = program.code(side)
        if f"{name} is " in context:
            continue
        cost = 2.2 if "NoneType" in program.type_of(side) else 3.2 + 0.4 * equal
        yield program.replace(node, f"{name} is not None and {text}", cost)
        yield program.replace(node, f"{name} is None or {text}", cost + 0.4)


def unused_name(program: Program, node: ast.expr) -> Iterator[Splice]:
    """Uses a name that the function binds and never reads."""
    names = program.unused_names(node)
    parent = program.parents.get(node)
    if not names or isinstance(parent, ast.Expr | ast.Attribute):
        return
    for name in names:
        if isinstance(node, ast.Call) and len(node.args) < 4:
            given, named = positional_arguments(program, node), keyword_arguments(program, node)
            yield replaced_call(program, node, [*given, name], named, 2.8)
            yield replaced_call(program, node, given, [*named, f"{name}={name}"], 3.0)
        if program.is_condition(node):
            condition = program.parenthesized(node, Precedence.NOT)
            for text, cost in (("{} and {}", 2.6), ("{} and not {}", 2.7), ("{} or {}", 2.8)):
                yield program.replace(node, text.format(condition, name), cost)
        elif program.is_called(node):
            continue
        elif not program.type_of(node) or program.type_of(node) & NUMBERS:
            for sign, cost in (("+", 2.6), ("-", 2.6), ("*", 3.0)):
                below = Precedence.SUM if sign != "*" else Precedence.PRODUCT
                text = program.parenthesized(node, below)
                yield program.replace(node, f"{text} {sign} {name}", cost)


def normalised_text(program: Program, node: ast.expr) -> Iterator[Splice]:
    """Normalises the case or blanks of text that is compared, looked up or collected."""
    kinds = program.type_of(node)
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
        return
    if (kinds and "str" not in kinds) or not _is_looked_up(program, node):
        return
    text = program.parenthesized(node, Precedence.ATOM)
    mixed = any(word != word.lower() for word in program.words)
    blank = any(word != word.strip() for word in program.words)
    for place, form in enumerate(_SPELLINGS):
        is_relevant = blank if form == ".strip()" else mixed
        if form in text or (isinstance(node, ast.Call) and text.endswith(_SPELLINGS)):
            continue
        cost = 2.8 + 0.1 * place + 0.3 * (not kinds) + 0.6 * (not is_relevant)
        yield program.replace(node, text + form, cost)


def _is_looked_up(program: Program, node: ast.expr) -> bool:
    match program.parents.get(node):
        case ast.Compare(ops=[ast.Eq() | ast.NotEq() | ast.In() | ast.NotIn()]):
            return True
        case ast.Subscript(slice=place):
            return place is node
        case ast.Call(func=ast.Attribute(attr=attr)):
            return attr in _LOOKED_UP
        case ast.ListComp(elt=made) | ast.SetComp(elt=made) | ast.GeneratorExp(elt=made):
            return made is node
        case ast.DictComp(key=made):
            return made is node
        case ast.Assign() as statement:
            return statement.value is node and isinstance(node, ast.Subscript | ast.Attribute)
    return False


def path_prefix(program: Program, node: ast.Call) -> Iterator[Splice]:
    """Compares prefixes up to a separator: the path `/ab` is not in the folder `/a`."""
    match node:
        case ast.Call(func=ast.Attribute(value=base, attr="startswith"), args=[given],
                      keywords=[]) if isinstance(given, ast.Name | ast.Attribute | ast.Subscript):
            text, part = program.parenthesized(base, Precedence.ATOM), program.code(given)
        case _:
            return
    for place, mark in enumerate(_separators(program)):
        cost = 2.6 + 0.1 * place
        begins = f"{text}.startswith({part} + {mark})"
        yield program.replace(node, f"{text} == {part} or {begins}", cost)
        yield program.replace(node, begins, cost + 0.3)


def _separators(program: Program) -> list[str]:
    """Likely separators: one-character strings of the program first, then `/` and `.`."""
    found = Counter(
        one.value for one in program.nodes
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
        and len(one.value) == 1 and not one.value.isalnum() and not one.value.isspace()
    )
    most = [mark for mark, _ in found.most_common(MAX_SEPARATORS)]
    return [quoted(mark, '"') for mark in dict.fromkeys((*most, "/", "."))][: MAX_SEPARATORS + 1]


def field_added(program: Program, node: ast.expr) -> Iterator[Splice]:
    """Adds or subtracts a further field of the object."""
    if not isinstance(program.parents.get(node), ast.Return | ast.Assign | ast.Compare):
        return
    match node:
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult()):
            pass
        case ast.Call(func=ast.Name(id="sum" | "len" | "int" | "round" | "max" | "min")):
            pass
        case ast.Attribute(value=ast.Name(id="self")):
            pass
        case _:
            return
    kinds = program.type_of(node)
    if kinds and not kinds & NUMBERS:
        return
    own = {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}
    text = program.parenthesized(node, Precedence.SUM)
    for name in [one for one in fields_of(program, node) if one not in own][:MAX_FIELDS]:
        yield program.replace(node, f"{text} + self.{name}", 3.0)
        yield program.replace(node, f"{text} - self.{name}", 3.2)
