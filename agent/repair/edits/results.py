"""Edits of calls whose result is dropped, is `None`, or is not asked for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.repair.edits.calls import replaced_call
from agent.repair.program import ATOM, SEQUENCES, Function, Program, Splice

_IN_PLACE = frozenset(
    "append extend insert remove reverse sort clear add discard update appendleft".split()
)
"""Methods that change their object and return nothing."""

_NEW_TEXT = frozenset(
    "strip lstrip rstrip lower upper title capitalize swapcase replace zfill ljust rjust center "
    "casefold removeprefix removesuffix expandtabs translate".split()
)
"""Methods of strings that change nothing and return a new string."""

_ASKS_NOTHING = frozenset(
    "strip lstrip rstrip lower upper title capitalize swapcase casefold isdigit isalpha isalnum "
    "isupper islower isspace isnumeric keys values items copy split splitlines popleft sort "
    "reverse clear total_seconds today now weekday isoformat read readlines close".split()
)
"""Methods that are mostly called without arguments."""

_FUNCTIONS = ("sorted", "reversed", "set", "list", "round", "abs")


def nothing_kept(program: Program, node: ast.Assign) -> Iterator[Splice]:
    """`x = x.sort()` keeps nothing: the call alone."""
    match node.value:
        case ast.Call(func=ast.Attribute(value=base, attr=name), args=given) if name in _IN_PLACE:
            target, text = program.code(node.targets[0]), program.code(base)
            call = program.code(node.value)
            yield program.replace_statement(node, call, 1.4 if target == text else 2.6)
            if name == "sort":
                yield program.replace(node.value, _sorted(program, node.value), 1.8)
            if name == "reverse":
                yield program.replace(node.value, f"{program.grouped(base, ATOM)}[::-1]", 1.8)
            if name == "append" and len(given) == 1:
                new = f"{program.grouped(base, 10)} + [{program.code(given[0])}]"
                yield program.replace(node.value, new, 2.2)


def nothing_returned(program: Program, node: ast.Return) -> Iterator[Splice]:
    """`return x.sort()` returns nothing: the object, once it is changed."""
    match node.value:
        case ast.Call(func=ast.Attribute(value=base, attr=name), args=given) if name in _IN_PLACE:
            text, call = program.code(base), program.code(node.value)
            if program.alone(node):
                joint = program.newline + program.indent(node)
                yield program.replace_statement(node, f"{call}{joint}return {text}", 1.8)
            if name == "sort":
                yield program.replace(node.value, _sorted(program, node.value), 1.6)
            if name == "reverse":
                yield program.replace(node.value, f"{program.grouped(base, ATOM)}[::-1]", 1.8)
                yield program.replace(node.value, f"list(reversed({text}))", 2.2)
            if name in ("append", "add") and len(given) == 1:
                added = program.code(given[0])
                new = f"[{added}]" if name == "append" else f"{{{added}}}"
                sign = "+" if name == "append" else "|"
                left = program.grouped(base, 10)
                yield program.replace(node.value, f"{left} {sign} {new}", 1.9)


def _sorted(program: Program, call: ast.Call) -> str:
    assert isinstance(call.func, ast.Attribute)
    named = [f"{one.arg}={program.code(one.value)}" for one in call.keywords]
    return f"sorted({', '.join([program.code(call.func.value), *named])})"


def dropped_result(program: Program, node: ast.Expr) -> Iterator[Splice]:
    """A new value that nobody takes: it is what the variable should become."""
    value = node.value
    if not isinstance(value, ast.Call):
        return
    text = program.code(value)
    if isinstance(value.func, ast.Attribute) and value.func.attr in _NEW_TEXT:
        base = value.func.value
        while isinstance(base, ast.Call) and isinstance(base.func, ast.Attribute):
            base = base.func.value
        if isinstance(base, ast.Name | ast.Attribute | ast.Subscript):
            yield program.replace_statement(node, f"{program.code(base)} = {text}", 1.2)
    if isinstance(value.func, ast.Name) and value.func.id in _FUNCTIONS and value.args:
        first = value.args[0]
        if isinstance(first, ast.Name | ast.Attribute | ast.Subscript):
            name = value.func.id
            kept = f"list({text})" if name == "reversed" else text
            yield program.replace_statement(node, f"{program.code(first)} = {kept}", 1.6)
            if name in ("sorted", "reversed"):
                in_place = "sort" if name == "sorted" else "reverse"
                rest = [f"{one.arg}={program.code(one.value)}" for one in value.keywords]
                call = f"{program.grouped(first, ATOM)}.{in_place}({', '.join(rest)})"
                yield program.replace_statement(node, call, 1.8)
    own = isinstance(value.func, ast.Name) and value.func.id in program.functions
    if own:
        for argument in value.args:
            if isinstance(argument, ast.Name):
                yield program.replace_statement(node, f"{argument.id} = {text}", 3.4)


def not_called(program: Program, node: ast.Attribute) -> Iterator[Splice]:
    """Parentheses forgotten after a method's name."""
    parent = program.parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        return
    if not isinstance(node.ctx, ast.Load):
        return
    is_argument = isinstance(parent, ast.Call | ast.keyword)
    methods = {
        one.name for one in ast.walk(program.tree) if isinstance(one, Function)
        and isinstance(program.parents[one], ast.ClassDef)
        and not any(getattr(deco, "id", "") == "property" for deco in one.decorator_list)
    }
    if node.attr in methods or node.attr in _ASKS_NOTHING:
        # A method may be handed on as it is: `key=str.lower`.
        yield program.replace(node, f"{program.code(node)}()", 3.0 if is_argument else 1.2)


def name_not_called(program: Program, node: ast.Name) -> Iterator[Splice]:
    """Parentheses forgotten after a function's name."""
    parent = program.parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        return
    if node.id == "super":
        yield program.replace(node, "super()", 0.6)
    elif isinstance(node.ctx, ast.Load) and node.id in program.functions:
        given = isinstance(parent, ast.Call | ast.keyword)
        yield program.replace(node, f"{node.id}()", 3.4 if given else 2.2)


def joined(program: Program, node: ast.Call) -> Iterator[Splice]:
    """What is joined must be strings; what is made unique may have to keep its order."""
    match node:
        case ast.Call(func=ast.Attribute(attr="join"), args=[given]):
            if isinstance(given, ast.GeneratorExp | ast.ListComp):
                element = program.code(given.elt)
                yield program.replace(given.elt, f"str({element})", 2.6)
            else:
                text = program.code(given)
                cost = 2.4 if not isinstance(given, ast.Constant) else 6.0
                yield program.replace(given, f"map(str, {text})", cost)
                yield program.replace(given, f"[str(i) for i in {text}]", cost + 0.6)
                yield program.replace(given, f"str(i) for i in {text}", cost + 0.7)
        case ast.Call(func=ast.Name(id="list" | "sorted" | "tuple" as name), args=[
            ast.Call(func=ast.Name(id="set"), args=[given])
        ]):
            kept = f"dict.fromkeys({program.code(given)})"
            outer = "list" if name == "sorted" else name
            yield program.replace(node, f"{outer}({kept})", 2.2)
        case ast.Call(func=ast.Name(id="set"), args=[given]):
            kept = f"dict.fromkeys({program.code(given)})"
            yield program.replace(node, f"list({kept})", 3.8)
        case ast.Call(func=ast.Name(id="max" | "min" as name), args=[_]):
            yield from _running(program, node, name)


def _running(program: Program, node: ast.Call, name: str) -> Iterator[Splice]:
    """The best so far: `best = max(best, one)` in a loop."""
    parent = program.parents.get(node)
    if not isinstance(parent, ast.Assign) or not isinstance(parent.targets[0], ast.Name):
        return
    best = parent.targets[0].id
    for other in program.variables(node):
        kinds = program.seen(other)
        if other != best and not (kinds and kinds <= {*SEQUENCES, "dict", "set"} - {"str"}):
            yield replaced_call(program, node, [best, other], [], 3.4)
