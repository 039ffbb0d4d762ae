"""Edits of calls: arguments, wrapping and unwrapping, sort keys, forgotten parentheses."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.search.edits.library import NO_ARGUMENTS, WRAPPERS
from agent.search.program import Precedence, Program, Splice

_KEY_FUNCTIONS = frozenset({"sorted", "max", "min"})
_CONTAINERS = frozenset({"list", "tuple", "dict", "set"})
_UNPACKED = frozenset({"list", "tuple"})


def arguments(program: Program, node: ast.Call) -> Iterator[Splice]:
    """Swaps, drops, adds, unpacks or packs arguments."""
    given, named = positional_arguments(program, node), keyword_arguments(program, node)
    for i in range(len(given)):
        for j in range(i + 1, len(given)):
            swapped = list(given)
            swapped[i], swapped[j] = swapped[j], swapped[i]
            yield replaced_call(program, node, swapped, named, 2.6)
        yield replaced_call(program, node, given[:i] + given[i + 1 :], named, 3.4)
    for i in range(len(named)):
        yield replaced_call(program, node, given, named[:i] + named[i + 1 :], 3.2)
    for i, one in enumerate(node.args):
        if isinstance(one, ast.Starred):
            yield replaced_call(program, node, _at(given, i, given[i].lstrip("*")), named, 3.0)
        elif isinstance(one, ast.Name | ast.Attribute) and program.type_of(one) <= _UNPACKED:
            cost = 3.0 if len(given) == 1 else 3.6
            yield replaced_call(program, node, _at(given, i, f"*{given[i]}"), named, cost)
    own = isinstance(node.func, ast.Name) and node.func.id in program.functions
    adds = isinstance(node.func, ast.Attribute) and node.func.attr in (
        "append", "add", "insert", "extend", "index", "count", "remove",
    )
    if own or adds or (isinstance(node.func, ast.Attribute) and not named and len(given) < 3):
        cost = 4.6 if own or adds else 5.4
        for name in program.variables(node):
            for i in range(len(given) + 1):
                yield replaced_call(program, node, [*given[:i], name, *given[i:]], named, cost)


def _at(texts: list[str], place: int, text: str) -> list[str]:
    return [*texts[:place], text, *texts[place + 1 :]]


def idiom(program: Program, node: ast.Call) -> Iterator[Splice]:
    """Changes the arguments of well-known functions in common ways."""
    given, named = positional_arguments(program, node), keyword_arguments(program, node)

    def call(arguments: list[str], keywords: list[str], cost: float) -> Splice:
        return replaced_call(program, node, arguments, keywords, cost)

    if isinstance(node.func, ast.Attribute):
        name = node.func.attr
        base = program.code(node.func.value)
        if name == "append" and len(given) == 1:
            for form in ("list({})", "{}[:]", "{}.copy()", "[{}]"):
                yield call([form.format(given[0])], named, 4.0)
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
    elif isinstance(node.func, ast.Name):
        name = node.func.id
        if name in ("enumerate", "round", "int") and len(given) == 1:
            for extra in {"enumerate": "1", "round": "12", "int": "2"}[name]:
                yield call([*given, extra], named, 4.0)
        if name == "print" and len(given) == 1:
            parent = program.parents.get(node)
            if isinstance(parent, ast.Expr) and program.is_in_function(node):
                yield program.replace_statement(parent, f"return {given[0]}", 2.8)


def unwrapped(program: Program, node: ast.Call) -> Iterator[Splice]:
    """Replaces a call by one of its arguments, or by the object of the method."""
    if isinstance(program.parents.get(node), ast.Expr):
        return
    for position, argument in enumerate(node.args[:2]):
        if not isinstance(argument, ast.Starred | ast.GeneratorExp):
            yield program.replace(node, program.code(argument), 3.4 + 0.4 * position)
    if isinstance(node.func, ast.Attribute):
        yield program.replace(node, program.code(node.func.value), 3.6)


def wrapped(program: Program, node: ast.expr) -> Iterator[Splice]:
    """Wraps a value in a function, method or slice: `abs`, `len`, `.lower()`, `[1:]` …"""
    parent = program.parents.get(node)
    if isinstance(node, ast.Constant | ast.Lambda) or isinstance(parent, ast.Expr):
        return
    if program.is_called(node):
        return
    kinds = program.type_of(node)
    forms: dict[str, None] = {}
    for kind in sorted(kinds):
        forms.update(dict.fromkeys(WRAPPERS.get(kind, ())))
    if not forms:
        forms.update(dict.fromkeys(WRAPPERS["unknown"]))
    text = program.code(node)
    if "str" in kinds:
        forms.update(dict.fromkeys(("{}.swapcase()", "{}.title()", "{}.capitalize()")))
    if kinds & {"list", "tuple", "str"} and not isinstance(node, ast.Name):
        forms.update(dict.fromkeys(("{}[1:]", "{}[:-1]", "{}[:1]")))
    for form in forms:
        called = form.endswith("({})")
        inner = text if called or form == "[{}]" else program.parenthesized(node, Precedence.ATOM)
        cost = 4.3 if kinds else 5.0
        if form == "abs({})" and isinstance(node, ast.BinOp):
            cost -= 0.8
        yield program.replace(node, form.format(inner), cost)
    if isinstance(parent, ast.Return | ast.Call | ast.keyword):
        yield program.replace(node, f"[{text}]", 4.5)
    ordered = not kinds or kinds & {"list", "tuple", "set", "dict"}
    if ordered and isinstance(parent, ast.Return | ast.Assign | ast.For | ast.Call):
        for name in program.variables(node):
            if "dict" in program.observed_types(name):
                yield program.replace(node, f"sorted({text}, key=lambda x: {name}[x])", 5.4)
    if "str" in kinds and not isinstance(parent, ast.Compare):
        for mark in ("' '", "'.'", "','", "'-'", "'\\n'"):
            joined = f"{program.parenthesized(node, Precedence.SUM)} + {mark}"
            yield program.replace(node, joined, 5.4)


def sort_key(program: Program, node: ast.Call) -> Iterator[Splice]:
    """Adds `reverse` or a `key` to a sort, `max` or `min`."""
    is_sort = isinstance(node.func, ast.Attribute) and node.func.attr == "sort"
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if not is_sort and (name not in _KEY_FUNCTIONS or len(node.args) != 1):
        return
    given, named = positional_arguments(program, node), keyword_arguments(program, node)
    words = {one.arg for one in node.keywords}

    def call(extra: str, cost: float) -> Splice:
        return replaced_call(program, node, given, [*named, extra], cost)

    if "reverse" not in words and (is_sort or name == "sorted"):
        yield call("reverse=True", 3.2)
    if "key" in words:
        return
    sequence = node.func.value if isinstance(node.func, ast.Attribute) else node.args[0]
    kinds = program.type_of(sequence)
    keys = ["key=len", "key=abs", "key=str.lower", "key=sum", "key=lambda x: -x",
            "key=lambda x: x[0]", "key=lambda x: x[1]", "key=lambda x: x[-1]",
            "key=lambda x: (len(x), x)", "key=lambda x: (-len(x), x)",
            "key=lambda x: (-x[1], x[0])", "key=lambda x: (x[1], x[0])", "key=lambda x: -x[1]"]
    keys += [f"key=lambda x: x.{attribute}" for attribute in program.attributes[:6]]
    for key in keys:
        yield call(key, 4.2)
    for other in program.variables(node):
        if "dict" in program.observed_types(other) or "Counter" in program.observed_types(other):
            for key in (f"key={other}.get", f"key=lambda x: {other}[x]",
                        f"key=lambda x: (-{other}[x], x)"):
                yield call(key, 3.0 if other == program.code(sequence) else 3.6)
    if not kinds and isinstance(sequence, ast.Name):
        yield call(f"key={sequence.id}.get", 5.0)


def unique_in_order(program: Program, node: ast.Call) -> Iterator[Splice]:
    """Keeps the order of unique values, or a running best: `best = max(best, x)`."""
    match node:
        case ast.Call(func=ast.Name(id="list" | "sorted" | "tuple" as name), args=[
            ast.Call(func=ast.Name(id="set"), args=[given])
        ]):
            outer = "list" if name == "sorted" else name
            yield program.replace(node, f"{outer}(dict.fromkeys({program.code(given)}))", 2.2)
        case ast.Call(func=ast.Name(id="max" | "min"), args=[_]):
            match program.parents.get(node):
                case ast.Assign(targets=[ast.Name(id=best), *_]):
                    for other in program.variables(node):
                        types = program.observed_types(other)
                        if other != best and not (types and types <= _CONTAINERS):
                            yield replaced_call(program, node, [best, other], [], 3.4)


def not_called(program: Program, node: ast.Attribute | ast.Name) -> Iterator[Splice]:
    """Adds forgotten parentheses after the name of a method or function."""
    parent = program.parents.get(node)
    if program.is_called(node) or not isinstance(node.ctx, ast.Load):
        return
    # A function may be passed as an argument: `key=str.lower`.
    is_argument = isinstance(parent, ast.Call | ast.keyword)
    if isinstance(node, ast.Attribute):
        methods = {
            one.name for one in program.defined
            if isinstance(program.parents[one], ast.ClassDef)
            and not any(getattr(deco, "id", "") == "property" for deco in one.decorator_list)
        }
        if node.attr in methods or node.attr in NO_ARGUMENTS:
            yield program.replace(node, f"{program.code(node)}()", 3.0 if is_argument else 1.2)
    elif node.id == "super":
        yield program.replace(node, "super()", 0.6)
    elif node.id in program.functions:
        yield program.replace(node, f"{node.id}()", 3.4 if is_argument else 2.2)


def positional_arguments(program: Program, node: ast.Call) -> list[str]:
    """The texts of a call's positional arguments."""
    if len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp) and not node.keywords:
        # `f(x for x in y)` shares its parentheses with the call.
        text = program.code(node.args[0])
        return [text if text.startswith("(") else f"({text})"]
    return [program.code(argument) for argument in node.args]


def keyword_arguments(program: Program, node: ast.Call) -> list[str]:
    """The texts of a call's keyword arguments."""
    return [
        f"{one.arg}={program.code(one.value)}" if one.arg else f"**{program.code(one.value)}"
        for one in node.keywords
    ]


def replaced_call(
    program: Program, node: ast.Call, given: list[str], named: list[str], cost: float
) -> Splice:
    """Replaces the arguments of a call and leaves the rest of it as it is."""
    opening = program.data.find(b"(", program.end(node.func))
    end = program.end(node) - 1
    return Splice(opening + 1, end, ", ".join([*given, *named]), cost, node.lineno)
