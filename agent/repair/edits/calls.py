"""Edits of calls: arguments, keywords, wrapping and unwrapping."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.repair.program import ATOM, NUMBERS, Program, Splice

_KEYS = ("reverse=True", "key=len", "key=lambda x: x[1]", "key=lambda x: x[0]", "key=abs",
         "key=str", "key=int", "default=0", "default=None")

WRAPPERS: dict[str, tuple[str, ...]] = {
    "int": ("str({})", "abs({})", "float({})", "-{}", "[{}]", "bool({})"),
    "float": ("int({})", "round({})", "abs({})", "-{}", "str({})"),
    "str": ("int({})", "float({})", "len({})", "list({})", "sorted({})", "set({})", "{}.lower()",
            "{}.upper()", "{}.strip()", "{}[::-1]", "ord({})", "{}.split()"),
    "list": ("len({})", "sorted({})", "set({})", "sum({})", "max({})", "min({})", "tuple({})",
             "{}[::-1]", "{}[0]", "{}[-1]", "str({})", "list({})"),
    "tuple": ("len({})", "sorted({})", "list({})", "set({})", "{}[0]", "{}[-1]", "sum({})",
              "max({})", "min({})"),
    "set": ("len({})", "list({})", "sorted({})", "sum({})", "max({})", "min({})"),
    "dict": ("len({})", "list({})", "{}.keys()", "{}.values()", "{}.items()", "sorted({})"),
    "bool": ("not {}", "int({})"),
}
"""What is often forgotten around a value of a type."""

_UNKNOWN = ("abs({})", "len({})", "int({})", "str({})", "list({})", "sorted({})", "set({})",
            "-{}", "not {}")


def arguments(program: Program, node: ast.Call) -> Iterator[Splice]:
    """Arguments swapped, dropped or added."""
    given, named = given_arguments(program, node), named_arguments(program, node)
    for i in range(len(given)):
        for j in range(i + 1, len(given)):
            swapped = list(given)
            swapped[i], swapped[j] = swapped[j], swapped[i]
            yield replaced_call(program, node, swapped, named, 2.6)
        yield replaced_call(program, node, given[:i] + given[i + 1 :], named, 3.4)
    for i in range(len(named)):
        yield replaced_call(program, node, given, named[:i] + named[i + 1 :], 3.2)
    own = isinstance(node.func, ast.Name) and node.func.id in program.functions
    adds = isinstance(node.func, ast.Attribute) and node.func.attr in (
        "append", "add", "insert", "extend", "index", "count", "remove",
    )
    if own or adds or (isinstance(node.func, ast.Attribute) and not named and len(given) < 3):
        cost = 4.6 if own or adds else 5.4
        for name in program.variables(node):
            for i in range(len(given) + 1):
                yield replaced_call(program, node, [*given[:i], name, *given[i:]], named, cost)


def idiom(program: Program, node: ast.Call) -> Iterator[Splice]:
    """Arguments that well-known functions are often given, or not."""
    given, named = given_arguments(program, node), named_arguments(program, node)

    def call(arguments: list[str], keywords: list[str], cost: float) -> Splice:
        return replaced_call(program, node, arguments, keywords, cost)

    if isinstance(node.func, ast.Attribute):
        name = node.func.attr
        base = program.code(node.func.value)
        if name == "append" and len(given) == 1:
            for view in ("list({})", "{}[:]", "{}.copy()", "[{}]"):
                yield call([view.format(given[0])], named, 4.0)
            yield program.replace(node, f"{base}.insert(0, {given[0]})", 4.0)
        if name == "pop":
            yield call(["0"], named, 3.5)
            yield call(["-1"], named, 4.0)
        if name == "split":
            for separator in ("' '", "','", "', '", "'\\n'"):
                yield call([separator], named, 4.0)
        if name == "get" and len(given) == 1:
            for neutral in ("0", "[]", "''"):
                yield call([*given, neutral], named, 3.6)
        if name == "sort":
            for key in _KEYS[:5]:
                if not any(one.split("=")[0] == key.split("=")[0] for one in named):
                    yield call(given, [*named, key], 4.0)
    elif isinstance(node.func, ast.Name):
        name = node.func.id
        if name in ("sorted", "max", "min"):
            for key in _KEYS:
                word = key.split("=")[0]
                fits = word == "key" or (word == "reverse") == (name == "sorted")
                if fits and not any(one.split("=")[0] == word for one in named):
                    yield call(given, [*named, key], 4.0)
        if name in ("enumerate", "round", "int") and len(given) == 1:
            for extra in {"enumerate": "1", "round": "12", "int": "2"}[name]:
                yield call([*given, extra], named, 4.0)
        if name == "print" and len(given) == 1:
            parent = program.parents.get(node)
            if isinstance(parent, ast.Expr) and program.scope(node) is not program.tree:
                yield program.replace_statement(parent, f"return {given[0]}", 2.8)


def ranges(program: Program, node: ast.Call) -> Iterator[Splice]:
    """Other bounds of a range."""
    if not (isinstance(node.func, ast.Name) and node.func.id == "range"):
        return
    given = given_arguments(program, node)
    variables = [name for name in program.variables(node) if program.may_be(name, NUMBERS)]
    if len(given) == 1:
        stop = given[0]
        for bounds in (["1", stop], ["1", f"{stop} + 1"], ["2", stop], ["2", f"{stop} + 1"],
                       [f"{stop} - 1", "-1", "-1"], [stop, "0", "-1"], ["0", stop, "2"],
                       [stop, "-1", "-1"]):
            yield replaced_call(program, node, bounds, [], 3.0)
        for name in variables:
            yield replaced_call(program, node, [name, stop], [], 4.0)
            yield replaced_call(program, node, [f"{name} + 1", stop], [], 4.0)
    elif len(given) == 2:
        start, stop = given
        for bounds in (["0", stop], ["1", stop], [start, stop, "2"], [start, stop, "-1"],
                       [f"{start} + 1", f"{stop} + 1"], [f"{start} - 1", f"{stop} - 1"],
                       [f"{stop} - 1", f"{start} - 1", "-1"], [stop, start, "-1"]):
            yield replaced_call(program, node, bounds, [], 3.2)
        for name in variables:
            yield replaced_call(program, node, [*given, name], [], 4.2)
    yield program.replace(node, f"reversed({program.code(node)})", 4.2)


def unwrapped(program: Program, node: ast.Call) -> Iterator[Splice]:
    """An argument, or the object of a method, in place of the call."""
    if isinstance(program.parents.get(node), ast.Expr):
        return
    for position, argument in enumerate(node.args[:2]):
        if not isinstance(argument, ast.Starred | ast.GeneratorExp):
            yield program.replace(node, program.code(argument), 3.4 + 0.4 * position)
    if isinstance(node.func, ast.Attribute):
        yield program.replace(node, program.code(node.func.value), 3.6)


def wrapped(program: Program, node: ast.expr) -> Iterator[Splice]:
    """A value seen through a function: `abs`, `len`, `sorted`, `str` …"""
    parent = program.parents.get(node)
    if isinstance(node, ast.Constant | ast.Lambda) or isinstance(parent, ast.Expr):
        return
    if isinstance(parent, ast.Call) and parent.func is node:
        return
    kinds = program.type_of(node)
    views: dict[str, None] = {}
    for kind in sorted(kinds):
        views.update(dict.fromkeys(WRAPPERS.get(kind, ())))
    if not kinds:
        views.update(dict.fromkeys(_UNKNOWN))
    text = program.code(node)
    if "str" in kinds:
        views.update(dict.fromkeys(("{}.swapcase()", "{}.title()", "{}.capitalize()")))
    if kinds & {"list", "tuple", "str"} and not isinstance(node, ast.Name):
        views.update(dict.fromkeys(("{}[1:]", "{}[:-1]", "{}[:1]")))
    for view in views:
        called = view.endswith("({})")
        inner = text if called or view == "[{}]" else program.grouped(node, ATOM)
        cost = 4.3 if kinds else 5.0
        if view == "abs({})" and isinstance(node, ast.BinOp):
            cost -= 0.8
        yield program.replace(node, view.format(inner), cost)
    if isinstance(parent, ast.Return | ast.Call | ast.keyword):
        yield program.replace(node, f"[{text}]", 4.5)
    ordered = not kinds or kinds & {"list", "tuple", "set", "dict"}
    if ordered and isinstance(parent, ast.Return | ast.Assign | ast.For | ast.Call):
        for key in ("key=len", "reverse=True", "key=str", "key=abs", "key=lambda x: x[1]",
                    "key=lambda x: (len(x), x)"):
            yield program.replace(node, f"sorted({text}, {key})", 5.2)
        for name in program.variables(node):
            if "dict" in program.seen(name):
                yield program.replace(node, f"sorted({text}, key=lambda x: {name}[x])", 5.4)
    if (not kinds or kinds & {"int", "float"}) and isinstance(
        parent, ast.Return | ast.Assign | ast.Call
    ):
        for digits in "12":
            yield program.replace(node, f"round({text}, {digits})", 5.2)
    if "str" in kinds and not isinstance(parent, ast.Compare):
        for mark in ("' '", "'.'", "','", "'-'", "'\\n'"):
            yield program.replace(node, f"{program.grouped(node, 10)} + {mark}", 5.4)


def given_arguments(program: Program, node: ast.Call) -> list[str]:
    """The texts of a call's positional arguments."""
    if len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp) and not node.keywords:
        # `f(x for x in y)` shares its parentheses with the call.
        text = program.code(node.args[0])
        return [text if text.startswith("(") else f"({text})"]
    return [program.code(argument) for argument in node.args]


def named_arguments(program: Program, node: ast.Call) -> list[str]:
    """The texts of a call's keyword arguments."""
    return [
        f"{one.arg}={program.code(one.value)}" if one.arg else f"**{program.code(one.value)}"
        for one in node.keywords
    ]


def replaced_call(
    program: Program, node: ast.Call, given: list[str], named: list[str], cost: float
) -> Splice:
    """Only what stands between the call's parentheses changed."""
    opening = program.data.find(b"(", program.end(node.func))
    end = program.end(node) - 1
    return Splice(opening + 1, end, ", ".join([*given, *named]), cost, node.lineno)
