"""Edits of state that is wrongly kept between tests: containers shared by objects or calls,
exhausted iterators, incomplete memo keys. Most are proposed only if tests fail together."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.search.edits.constants import combined
from agent.search.edits.functions import mutates
from agent.search.program import Function, Program, Splice, parameters, variable_names
from agent.search.program.blocks import block_of, body_start

_CONTAINER_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_CONTAINER_CONSTRUCTORS = frozenset({
    "list", "dict", "set", "deque", "defaultdict", "Counter", "OrderedDict", "bytearray",
})
ITERATORS = frozenset({"map", "filter", "zip", "iter", "reversed", "enumerate"})
_ENDLESS = frozenset({"cycle", "count"})
_PURE = (ast.Name, ast.Attribute, ast.Tuple, ast.Subscript, ast.Constant, ast.JoinedStr, ast.Call)


def created_per_object(program: Program, node: ast.ClassDef) -> Iterator[Splice]:
    """Creates a container of a class in the constructor, for each object."""
    if node.decorator_list:
        return
    constructor = next((
        one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"
    ), None)
    for one in node.body:
        target, value = _bound(one)
        if value is None or not _is_stateful(value) or not program.has_own_lines(one):
            continue
        uses = [each for each in ast.walk(node) if _is_own(each, target)]
        is_set = any(isinstance(getattr(each, "ctx", None), ast.Store) for each in uses)
        is_shared = mutates(node.body, f"self.{target}") and not is_set
        if not uses or not (program.together or is_shared):
            continue
        start, end = program.whole_lines(one)
        field = f"self.{target} = {program.code(value)}"
        indent = program.indent(one)
        if constructor is None and not node.bases:
            text = (
                f"{indent}def __init__(self):{program.newline}"
                f"{indent}{program.indent_unit}{field}{program.newline}"
            )
            yield Splice(start, end, text, 0.0, one.lineno)
        first = body_start(program, constructor) if constructor is not None else None
        if first is not None and first.lineno > one.lineno:
            place = program.whole_lines(first)[0]
            rest = program.between(end, place)
            text = f"{rest.lstrip(program.newline)}{program.indent(first)}{field}{program.newline}"
            yield Splice(start, place, text, 0.0, one.lineno)


def created_per_call(program: Program, node: Function) -> Iterator[Splice]:
    """Creates a module-level container or iterator in each call of the function that uses it."""
    first = body_start(program, node)
    if not program.together or first is None:
        return
    own = variable_names(node)
    for name, value in _module_state(program).items():
        is_memo = name in _tables(program, node) and bool(_keys(program, node, name))
        if name not in own or _binds(node, name) or is_memo:
            continue
        users = {
            program.scope(one) for one in program.nodes
            if isinstance(one, ast.Name) and one.id == name
        }
        is_changed = mutates([node], name) or not is_container(value)
        if users <= {node, program.tree} and is_changed:
            yield program.insert_before(first, [f"{name} = {program.code(value)}"], 1.0)


def memo_key(program: Program, node: Function) -> Iterator[Splice]:
    """Adds missing parameters to the key of a memo."""
    rest = node.args.kwarg.arg if node.args.kwarg else ""
    given = [*_parameter_names(node), *filter(None, [rest])]
    for memo in _tables(program, node):
        keys = _keys(program, node, memo)
        if len({program.code(one) for one in keys}) != 1 or not _returns(program, node, memo):
            continue
        key = keys[0]
        parts = [*keys]
        for one in ast.walk(node):
            match one:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    if isinstance(key, ast.Name) and name == key.id and name not in given:
                        parts = [value]
        known = {"self", "cls", *variable_names(*parts)}
        missing = [name for name in given if name not in known]
        missing = [f"tuple(sorted({one}.items()))" if one == rest else one for one in missing]
        for names in [missing, *([one] for one in missing if len(missing) > 1)]:
            if names and all(isinstance(one, _PURE) for one in parts):
                edits = [
                    (program.start(one), program.end(one), _joined(program, one, names))
                    for one in parts
                ]
                line = min(one.lineno for one in parts)
                yield combined(program, edits, 0.3 * (names is not missing), line)


def cleanup_in_finally(program: Program, node: ast.Expr) -> Iterator[Splice]:
    """Puts the statements after a `yield` into a `finally`."""
    block = block_of(program, node)
    rest = block[block.index(node) + 1 :]
    scope = program.scope(node)
    is_context = isinstance(scope, Function) and any(
        "contextmanager" in program.code(one) for one in scope.decorator_list
    )
    if not (program.together or is_context) or not isinstance(node.value, ast.Yield) or not rest:
        return
    if isinstance(program.parents.get(node), ast.Try) or not program.has_own_lines(node):
        return
    indent, step, newline = program.indent(node), program.indent_unit, program.newline
    start, middle = program.whole_lines(node)
    end = program.whole_lines(rest[-1])[1]
    inner = [step + line for line in program.between(middle, end).splitlines(keepends=True)]
    text = (
        f"{indent}try:{newline}{step}{program.between(start, middle)}"
        f"{indent}finally:{newline}{''.join(inner)}"
    )
    yield Splice(start, end, text, 0.0, node.lineno)


def _bound(node: ast.stmt) -> tuple[str, ast.expr | None]:
    """The single name that a statement binds, and its value."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=value):
            return name, value
    return "", None


def _module_state(program: Program) -> dict[str, ast.expr]:
    """Containers and iterators that the module binds."""
    found = (_bound(one) for one in program.tree.body)
    return {name: value for name, value in found if value is not None and _is_stateful(value)}


def _is_stateful(value: ast.expr) -> bool:
    """Whether a value is a container or an iterator."""
    return is_container(value) or isinstance(value, ast.GeneratorExp) or (
        called(value) in ITERATORS | _ENDLESS
    )


def is_container(value: ast.expr) -> bool:
    return isinstance(value, _CONTAINER_DISPLAYS) or called(value) in _CONTAINER_CONSTRUCTORS


def called(value: ast.expr) -> str:
    match value:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name
    return ""


def _is_own(node: ast.AST, name: str) -> bool:
    return (
        isinstance(node, ast.Attribute) and node.attr == name
        and isinstance(node.value, ast.Name) and node.value.id == "self"
    )


def _binds(node: Function, name: str) -> bool:
    """Whether a name is local to a function, or declared global in it."""
    return name in _parameter_names(node) or any(
        (isinstance(one, ast.Name) and one.id == name and not isinstance(one.ctx, ast.Load))
        or (isinstance(one, ast.Global) and name in one.names)
        for one in ast.walk(node)
    )


def _parameter_names(node: Function) -> list[str]:
    """The names of a function's parameters, with that of `*args`."""
    rest = node.args.vararg
    return [*parameters(node), *([rest.arg] if rest else [])]


def _tables(program: Program, node: Function) -> list[str]:
    """Tables outside of a function in which it stores items."""
    found = {
        program.code(one.value): None for one in ast.walk(node)
        if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store)
    }
    around = program.scope(node)
    outside = {
        name for one in getattr(around, "body", ()) for name, value in [_bound(one)]
        if value is not None and is_container(value)
    }
    return [
        text for text in found
        if text.startswith("self.")
        or (text in outside | {*_module_state(program)} and not _binds(node, text))
    ]


def _keys(program: Program, node: Function, memo: str) -> list[ast.expr]:
    """The keys of a table in a function, in source order; empty if it never looks one up."""
    stored: list[ast.expr] = []
    looked_up: list[ast.expr] = []
    for one in ast.walk(node):
        match one:
            case ast.Subscript(value=table, slice=key) if program.code(table) == memo:
                stored.append(key)
            case (
                ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=[table])
                | ast.Call(func=ast.Attribute(value=table, attr="get"), args=[key, *_])
            ) if program.code(table) == memo:
                looked_up.append(key)
    return sorted([*stored, *looked_up], key=program.start) if looked_up else []


def _returns(program: Program, node: Function, memo: str) -> bool:
    """Whether a function returns an item of a table."""
    return any(
        isinstance(one, ast.Return) and one.value is not None
        and program.code(one.value).startswith((f"{memo}[", f"{memo}.get("))
        for one in ast.walk(node)
    )


def _joined(program: Program, key: ast.expr, names: list[str]) -> str:
    """A key extended by names."""
    parts = key.elts if isinstance(key, ast.Tuple) else [key]
    text = ", ".join([*(program.code(one) for one in parts), *names])
    return text if isinstance(program.parents.get(key), ast.Subscript) else f"({text})"
