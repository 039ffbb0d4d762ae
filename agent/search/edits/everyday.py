"""Edits that maintainers make most often: emptiness, lookups, copies, conversions, grouping.

Each operator is a common form of small fixes in the histories of public packages. Most of them
reuse the module's own helpers, conditions and classes. An operator yields the edits of one node;
edits with a higher cost are less likely and are tried later.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from agent.search.edits.calls import positional_arguments, replaced_call
from agent.search.edits.constants import quoted
from agent.search.program import BUILTINS, Function, Precedence, Program, Splice, parameters

MAX_METHODS, MAX_CONDITIONS = 8, 24
_WITH_DEFAULT = frozenset({"pop", "get", "setdefault"})
_COPIES = ("list({})", "dict({})", "{}.copy()", "{}[:]")
_EXCEPTIONS = (
    "ValueError", "TypeError", "KeyError", "AttributeError", "IndexError", "RuntimeError",
    "NotImplementedError", "LookupError", "OSError",
)
_CLASSES = ("str", "bytes", "int", "float", "list", "tuple", "dict", "set", "bool")


def emptiness(program: Program, node: ast.expr) -> Iterator[Splice]:
    """Replaces a test of truth by a test for `None` or for a key, or the reverse."""
    match node:
        case ast.BoolOp(op=ast.Or(), values=[first, second]) if not program.is_condition(node):
            text = program.parenthesized(first, Precedence.NOT)
            default = program.parenthesized(second, Precedence.NOT)
            otherwise = f"{text} if {text} is not None else {default}"
            yield program.replace(node, _parenthesized_for(program, node, otherwise), 2.4)
            return
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[
            ast.Constant(value=None)
        ]) if program.is_condition(node):
            text = program.parenthesized(left, Precedence.NOT)
            yield program.replace(node, text if isinstance(op, ast.IsNot) else f"not {text}", 2.8)
            return
    if not program.is_condition(node) or isinstance(node, ast.Compare | ast.BoolOp | ast.UnaryOp):
        return
    parent = program.parents.get(node)
    negated = isinstance(parent, ast.UnaryOp)
    place = parent if negated and isinstance(parent, ast.expr) else node
    match node:
        case ast.Call(func=ast.Attribute(value=owner, attr="get"), args=[key]):
            word = "not in" if negated else "in"
            text = f"{program.parenthesized(key, Precedence.ATOM)} {word} {program.code(owner)}"
            yield program.replace(place, text, 2.2)
    if isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript):
        text = f"{program.code(node)} is {'' if negated else 'not '}None"
        held = program.condition_values(text, program.statement(node).lineno)
        kinds = program.type_of(node)
        # A condition that never changes only disables its branch.
        is_constant = len(held) > 1 and {*held} in ({True}, {False})
        if not is_constant and (not kinds or "NoneType" in kinds):
            yield program.replace(place, text, 2.6 if kinds else 3.4)


def lookup(program: Program, node: ast.expr) -> Iterator[Splice]:
    """Makes a lookup lenient, or gives it another default."""
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return
    match node:
        case ast.Subscript(value=owner, slice=key) if not isinstance(key, ast.Slice | ast.Constant
        ) or isinstance(getattr(key, "value", None), str):
            base, text = program.code(owner), program.code(key)
            for default in ("", ", ''", ", {}", ", []", f", {text}"):
                yield program.replace(node, f"{base}.get({text}{default})", 3.6)
        case ast.Call(func=func, args=args, keywords=[]):
            given = positional_arguments(program, node)
            name = func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
            if isinstance(func, ast.Attribute) and name in _WITH_DEFAULT and len(args) == 1:
                for default in ("None", *_parameters(program, node)):
                    if default not in given:
                        yield replaced_call(program, node, [*given, default], [], 2.6)
            elif (name, len(args)) in (("next", 1), ("getattr", 2)):
                yield replaced_call(program, node, [*given, "None"], [], 2.6)
            elif name in ("split", "rsplit") and len(args) == 1:
                yield replaced_call(program, node, [*given, "1"], [], 2.8)
            elif name == "get" and len(args) == 2:
                text = program.code(func)
                text = f"{text}({given[0]}) or {given[1]}"
                yield program.replace(node, _parenthesized_for(program, node, text), 3.0)


def copy(program: Program, node: ast.expr) -> Iterator[Splice]:
    """Copies a value that is returned, assigned, iterated over or passed on."""
    parent = program.parents.get(node)
    match parent:
        case ast.For(iter=used) | ast.Return(value=used) | ast.Assign(value=used):
            if used is not node:
                return
        case ast.keyword() | ast.Call():
            if program.is_called(node):
                return
        case _:
            return
    if isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        kinds = program.type_of(node)
        for form in _COPIES:
            fits = not kinds or not kinds.isdisjoint(
                {"dict"} if form.startswith("dict") else {"list", "dict", "set", "tuple"}
            )
            if fits:
                yield program.replace(
                    node, form.format(program.code(node)), 3.4 + isinstance(parent, ast.Call)
                )


def helper(program: Program, node: ast.expr) -> Iterator[Splice]:
    """Passes a value through a one-argument function of the module, or an own method."""
    parent = program.parents.get(node)
    if isinstance(node, ast.Constant | ast.Lambda | ast.Starred) or program.is_called(node):
        return
    if not isinstance(parent, ast.Assign | ast.Return | ast.Call | ast.keyword | ast.Dict
                      | ast.For | ast.comprehension | ast.Compare):
        return
    if isinstance(parent, ast.For | ast.comprehension) and node is parent.target:
        return
    text = program.code(node)
    for place, name in enumerate((*program.unary_functions, *_own_methods(program, node, 1))):
        inside = isinstance(parent, ast.Call) and program.code(parent.func) == name
        if not inside and not text.startswith(f"{name}("):
            yield program.replace(node, f"{name}({text})", 4.0 + 0.05 * place)


def converted(program: Program, node: Function) -> Iterator[Splice]:
    """Converts a parameter at the start of a function, always or if it is of some class."""
    first = next((one for one in node.body if not isinstance(one, ast.Expr)), None)
    if first is None:
        return
    for name in parameters(node, keywords=False):
        if name in ("self", "cls"):
            continue
        for place, converter in enumerate(("str", "list", "tuple", *program.unary_functions[:4])):
            yield program.insert_before(first, [f"{name} = {converter}({name})"], 4.2 + 0.1 * place)
        for default in ("[]", "{}", "''", "()"):
            lines = [f"if {name} is None:", f"{program.indent_unit}{name} = {default}"]
            yield program.insert_before(first, lines, 4.4)
        for given in ("str", "list", "bytes", *program.class_names[:4]):
            for converter in ("str", "list", "tuple", "[{}]", *program.unary_functions[:2]):
                if converter != given:
                    value = converter.format(name) if "{" in converter else f"{converter}({name})"
                    yield program.insert_before(first, [
                        f"if isinstance({name}, {given}):", f"{program.indent_unit}{name} = {value}"
                    ], 5.0)


def callee(program: Program, node: ast.Name | ast.Attribute) -> Iterator[Splice]:
    """Calls another imported function or another own method, or replaces `Class` in `Class.method`
    by a variable."""
    parent = program.parents.get(node)
    if isinstance(node, ast.Attribute):
        if program.is_called(node) and isinstance(node.value, ast.Name):
            for name in _own_methods(program, node, None):
                if name != program.code(node) and node.value.id in ("self", "cls"):
                    alike = {*name[5:].split("_")} & {*node.attr.split("_")}
                    yield program.replace(node, name, 3.0 if alike else 3.8)
        return
    known = {*program.imported, *program.functions}
    if not isinstance(node.ctx, ast.Load) or node.id not in known:
        return
    if isinstance(parent, ast.Attribute):
        for name in program.variables(node):
            yield program.replace(node, name, 2.8)
        return
    words = {*node.id.lower().split("_")} - {""}
    for name in program.imported:
        if name != node.id and words & {*name.lower().split("_")}:
            yield program.replace(node, name, 3.0)


def own_lookup(program: Program, node: ast.Subscript) -> Iterator[Splice]:
    """Asks an own method instead of looking a key up: it may know more."""
    match node:
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id="self")), ctx=ast.Load()):
            for place, name in enumerate(_own_methods(program, node, 1)):
                text = f"{name}({program.code(node.slice)})"
                yield program.replace(node, text, 2.6 + 0.1 * place)


def kind(program: Program, node: ast.Call) -> Iterator[Splice]:
    """Changes the class in an `isinstance`, adds or drops one; raises another exception."""
    match node:
        case ast.Call(func=ast.Name(id="isinstance" | "issubclass"), args=[_, asked]):
            names = [one for one in asked.elts] if isinstance(asked, ast.Tuple) else [asked]
            texts = [program.code(one) for one in names]
            for place in range(len(texts) if isinstance(asked, ast.Tuple) else 0):
                kept = texts[:place] + texts[place + 1 :]
                text = kept[0] if len(kept) == 1 else f"({', '.join(kept)})"
                if kept:
                    yield program.replace(asked, text, 2.8)
            for place, other in enumerate((*program.class_names, *_CLASSES)):
                if other in texts:
                    continue
                cost = 3.0 + 0.05 * place
                yield program.replace(asked, f"({', '.join([*texts, other])})", cost)
                yield program.replace(asked, other, cost + 0.2)
        case ast.Call(func=ast.Name(id=name)) if isinstance(program.parents.get(node), ast.Raise):
            own = [one for one in program.class_names if one.endswith(("Error", "Exception"))]
            for place, other in enumerate(dict.fromkeys((*own, *_EXCEPTIONS))):
                if other != name:
                    yield program.replace(node.func, other, 3.2 + 0.05 * place)


def grouping(program: Program, node: ast.BoolOp) -> Iterator[Splice]:
    """Groups the operands of different operators differently: `a % b or c` as `a % (b or c)`."""
    outer = "or" if isinstance(node.op, ast.Or) else "and"
    values = [program.parenthesized(one, Precedence.AND) for one in node.values]
    first, end = node.values[0], node.values[-1]
    match first:
        case ast.BoolOp(values=inside) if isinstance(first.op, ast.And) and outer == "or":
            left = " and ".join(program.parenthesized(one, Precedence.NOT) for one in inside[:-1])
            right = " or ".join([program.parenthesized(inside[-1], Precedence.AND), *values[1:]])
            text = _parenthesized_for(program, node, f"{left} and ({right})")
            yield program.replace(node, text, 2.4)
        case ast.BinOp(right=right_side):
            start = program.between(program.start(first), program.start(right_side))
            right = f" {outer} ".join([program.code(right_side), *values[1:]])
            yield program.replace(node, f"{start}({right})", 2.4)
    match end:
        case ast.BoolOp(values=inside) if isinstance(end.op, ast.And) and outer == "or":
            left = " or ".join([*values[:-1], program.parenthesized(inside[0], Precedence.AND)])
            right = " and ".join(program.parenthesized(one, Precedence.NOT) for one in inside[1:])
            text = _parenthesized_for(program, node, f"({left}) and {right}")
            yield program.replace(node, text, 2.6)


def like_siblings(program: Program, node: ast.Dict) -> Iterator[Splice]:
    """Gives an entry's value the form of at least two others that contain their own key."""
    pairs = [
        (key.value, value.value, value) for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(value, ast.Constant)
        and isinstance(key.value, str) and isinstance(value.value, str) and len(key.value) > 1
    ]
    forms = Counter(value.replace(key, "\0") for key, value, _ in pairs if key in value)
    usual = [form for form, count in forms.items() if count > 1 and "\0" in form]
    for key, value, place in pairs:
        for form in usual:
            if value != form.replace("\0", key):
                text = quoted(form.replace("\0", key), program.code(place))
                yield program.replace(place, text, 2.0)


def conditions_elsewhere(program: Program, node: ast.expr | ast.stmt) -> Iterator[str]:
    """Conditions of other functions of the module whose names are all known at a node."""
    scope = program.scope(node)
    own = parameters(scope) if isinstance(scope, Function) else []
    known = {*own, *program.variables(node), *program.functions, *program.imported, *BUILTINS}
    count = 0
    for text, names, other in program.named_conditions:
        if other is not scope and names <= known and count < MAX_CONDITIONS:
            count += 1
            yield text


def _parenthesized_for(program: Program, node: ast.expr, text: str) -> str:
    """An expression of low precedence, in parentheses where its place may need them."""
    free = ast.Return | ast.Assign | ast.AnnAssign | ast.keyword | ast.If | ast.While | ast.Call
    return text if isinstance(program.parents.get(node), free) else f"({text})"


def _parameters(program: Program, node: ast.AST) -> list[str]:
    scope = program.scope(node)
    names = parameters(scope, keywords=False) if isinstance(scope, Function) else []
    return [one for one in names if one not in ("self", "cls")]


def _own_methods(program: Program, node: ast.AST, count: int | None) -> list[str]:
    """Other methods of the node's class as `self.name`; `count` is the number of arguments."""
    scope = program.scope(node)
    owner = program.parents.get(scope)
    if not isinstance(owner, ast.ClassDef):
        return []
    return [
        f"self.{one.name}" for one in owner.body
        if isinstance(one, Function) and one is not scope and not one.name.startswith("__")
        and not one.decorator_list and (count is None or len(one.args.args) == count + 1)
    ][:MAX_METHODS]
