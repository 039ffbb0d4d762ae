"""Edits of templates that a pattern cannot express.

Each procedure receives a node and the named groups of the failure's message. The cost of its row is
added to the cost of each edit.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from agent.core.trees import literal
from agent.search.edits.classes import parent_constructor_call
from agent.search.edits.constants import combined
from agent.search.edits.crashes.missing import import_place
from agent.search.edits.forgotten import kept_state
from agent.search.edits.functions import mutable_default, mutates
from agent.search.evidence import literal_values
from agent.search.program import BUILTINS, Precedence, Program, Splice, variable_names
from agent.search.program.blocks import block_of, body_start, is_docstring

_THOUSANDS = re.compile(r"\D*\d{1,3}(,\d{3})+(\.\d+)?\D*")
_KEYS: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("str({})", str), ("int({})", int), ("{}.strip()", str.strip), ("{}.lower()", str.lower),
    ("{}.upper()", str.upper), ("{}.title()", str.title), ("{}.capitalize()", str.capitalize),
)
NamedGroups = Mapping[str, Any]


def late_binding(program: Program, node: ast.AST, known: NamedGroups) -> Iterator[Splice]:
    """Binds loop variables early, in functions that are defined in the loop and called later."""
    inside = node.body if isinstance(node, ast.For) else [*ast.iter_child_nodes(node)]
    bound = {*variable_names(node, *inside, context=ast.Store)}
    edits: list[tuple[int, int, str]] = []
    for part in inside:
        for made in ast.walk(part):
            if isinstance(made, ast.Lambda | ast.FunctionDef) and not _is_called_now(program, made):
                edits += _captured(program, made, bound)
    if edits:
        yield combined(program, edits, 0.0, node.lineno)  # type: ignore[attr-defined]


def _is_called_now(program: Program, made: ast.AST) -> bool:
    """Whether a function is passed to one that calls it immediately: `key=lambda …`."""
    parent = program.parents.get(made)
    call = program.parents.get(parent) if isinstance(parent, ast.keyword) else parent
    name = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else ""
    is_key = isinstance(parent, ast.keyword) and parent.arg == "key"
    return is_key or name in ("map", "filter", "sorted", "min", "max", "next", "any", "all")


def _captured(
    program: Program, made: ast.Lambda | ast.FunctionDef, bound: set[str]
) -> Iterator[tuple[int, int, str]]:
    """Adds parameters whose defaults hold the current values of the variables."""
    given = made.args
    own = [*given.posonlyargs, *given.args, *filter(None, [given.vararg]), *given.kwonlyargs]
    names = {one.arg for one in (*own, *filter(None, [given.kwarg]))}
    body = made.body if isinstance(made.body, list) else [made.body]
    inner = [one for part in body for one in ast.walk(part) if isinstance(one, ast.Name)]
    names |= {one.id for one in inner if not isinstance(one.ctx, ast.Load)}
    late = dict.fromkeys(one.id for one in inner if one.id in bound - names)
    if not late:
        return
    text = ", ".join(f"{name}={name}" for name in late)
    if own:
        last: list[ast.arg | ast.expr] = [*own, *given.defaults, *filter(None, given.kw_defaults)]
        at = max(program.end(one) for one in last)
        yield at, at, f", {text}"
    elif given.kwarg is not None:
        at = program.data.rfind(b"**", 0, program.start(given.kwarg))
        yield at, at, f"{text}, "
    elif isinstance(made, ast.Lambda):
        at = program.start(made) + len("lambda")
        yield at, at, f" {text}"
    else:
        at = program.data.find(b"(", program.start(made)) + 1
        yield at, at, text


def shadowed(program: Program, node: ast.AST, known: NamedGroups) -> Iterator[Splice]:
    """Renames a variable that shadows a called function."""
    assert isinstance(node, ast.Call)
    if not isinstance(node.func, ast.Name):
        return
    name = node.func.id
    called = {one.func for one in program.nodes if isinstance(one, ast.Call)}
    places: list[ast.Name | ast.arg] = [
        one for one in program.nodes
        if (isinstance(one, ast.Name) and one.id == name and one not in called)
        or (isinstance(one, ast.arg) and one.arg == name)
    ]
    stored = any(not isinstance(getattr(one, "ctx", None), ast.Load) for one in places)
    keywords = any(isinstance(one, ast.keyword) and one.arg == name for one in program.nodes)
    if name not in {*BUILTINS, *program.functions} or not stored or keywords:
        return
    if any(one in program.fixed_nodes for one in places):
        return
    other = f"{name}_"
    edits = [(program.start(one), program.start(one) + len(name.encode()), other) for one in places]
    yield combined(program, edits, 0.0, node.lineno)


def alternatives(program: Program, node: ast.AST, known: NamedGroups) -> Iterator[Splice]:
    """Rewrites `x == a or b`, which is always true, and `a or b in x`."""
    assert isinstance(node, ast.BoolOp)
    first, last = node.values[0], node.values[-1]
    is_or = isinstance(node.op, ast.Or)
    match first:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if _words(node.values[1:]):
            words = ", ".join(program.code(one) for one in (right, *node.values[1:]))
            if isinstance(op, ast.Eq if is_or else ast.NotEq):
                sign = "in" if is_or else "not in"
                yield program.replace(node, f"{program.code(left)} {sign} ({words})", 0.0)
            if isinstance(op, ast.In | ast.NotIn) and isinstance(left, ast.Constant):
                yield from _each(program, node, [left, *node.values[1:]], op, right)
    match last:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if _words(node.values[:-1]):
            if isinstance(op, ast.In | ast.NotIn) and isinstance(left, ast.Constant):
                yield from _each(program, node, [*node.values[:-1], left], op, right)


def _words(values: list[ast.expr]) -> bool:
    return all(
        isinstance(one, ast.Constant) and not isinstance(one.value, bool | None) for one in values
    )


def _each(
    program: Program, node: ast.BoolOp, words: list[ast.expr], op: ast.cmpop, whole: ast.expr
) -> Iterator[Splice]:
    sign = "in" if isinstance(op, ast.In) else "not in"
    word = " or " if isinstance(node.op, ast.Or) else " and "
    text = program.parenthesized(whole, Precedence.BIT_OR)
    yield program.replace(node, word.join(f"{program.code(one)} {sign} {text}" for one in words), 0)


def concatenation(program: Program, node: ast.AST, known: NamedGroups) -> Iterator[Splice]:
    """Wraps in `str` the operands of `"…" + a + "…" + b` that are not strings."""
    assert isinstance(node, ast.BinOp)
    others = _not_text(program, node)
    same = {program.code(one) for one in others}
    others += [
        one for other in program.nodes
        if isinstance(other, ast.BinOp) and other is not node and other not in program.fixed_nodes
        for one in _not_text(program, other) if same & {program.code(one)} or (
            program.type_of(one) and isinstance(one, ast.Name)
        )
    ]
    edits = {(program.start(one), program.end(one), f"str({program.code(one)})") for one in others}
    if same:
        yield combined(program, [*edits], 0.0, node.lineno)


def _not_text(program: Program, node: ast.BinOp) -> list[ast.expr]:
    """The operands of an outermost concatenation that are not strings, if some are."""
    above = program.parents.get(node)
    if isinstance(above, ast.BinOp) and isinstance(above.op, ast.Add) and above.left is node:
        return []
    parts: list[ast.expr] = []
    at: ast.expr = node
    while isinstance(at, ast.BinOp) and isinstance(at.op, ast.Add):
        parts.append(at.right)
        at = at.left
    parts.append(at)
    others = [one for one in parts if program.type_of(one) != {"str"}]
    return others if others and len(others) < len(parts) else []


def flag_of(program: Program, node: ast.AST, known: NamedGroups) -> Iterator[Splice]:
    """Replaces `type=bool`, for which every non-empty text is true, by a predicate."""
    assert isinstance(node, ast.Call)
    for one in node.keywords:
        if one.arg == "type" and program.code(one.value) == "bool":
            for predicate in program.predicates:
                yield program.replace(one.value, predicate.name, 0.0)


def number_text(program: Program, node: ast.AST, known: NamedGroups) -> Iterator[Splice]:
    """Removes currency signs, separators and units as the exception shows them."""
    text = str(known.get("text", "")).strip()
    match node:
        case ast.Call(func=ast.Name(id="int" | "float" | "Decimal" as name), args=[value]):
            pass
        case _:
            return
    base = clean = program.parenthesized(value, Precedence.ATOM)
    for mark in dict.fromkeys(re.findall(r"[^\d.,eExX+\-\w]", text)):
        clean += f".replace({mark!r}, '')"
        text = text.replace(mark, "")
    if "," in text:
        dot = "" if _THOUSANDS.fullmatch(text) else "."
        clean += f".replace(',', {dot!r})"
        text = text.replace(",", dot)
    if unit := re.fullmatch(r"[-+\d.]+([A-Za-z]+)", text):
        clean += f".removesuffix({unit[1]!r})"
        text = text.removesuffix(unit[1])
    if name == "int" and re.fullmatch(r"[-+]?\d*\.\d*", text):
        yield program.replace(node, f"int(float({clean}))", 0.0)
    elif name == "int" and re.fullmatch(r"0[xob][\da-fA-F]+", text):
        yield program.replace(node, f"int({clean}, 0)", 0.0)
    elif clean != base and re.fullmatch(r"[-+]?[\d.]+", text):
        yield program.replace(node, f"{name}({clean})", 0.0)


def wrong_key(program: Program, node: ast.AST, known: NamedGroups) -> Iterator[Splice]:
    """Converts a key to the type or spelling of the keys that a dictionary had."""
    assert isinstance(node, ast.Subscript)
    if program.crash is None or isinstance(node.slice, ast.Slice | ast.Constant):
        return
    missing = _value(program.crash.message)
    keys = [*_keys(program)]
    code = program.code(node.slice)
    for place, (view, change) in enumerate(_KEYS):
        if isinstance(missing, str) or view == "str({})":
            try:
                changed = change(missing)
            except ValueError:
                continue
            if changed != missing and any(
                type(one) is type(changed) and one == changed for one in keys
            ):
                atom = program.parenthesized(node.slice, Precedence.ATOM)
                inner = code if view.endswith("({})") else atom
                start, end = program.start(node.slice), program.end(node.slice)
                yield Splice(start, end, view.format(inner), 0.01 * place, node.lineno)


def _value(text: str) -> object:
    try:
        found = literal(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError):
        return None
    return found[0] if found else None


def _keys(program: Program) -> Iterator[object]:
    """The keys of all dictionaries in the values at the failure."""
    assert program.crash is not None
    pending: list[object] = [_value(text) for _, text in program.crash.values]
    for moment in program.moments(program.crash.line or 0):
        pending += literal_values(moment).values()
    while pending:
        one = pending.pop()
        if isinstance(one, dict):
            yield from one
            pending += one.values()
        elif isinstance(one, list | tuple):
            pending += one


def file_of_a_folder(program: Program, node: ast.AST, known: NamedGroups) -> Iterator[Splice]:
    """Joins a file name from a directory listing with the directory."""
    assert isinstance(node, ast.For | ast.comprehension)
    match node.target, [one for one in ast.walk(node.iter) if isinstance(one, ast.Call)]:
        case ast.Name(id=name), [*_, ast.Call(func=ast.Attribute(attr="listdir"), args=given)]:
            folder = program.code(given[0]) if given else "'.'"
        case ast.Name(id=name), []:
            walked = next((
                one.target.elts for one in program.nodes if isinstance(one, ast.For)
                and isinstance(one.target, ast.Tuple) and len(one.target.elts) == 3
                and program.code(one.target.elts[2]) == program.code(node.iter)
            ), None)
            if walked is None:
                return
            folder = program.code(walked[0])
        case _:
            return
    around = node if isinstance(node, ast.For) else program.parents[node]
    for one in ast.walk(around):
        if isinstance(one, ast.Call) and program.code(one.func) != "os.path.join":
            for place in one.args:
                if isinstance(place, ast.Name) and place.id == name:
                    yield program.replace(place, f"os.path.join({folder}, {name})", 0.0)


def argument_changed(program: Program, node: ast.AST, known: NamedGroups) -> Iterator[Splice]:
    """Copies a parameter that the function modifies."""
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    first = body_start(program, node)
    if first is None:
        return
    for one in node.args.args:
        is_copied = any(
            isinstance(each, ast.Assign) and program.code(each.targets[0]) == one.arg
            for each in node.body
        )
        if one.arg not in ("self", "cls") and mutates(node.body, one.arg) and not is_copied:
            types = program.observed_types(one.arg) & {"list", "dict", "set"}
            for kind in sorted(types or {"list"}):
                yield program.insert_before(first, [f"{one.arg} = {kind}({one.arg})"], 0.0)


def reset_together(program: Program, node: ast.AST, known: NamedGroups) -> Iterator[Splice]:
    """Resets a variable together with another one that is initialised next to it."""
    assert isinstance(node, ast.Assign)
    around, name = block_of(program, node), program.code(node.targets[0])
    scope = program.scope(node)
    if not isinstance(node.value, _START) or getattr(scope, "body", around) is around:
        return
    for one in ast.walk(scope):
        if isinstance(one, ast.Assign) and one not in around and name == program.code(
            one.targets[0]
        ) and isinstance(one.value, _START):
            block = block_of(program, one)
            at = block.index(one)
            for other in (*block[max(0, at - 3) : at], *block[at + 1 : at + 4]):
                text = program.code(other)
                if isinstance(other, ast.Assign) and isinstance(other.value, _START) and (
                    program.code(other.targets[0]) not in map(_target, around)
                ):
                    yield program.insert_after(node, [text], 0.0)


_START = (ast.Constant, ast.List, ast.Dict)


def _target(node: ast.stmt) -> str:
    return ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else ""


def wraps(program: Program, node: ast.AST, known: NamedGroups) -> Iterator[Splice]:
    """Adds `functools.wraps` to the wrapper that a decorator returns."""
    assert isinstance(node, ast.FunctionDef)
    outer = program.scope(node)
    given = outer.args.args if isinstance(outer, ast.FunctionDef) else []
    if not node.decorator_list and len(given) == 1 and node.args.vararg is not None:
        decorator = f"@wraps({given[0].arg})"
        at, start = import_place(program), program.whole_lines(node)[0]
        edits = [(start, start, f"{program.indent(node)}{decorator}{program.newline}")]
        if "wraps" not in program.imported:
            edits.append((at, at, f"from functools import wraps{program.newline}"))
        yield combined(program, edits, 0.0, node.lineno)


def hash_of(program: Program, node: ast.AST, known: NamedGroups) -> Iterator[Splice]:
    """Adds a `__hash__` of the fields that `__eq__` compares."""
    assert isinstance(node, ast.ClassDef)
    methods = {one.name: one for one in node.body if isinstance(one, ast.FunctionDef)}
    equal = methods.get("__eq__")
    if node.name != known.get("kind") or equal is None or "__hash__" in methods:
        return
    fields = dict.fromkeys(
        program.code(one) for one in ast.walk(equal)
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)
        and one.value.id == "self" and not one.attr.startswith("__")
    )
    if fields:
        parts = f"({', '.join(fields)})" if len(fields) > 1 else "".join(fields)
        yield program.insert_after(equal, [
            "", "def __hash__(self):", f"{program.indent_unit}return hash({parts})",
        ], 0.0)


def parent_of(program: Program, node: ast.AST, known: NamedGroups) -> Iterator[Splice]:
    """Calls the parent's constructor in the class that lacks an attribute."""
    owner = program.parents.get(node)
    if isinstance(node, ast.FunctionDef) and isinstance(owner, ast.ClassDef) and (
        node.name == "__init__" and owner.name == known.get("kind") and body_start(program, node)
    ):
        body = [one for one in node.body if not is_docstring(one)]
        names = [one.arg for one in (*node.args.args[1:], *node.args.kwonlyargs)]
        yield from parent_constructor_call(program, node, owner, body, names)


def doubled_braces(program: Program, node: ast.AST, known: NamedGroups) -> Iterator[Splice]:
    """Doubles the braces of a format string that are not fields."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Constant(value=str()) as text, attr="format")):
            names = {one.arg for one in node.keywords}
        case _:
            return
    field = rf"\{{(?:{'|'.join(filter(None, names)) or '0'}|\d*)(?:[!:.\[][^{{}}]*)?\}}"
    parts = re.split(f"({field})", program.code(text))
    for place in range(0, len(parts), 2):
        parts[place] = re.sub(r"\{+|\}+", lambda found: found[0] * 2, parts[place])
    yield program.replace(text, "".join(parts), 0.0)


Procedure = Callable[[Program, Any, NamedGroups], Iterator[Splice]]


def _without_known(propose: Callable[[Program, Any], Iterator[Splice]]) -> Procedure:
    return lambda program, node, known: propose(program, node)


_LOOPS = (ast.For, ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)
_DEFS = (ast.FunctionDef, ast.AsyncFunctionDef)
PROCEDURES: Mapping[str, tuple[tuple[type[ast.AST], ...], Procedure]] = {
    "late binding": (_LOOPS, late_binding),
    "shadowed": ((ast.Call,), shadowed),
    "alternatives": ((ast.BoolOp,), alternatives),
    "concatenation": ((ast.BinOp,), concatenation),
    "flag": ((ast.Call,), flag_of),
    "number text": ((ast.Call,), number_text),
    "wrong key": ((ast.Subscript,), wrong_key),
    "hash": ((ast.ClassDef,), hash_of),
    "parent": ((ast.FunctionDef,), parent_of),
    "doubled braces": ((ast.Call,), doubled_braces),
    "file of a folder": ((ast.For, ast.comprehension), file_of_a_folder),
    "argument changed": (_DEFS, argument_changed),
    "wraps": ((ast.FunctionDef,), wraps),
    "reset together": ((ast.Assign,), reset_together),
    "mutable default": (_DEFS, _without_known(mutable_default)),
    "field of each object": ((ast.ClassDef,), _without_known(kept_state.created_per_object)),
    "finally": ((ast.Expr,), _without_known(kept_state.cleanup_in_finally)),
    "key of a memo": (_DEFS, _without_known(kept_state.memo_key)),
}
"""The kinds of node and the function of each procedure, by their names in `templates.toml`."""
