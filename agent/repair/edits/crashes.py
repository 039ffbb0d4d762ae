"""Edits suggested by the exception that ended a failing run, at the line where it arose."""

from __future__ import annotations

import ast
import bisect
import collections
import copy
import datetime
import difflib
import functools
import heapq
import itertools
import json
import math
import operator
import os
import random
import re
import statistics
import string
import sys
import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TypeVar

from agent.repair.edits.blocks import in_loop
from agent.repair.edits.constants import quoted
from agent.repair.edits.library import STANDARD, import_place
from agent.repair.edits.names import attribute_name
from agent.repair.edits.statements import NEUTRAL
from agent.repair.facts import Crash
from agent.repair.program import ATOM, BUILTINS, NOT, Function, Program, Splice

_FOREIGN = {
    "true": "True", "false": "False", "null": "None", "none": "None", "nil": "None",
    "undefined": "None", "NULL": "None", "this": "self", "println": "print", "string": "str",
    "integer": "int", "boolean": "bool", "unicode": "str", "xrange": "range",
    "raw_input": "input", "unichr": "chr", "basestring": "str", "long": "int",
}
"""What other languages, and Python 2, call it."""

_METHODS = {
    "push": "append", "push_back": "append", "add": "append", "append": "add",
    "toLowerCase": "lower", "toUpperCase": "upper", "trim": "strip", "indexOf": "index",
    "iteritems": "items", "itervalues": "values", "iterkeys": "keys", "put": "append",
    "enqueue": "append", "dequeue": "popleft", "remove": "pop", "update": "extend",
    "substring": "strip", "contains": "__contains__", "has_key": "__contains__",
}

_Node = TypeVar("_Node", bound=ast.AST)

_MODULES: dict[str, ModuleType] = {
    module.__name__: module
    for module in (
        bisect, collections, copy, datetime, functools, heapq, itertools, json, math, operator, os,
        random, re, statistics, string, sys, time,
    )
}
_TYPES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        list, dict, set, str, int, float, tuple, bytes, bool, frozenset, collections.deque,
        collections.Counter, collections.defaultdict, datetime.datetime, datetime.date,
    )
}

CHANCE, MISSPELT = 3.0, 0.8
"""What a built-in function costs more whose name is less similar than this to a missing one."""

_LENGTH = frozenset({"length", "size", "count", "len"})


def crash(program: Program, node: ast.Module) -> Iterator[Splice]:
    """All edits the crash suggests; nothing where there was none."""
    found = program.crash
    if found is None:
        return
    for names, template in TEMPLATES:
        if found.exception in names:
            yield from template(program, found)


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
        yield from _imports(program, name)
        reachable = dict.fromkeys(
            (*program.variables(places[0]), *program.functions, *program.imported)
        )
        pool = [*reachable, *sorted(BUILTINS)]
        close = difflib.get_close_matches(name, pool, 6, 0.5)
        if name in _FOREIGN:
            close.insert(0, _FOREIGN[name])
        ranked = [
            (other, 0.15 * place + CHANCE * (other not in reachable and _is_chance(name, other)))
            for place, other in enumerate(dict.fromkeys(close))
        ]
        ranked += [(other, 1.4) for other in reachable if other not in close]
        for other, cost in ranked:
            if other != name:
                yield from _renamed(program, places, other, cost)
        for one in places[:4]:
            yield program.replace(one, f"self.{name}", 0.9)
            inside = isinstance(program.parents.get(one), ast.FormattedValue)
            yield program.replace(
                one, repr(name) if inside else quoted(name, _any_string(program)), 1.4
            )
            for neutral in NEUTRAL:
                yield program.replace(one, neutral, 2.0)
        if name in STANDARD or name in close:
            return
        for other in difflib.get_close_matches(name, sorted(STANDARD), 2, 0.75):
            for one in places[:1]:
                line = f"from {STANDARD[other]} import {other}{program.newline}"
                at = import_place(program)
                text = line + program.between(at, program.start(one)) + other
                yield Splice(at, program.end(one), text, 1.2, one.lineno)
    yield from _initial_values(program, name, places)


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


def unknown_attribute(program: Program, crash: Crash) -> Iterator[Splice]:
    """An attribute that does not exist: a close one, a function, or a guard against `None`."""
    match = re.search(r"'(\w+)' object has no attribute '(\w+)'", crash.message) or re.search(
        r"module '(\w+)' has no attribute '(\w+)'", crash.message
    )
    if match is None:
        return
    kind, name = match.groups()
    own = [
        one.name for one in ast.walk(program.tree) if isinstance(one, Function)
        and isinstance(program.parents[one], ast.ClassDef)
    ]
    pool = list(dict.fromkeys((*_members(kind, "module" in crash.message[:6]), *own,
                               *program.attributes)))
    close = difflib.get_close_matches(name, pool, 6, 0.4)
    if _METHODS.get(name) in pool:
        close.insert(0, _METHODS[name])
    for node in _nodes(program, ast.Attribute, None):
        if node.attr != name or crash.line not in (None, node.lineno, node.end_lineno):
            continue
        base = program.code(node.value)
        for place, other in enumerate(dict.fromkeys(close)):
            if not other.startswith("__"):
                yield attribute_name(program, node, other, 0.2 + 0.1 * place)
        for other in pool:
            yield attribute_name(program, node, other, 2.8)
        parent = program.parents.get(node)
        if isinstance(parent, ast.Call) and parent.func is node:
            given = [program.code(one) for one in parent.args]
            for function in (name, "len", "sorted", "str", "list", "int", "sum", "max", "min",
                             "set", "reversed"):
                if function in BUILTINS:
                    text = f"{function}({', '.join([base, *given])})"
                    likely = function == name or (name in _LENGTH and function == "len")
                    cost = 0.3 if likely else 2.2
                    yield program.replace(parent, text, cost)
            if given:
                for sign in ("in", "not in", "+", "|", "&", "-", "=="):
                    yield program.replace(parent, f"{given[0]} {sign} {base}", 2.4)
                    yield program.replace(parent, f"{base} {sign} {given[0]}", 2.6)
                yield program.replace(parent, f"{base}[{given[0]}]", 2.2)
            yield program.replace(parent, base, 2.4)
        else:
            yield program.replace(node, f"len({base})", 0.4 if name in _LENGTH else 2.4)
        for cast in ("str", "list", "set", "dict", "int"):
            yield program.replace(node.value, f"{cast}({base})", 2.2)
        if kind == "NoneType":
            yield from _ways_out(program, node, f"{base} is None", 2.2)
            yield from _only_if(program, node, f"{base} is not None", 1.8)


def wrong_type(program: Program, crash: Crash) -> Iterator[Splice]:
    """Values of the wrong type converted, calls for indices, missing arguments, `self`."""
    message = crash.message
    for node in _nodes(program, ast.expr, crash.line):
        parent = program.parents.get(node)
        context = getattr(node, "ctx", None)
        if isinstance(node, ast.Slice | ast.Starred) or isinstance(context, ast.Store | ast.Del):
            continue
        text = program.code(node)
        called = isinstance(parent, ast.Call) and parent.func is node
        if not called and isinstance(
            parent, ast.BinOp | ast.Call | ast.Compare | ast.Subscript | ast.AugAssign | ast.Return
            | ast.For | ast.Assign
        ):
            for cast in ("str", "int", "float", "list", "tuple", "len", "sum"):
                likely = f"not {cast}" in message or cast in ("str", "int")
                if cast == "str" and "concatenate str" in message:
                    likely = not isinstance(node, ast.Constant)
                yield program.replace(node, f"{cast}({text})", 1.4 if likely else 2.0)
            base = program.grouped(node, ATOM)
            for view in (".encode()", ".decode()", "[0]", ".items()", ".values()"):
                yield program.replace(node, base + view, 2.2)
            iterated = isinstance(parent, ast.For) and parent.iter is node
            yield program.replace(node, f"range({text})", 0.6 if iterated else 2.4)
            yield program.replace(node, f"range(len({text}))", 0.8 if iterated else 2.4)
        if isinstance(node, ast.Call) and "not callable" in message:
            given = ", ".join(program.code(one) for one in node.args)
            function = program.code(node.func)
            yield program.replace(node, f"{function}[{given}]", 0.6)
            yield program.replace(node, function, 0.8)
            yield program.replace(node, f"{function} * ({given})", 1.2)
        is_value = isinstance(node, ast.Attribute) or (
            isinstance(node, ast.Name) and node.id in program.functions
        )
        if is_value and not called:
            yield program.replace(node, f"{text}()", 1.2)
        if isinstance(node, ast.Subscript) and "not subscriptable" in message:
            inner = program.code(node.slice)
            yield program.replace(node, f"{program.code(node.value)}({inner})", 0.8)
        if isinstance(node, ast.Name | ast.Attribute) and "NoneType" in message:
            yield from _ways_out(program, node, f"{text} is None", 2.6)
            yield program.replace(node, f"({text} or 0)", 2.2)
            yield program.replace(node, f"({text} or [])", 2.4)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and "str" in message:
            left, right = program.code(node.left), program.code(node.right)
            yield program.replace(node, f"str({left}) + str({right})", 1.8)
    if "positional argument" in message or "required" in message:
        yield from _signatures(program)


def outside(program: Program, crash: Crash) -> Iterator[Splice]:
    """An index out of range: a bound one too far, a condition, or a way out before it."""
    yield from _bounds(program)
    for node in _nodes(program, ast.Subscript, crash.line):
        if isinstance(node.slice, ast.Slice):
            continue
        base, place = program.code(node.value), program.grouped(node.slice, 6)
        if isinstance(node.ctx, ast.Load) and not _is_settled(f"{place}, {base}"):
            value = program.grouped(node, 2)
            for neutral in ("None", "0", "''"):
                yield program.replace(
                    node, f"{value} if {place} < len({base}) else {neutral}", 3.2
                )
        yield from _only_if(program, node, f"{place} < len({base})", 2.6)
        yield from _only_if(program, node, base, 2.8)
        yield from _ways_out(program, node, f"not {program.grouped(node.value, NOT)}", 2.2)
        yield from _ways_out(program, node, f"{place} >= len({base})", 2.6)
    for call in _nodes(program, ast.Call, crash.line):
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("pop", "popleft"):
            base = program.code(call.func.value)
            yield from _only_if(program, call, base, 1.6)
            yield from _ways_out(program, call, f"not {base}", 2.0)


def _bounds(program: Program) -> Iterator[Splice]:
    """Loops that go one too far: `range(n + 1)`, `while i <= n`."""
    for node in ast.walk(program.tree):
        match node:
            case ast.For(iter=ast.Call(func=ast.Name(id="range"), args=[*_, stop])):
                if isinstance(stop, ast.BinOp) and isinstance(stop.op, ast.Add):
                    yield program.replace(stop, program.code(stop.left), 0.4)
                elif not isinstance(stop, ast.UnaryOp):
                    yield program.replace(stop, f"{program.grouped(stop, 10)} - 1", 1.6)
            case ast.While(test=ast.Compare(ops=[ast.LtE()]) as test):
                between = program.between(program.end(test.left), program.start(
                    test.comparators[0]))
                at = program.end(test.left) + between.encode().find(b"<=")
                yield Splice(at, at + 2, "<", 0.4, test.lineno)


def missing_key(program: Program, crash: Crash) -> Iterator[Splice]:
    """A key that is not there: `get`, an initial value, or a way out."""
    for node in _nodes(program, ast.Subscript, crash.line):
        if isinstance(node.slice, ast.Slice):
            continue
        base, key = program.code(node.value), program.code(node.slice)
        statement = program.statement(node)
        if isinstance(statement, ast.AugAssign) and statement.target is node:
            sign = program.between(program.end(node), program.start(statement.value))
            sign = sign.strip().removesuffix("=")
            value = program.grouped(statement.value, 11)
            for neutral in ("0", "[]", "''", "1"):
                text = f"{base}[{key}] = {base}.get({key}, {neutral}) {sign} {value}"
                yield program.replace_statement(statement, text, 0.4)
        if isinstance(node.ctx, ast.Load):
            for rank, neutral in enumerate(("0", "None", "[]", "''", "{}", "False", "1")):
                yield program.replace(node, f"{base}.get({key}, {neutral})", 0.8 + 0.05 * rank)
            yield program.replace(node, f"{base}.get({key})", 0.82)
            parent = program.parents.get(node)
            if isinstance(parent, ast.Attribute):
                for neutral in ("[]", "set()", "{}"):
                    yield program.replace(node, f"{base}.setdefault({key}, {neutral})", 0.7)
            missing = crash.message.strip("'\"")
            # The key may be written where the dictionary is made, outside this function.
            keys = {
                one.value for one in _nodes(program, ast.Constant, None)
                if isinstance(one.value, str) and one.value != missing
            }
            for other in difflib.get_close_matches(missing, sorted(keys), 3, 0.6):
                if isinstance(node.slice, ast.Constant):
                    yield program.replace(node.slice, quoted(other, key), 0.3)
        if program.alone(statement) and not _in_elif(program, node):
            for neutral in ("0", "[]", "set()", "''", "{}"):
                lines = [f"if {key} not in {base}:", f"{program.step}{base}[{key}] = {neutral}"]
                yield program.insert_before(statement, lines, 1.4)
        yield from _ways_out(program, node, f"{key} not in {base}", 2.2)
        yield from _only_if(program, node, f"{key} in {base}", 1.8)


def zero_division(program: Program, crash: Crash) -> Iterator[Splice]:
    """A division by zero: an answer for the empty case."""
    for node in _nodes(program, ast.BinOp, crash.line):
        if not isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod):
            continue
        divisor, whole = program.code(node.right), program.code(node)
        for neutral in ("0", "0.0", "None", "1"):
            if not _is_settled(divisor):
                yield program.replace(node, f"{whole} if {divisor} else {neutral}", 1.2)
        yield from _ways_out(program, node, f"not {program.grouped(node.right, NOT)}", 1.4)
        yield from _only_if(program, node, divisor, 2.0)


def bad_value(program: Program, crash: Crash) -> Iterator[Splice]:
    """A value that cannot be taken: cleaned, converted by another function, or skipped."""
    for node in _nodes(program, ast.Call, crash.line):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        given = [program.code(one) for one in node.args]
        if name == "int" and len(given) == 1:
            yield program.replace(node, f"int(float({given[0]}))", 1.2)
            yield program.replace(node, f"float({given[0]})", 1.6)
        if name in ("int", "float") and len(given) == 1:
            base = program.grouped(node.args[0], ATOM)
            yield program.replace(node, f"{name}({base}.strip())", 1.6)
            yield program.replace(node, f"{name}({given[0]} or 0)", 1.4)
            yield from _ways_out(program, node, f"not {given[0]}", 2.0)
            yield from _ways_out(program, node, f"not {base}.isdigit()", 2.2)
        if name in ("max", "min") and len(given) == 1:
            for neutral in ("0", "None"):
                yield program.replace(node, f"{name}({given[0]}, default={neutral})", 0.8)
            yield from _ways_out(program, node, f"not {given[0]}", 1.4)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("remove", "index") and given:
            base = program.code(node.func.value)
            yield from _only_if(program, node, f"{given[0]} in {base}", 1.2)
            yield from _ways_out(program, node, f"{given[0]} not in {base}", 1.8)
            if node.func.attr == "index":
                yield program.replace(node, f"{base}.find({given[0]})", 1.6)


def endless(program: Program, crash: Crash) -> Iterator[Splice]:
    """A loop that does not end: a step towards its end."""
    for loop in _nodes(program, ast.While, None):
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
    for function in _nodes(program, ast.FunctionDef, None):
        calls = any(
            isinstance(one, ast.Call) and isinstance(one.func, ast.Name)
            and one.func.id == function.name for one in ast.walk(function)
        )
        body = [one for one in function.body if not (
            isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
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


def unpacking(program: Program, crash: Crash) -> Iterator[Splice]:
    """Too many or too few values: pairs made by `items`, `enumerate` or `zip`."""
    for node in ast.walk(program.tree):
        if not isinstance(node, ast.For | ast.comprehension):
            continue
        if isinstance(node.target, ast.Tuple) and crash.line in (None, node.iter.lineno):
            text = program.code(node.iter)
            base = program.grouped(node.iter, ATOM)
            yield program.replace(node.iter, f"{base}.items()", 0.8)
            yield program.replace(node.iter, f"enumerate({text})", 0.8)
            yield program.replace(node.iter, f"zip({text})", 2.0)


def missing_module(program: Program, crash: Crash) -> Iterator[Splice]:
    """A module with a misspelt name."""
    match = re.search(r"No module named '([\w.]+)'", crash.message)
    named = re.search(r"cannot import name '(\w+)' from '([\w.]+)'", crash.message)
    standard = sorted(sys.stdlib_module_names)
    for node in ast.walk(program.tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        if match is not None and match.group(1) in program.code(node):
            name = match.group(1)
            for place, other in enumerate(difflib.get_close_matches(name, standard, 4, 0.6)):
                text = program.code(node).replace(name, other, 1)
                yield program.replace_statement(node, text, 0.2 + 0.2 * place)
        if named is not None and isinstance(node, ast.ImportFrom) and node.module == named.group(2):
            members = _members(named.group(2), True)
            for place, other in enumerate(
                difflib.get_close_matches(named.group(1), members, 4, 0.5)
            ):
                text = re.sub(rf"\b{named.group(1)}\b", other, program.code(node))
                yield program.replace_statement(node, text, 0.2 + 0.2 * place)


TEMPLATES: tuple[tuple[tuple[str, ...], Callable[[Program, Crash], Iterator[Splice]]], ...] = (
    (("NameError", "UnboundLocalError"), unknown_name),
    (("AttributeError",), unknown_attribute),
    (("TypeError",), wrong_type),
    (("IndexError",), outside),
    (("KeyError",), missing_key),
    (("ZeroDivisionError",), zero_division),
    (("ValueError",), bad_value),
    (("ValueError", "TypeError"), unpacking),
    (("TimeoutError", "MemoryError"), endless),
    (("RecursionError", "TimeoutError"), endless_recursion),
    (("ModuleNotFoundError", "ImportError"), missing_module),
)
"""Which edits an exception suggests."""


def _nodes(
    program: Program, kind: type[_Node], line: int | None
) -> Iterator[_Node]:
    """Nodes of a kind, on a line if there is one."""
    for node in ast.walk(program.tree):
        if isinstance(node, kind) and node not in program.hidden:
            first = getattr(node, "lineno", None)
            last = getattr(node, "end_lineno", None)
            if line is None or (first is not None and last is not None and first <= line <= last):
                yield node


def _imports(program: Program, name: str) -> Iterator[Splice]:
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
    for one in places:
        yield program.replace(one, other, cost + 0.2)
    if len(places) > 1:
        first, last = program.start(places[0]), 0
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
    scopes = dict.fromkeys(program.scope(one) for one in places)
    for scope in scopes:
        if not isinstance(scope, Function):
            continue
        body = [one for one in scope.body if not (
            isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
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


def _signatures(program: Program) -> Iterator[Splice]:
    """A missing `self`, a missing argument."""
    for function in _nodes(program, ast.FunctionDef, None):
        owner = program.parents[function]
        names = [one.arg for one in function.args.args]
        if isinstance(owner, ast.ClassDef) and names[:1] not in (["self"], ["cls"]):
            opening = program.data.find(b"(", program.start(function))
            text = "self, " if names else "self"
            yield Splice(opening + 1, opening + 1, text, 0.4, function.lineno)
    for call in _nodes(program, ast.Call, None):
        if program.crash and program.crash.line not in (None, call.lineno):
            continue
        opening = program.data.find(b"(", program.end(call.func)) + 1
        given = [program.code(one) for one in call.args]
        if call.keywords:
            continue
        for i in range(len(given) + 1):
            for name in (*program.variables(call), "0", "1", "[]", "''", "None"):
                text = ", ".join([*given[:i], name, *given[i:]])
                yield Splice(opening, program.end(call) - 1, text, 2.4, call.lineno)


def _ways_out(program: Program, node: ast.AST, test: str, cost: float) -> Iterator[Splice]:
    """`if test: return …` before the node's statement."""
    statement = program.statement(node)
    if _is_settled(test):
        return
    if not program.alone(statement) or _in_elif(program, node):
        return
    if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        return
    leaves = ["continue", "break"] if in_loop(program, statement) else []
    if program.scope(node) is not program.tree:
        leaves += [f"return {neutral}" for neutral in NEUTRAL] + ["return -1"]
    for rank, leave in enumerate(leaves):
        yield program.insert_before(
            statement, [f"if {test}:", f"{program.step}{leave}"], cost + 0.02 * rank
        )


def _only_if(program: Program, node: ast.AST, test: str, cost: float) -> Iterator[Splice]:
    """The node's statement done only if `test` holds, or its condition extended by it."""
    statement = program.statement(node)
    if _is_settled(test):
        return
    if isinstance(statement, ast.If | ast.While):
        condition = program.grouped(statement.test, NOT)
        yield program.replace(statement.test, f"{test} and {condition}", cost)
        yield program.replace(
            statement.test, f"not ({test}) or {program.grouped(statement.test, 3)}", cost + 0.2
        )
        return
    simple = isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr)
    if simple and statement.lineno == statement.end_lineno and program.alone(statement):
        indent = program.indent(statement)
        start, end = program.whole_lines(statement)
        line = program.between(start, end).lstrip()
        head = f"{indent}if {test}:{program.newline}{indent}{program.step}"
        yield Splice(start, end, head + line, cost + 0.3, statement.lineno)


def _is_settled(test: str) -> bool:
    """Whether a condition reads no variable, so that it always or never holds."""
    try:
        tree = ast.parse(f"({test}\n)")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    names = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
    return names <= BUILTINS


def _in_elif(program: Program, node: ast.AST) -> bool:
    statement = program.statement(node)
    start = program.start(statement)
    return program.between(start, start + 4) == "elif"


def _members(name: str, is_module: bool) -> list[str]:
    """Public names of a built-in type or a module of the standard library."""
    owner = (_MODULES if is_module else _TYPES).get(name)
    return [] if owner is None else [one for one in dir(owner) if not one.startswith("_")]
