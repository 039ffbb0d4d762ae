"""What a check asserts, whether it is an assert, a bare comparison or a method of unittest."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from agent.domain import TestCase
from agent.intake.parsing import BUILTIN_NAMES, called_name, parsed
from agent.intake.pytest_files import collected
from agent.intake.references import literal
from agent.intake.snippets import asserted

_COMPARING: Mapping[str, type[ast.cmpop]] = {
    **dict.fromkeys(
        ("assertEqual", "assertEquals", "assertListEqual", "assertTupleEqual", "assertSetEqual",
         "assertDictEqual", "assertMultiLineEqual", "assertSequenceEqual"), ast.Eq,
    ),
    "assertNotEqual": ast.NotEq, "assertIs": ast.Is, "assertIsNot": ast.IsNot,
    "assertIn": ast.In, "assertNotIn": ast.NotIn, "assertLess": ast.Lt,
    "assertLessEqual": ast.LtE, "assertGreater": ast.Gt, "assertGreaterEqual": ast.GtE,
}
_JUDGING: Mapping[str, Callable[[ast.expr], ast.expr]] = {
    "assertTrue": lambda one: one,
    "assertFalse": lambda one: ast.UnaryOp(ast.Not(), one),
    "assertIsNone": lambda one: ast.Compare(one, [ast.Is()], [ast.Constant(None)]),
    "assertIsNotNone": lambda one: ast.Compare(one, [ast.IsNot()], [ast.Constant(None)]),
}
_RAISING: Mapping[str, int] = {"raises": 1, "assertRaises": 1, "assertRaisesRegex": 2}
"""What demands an exception, and how many arguments are its own: those of a call may follow."""
_WARNING: Mapping[str, int] = {"warns": 1, "assertWarns": 1, "assertWarnsRegex": 2}
_LOOKING = frozenset({"isinstance", "issubclass", "callable", "hasattr", "bool"})
"""Builtins that look at what a value is like and not at which it is."""
_FEW = 3
"""Values of which an answer may be any, and is still taken to be told."""
_ROUNDING = 0.01
"""Of the value aimed at: a wider distance is no rounding."""
_FIXING_NOTHING = (ast.NotEq, ast.IsNot, ast.NotIn, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_ANY_EXCEPTION = frozenset({"Exception", "BaseException"})


def claimed(node: ast.stmt) -> ast.expr | None:
    """The expression that must be true where the statement is to pass; `None` where it is no
    such check."""
    found = asserted(node)
    if found is not None or not isinstance(node, ast.Expr):
        return found
    match node.value:
        case ast.Call(func=ast.Attribute(value=ast.Name("self"), attr=name), args=args):
            if name in _COMPARING and len(args) >= 2:
                made: ast.expr = ast.Compare(args[0], [_COMPARING[name]()], [args[1]])
            elif name in _JUDGING and args:
                made = _JUDGING[name](args[0])
            elif name in ("assertIsInstance", "assertNotIsInstance") and len(args) >= 2:
                made = ast.Call(ast.Name("isinstance", ast.Load()), args[:2], [])
            else:
                return None
            return ast.fix_missing_locations(ast.copy_location(made, node))
    return None


def raised(node: ast.Call) -> ast.expr | None:
    """The exception that `raises` of pytest or a method of unittest demands; `None` for any other
    call."""
    owner, _, name = called_name(node).rpartition(".")
    demands = name in _RAISING and owner in ("", "pytest", "self")
    return node.args[0] if demands and node.args else None


def passed_call(node: ast.Call) -> ast.Call | None:
    """The call that a check of an exception or a warning makes by itself, as
    `assertRaises(ValueError, f, 3)` makes `f(3)`; `None` for any other."""
    name = called_name(node).rpartition(".")[2]
    own = _RAISING.get(name) or _WARNING.get(name)
    if own is None or len(node.args) <= own:
        return None
    return ast.Call(node.args[own], node.args[own + 1 :], node.keywords)


def fixes_a_value(test: TestCase) -> bool:
    """Whether a test says which value an answer is: that it equals one, is true, is false or
    raises. What is not understood is taken to."""
    if test.kind == "example":
        return True
    if test.kind == "raises":
        return test.exception not in _ANY_EXCEPTION
    try:
        body = parsed(test.code).body
    except SyntaxError:
        return True
    if test.kind == "script" and test.node:
        entry = next((one for one in collected(body) if one.node == test.node), None)
        body = entry.function.body if entry is not None else body
    checks = [one for node in body for one in ast.walk(node) if isinstance(one, ast.stmt)]
    found = [(one, claimed(one)) for one in checks]
    if any(one is None and _checks_otherwise(node) for node, one in found):
        return True
    names = _assigned(checks)
    claims = [one for _, one in found if one is not None]
    return not claims or not all(_is_loose(one, names) for one in claims)


def _checks_otherwise(node: ast.stmt) -> bool:
    """Whether a statement may check something in a way that `claimed` does not see: a helper
    that is called, a `with raises`."""
    if isinstance(node, ast.With | ast.AsyncWith):
        return True
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and (
        called_name(node.value).rpartition(".")[2].lower().startswith(("assert", "check", "fail"))
    )


def _assigned(body: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    """What names that are assigned once stand for."""
    found: dict[str, list[ast.expr]] = {}
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found.setdefault(name, []).append(value)
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def _is_loose(node: ast.expr, names: Mapping[str, ast.expr]) -> bool:
    """Whether a claim looks only at a type, a length, or at what an answer is not."""
    match node:
        case ast.Name(id=name) if name in names:
            return _is_loose(names[name], {one: names[one] for one in names if one != name})
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _is_loose(inner, names)
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_is_loose(one, names) for one in values)
        case ast.BoolOp(values=values):
            return any(_is_loose(one, names) for one in values)
        case ast.Call(func=ast.Name("all" | "any"), args=[claims]):
            return not _tells(claims, names)
        case ast.Call(func=ast.Name(id=name)):
            return name in _LOOKING
        case ast.Compare(left=left, ops=ops, comparators=others):
            return all(
                _is_loose_pair(one, kind, other, names)
                for one, kind, other in zip([left, *others], ops, others, strict=False)
            )
    return False


def _is_loose_pair(
    left: ast.expr, kind: ast.cmpop, right: ast.expr, names: Mapping[str, ast.expr]
) -> bool:
    """Whether a comparison of two sides leaves open which value an answer is."""
    if _is_likeness(left, names) or _is_likeness(right, names):
        return True
    if isinstance(kind, ast.Lt | ast.LtE) and _is_distance(left, names):
        return _is_wide(left, right, names)
    if isinstance(kind, ast.Gt | ast.GtE) and _is_distance(right, names):
        return _is_wide(right, left, names)
    if isinstance(kind, _FIXING_NOTHING) or (isinstance(kind, ast.In) and _is_range(right)):
        return True
    return not _tells(left, names) and not _tells(right, names)


def _tells(node: ast.expr, names: Mapping[str, ast.expr]) -> bool:
    """Whether an expression that is known tells which value an answer is. What is not understood
    is taken to."""
    match node:
        case ast.Constant():
            return False
        case ast.Name(id=name) if name in names:
            return _tells(names[name], {one: names[one] for one in names if one != name})
        case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return not _is_loose(node, names)
        case ast.UnaryOp(operand=inner) | ast.NamedExpr(value=inner) | ast.Starred(value=inner):
            return _tells(inner, names)
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return any(_tells(one, names) for one in parts)
        case ast.Dict(keys=keys, values=values):
            return any(_tells(one, names) for one in (*keys, *values) if one is not None)
        case ast.ListComp(elt=elt) | ast.SetComp(elt=elt) | ast.GeneratorExp(elt=elt):
            return _tells(elt, names)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return any(_tells(one, names) for one in (test, body, orelse))
        case ast.BinOp(left=left, op=kind, right=right):
            if _levels(left, kind, right):
                return False
            return _tells(left, names) or _tells(right, names)
        case ast.Call(func=ast.Name(id=name), args=args) if name in BUILTIN_NAMES and args:
            if name in _LOOKING or _is_likeness(node, names):
                return False
            return any(_tells(one, names) for one in args)
    return True


def _levels(left: ast.expr, kind: ast.operator, right: ast.expr) -> bool:
    """Whether an operation gives one and the same for every number: `n * 0`, `n ** 0`, `n % 1`."""
    ends = [literal(left), literal(right)]
    if isinstance(kind, ast.Mult | ast.BitAnd):
        return (0,) in ends
    return ends[1] == {ast.Pow: (0,), ast.Mod: (1,)}.get(type(kind), ())


def _is_range(node: ast.expr) -> bool:
    """Values that an answer is to be among, more than a few."""
    if called_name(node) == "range" and isinstance(node, ast.Call):
        bounds = [literal(one) for one in node.args]
        values = [one[0] for one in bounds if one and isinstance(one[0], int)]
        return len(values) < len(bounds) or len(range(*values)) > _FEW
    return isinstance(node, ast.List | ast.Tuple | ast.Set) and len(node.elts) > _FEW


def _is_likeness(node: ast.expr, names: Mapping[str, ast.expr]) -> bool:
    """A type or a length."""
    if isinstance(node, ast.Name) and node.id in names:
        node = names[node.id]
    return called_name(node) in ("type", "len") or (
        isinstance(node, ast.Attribute) and node.attr in ("__class__", "__name__")
    )


def _is_wide(node: ast.expr, bound: ast.expr, names: Mapping[str, ast.expr]) -> bool:
    """Whether a distance below a bound leaves more open than how an answer was rounded."""
    if isinstance(node, ast.Name) and node.id in names:
        node = names[node.id]
    most = literal(bound)
    if most is None or not isinstance(most[0], int | float) or not isinstance(node, ast.Call):
        return False
    aims = [
        abs(value[0]) for one in ast.walk(node) if isinstance(one, ast.BinOp)
        for value in (literal(one.left), literal(one.right))
        if value and isinstance(value[0], int | float)
    ]
    return most[0] > max(1.0, _ROUNDING * max(aims, default=0))


def _is_distance(node: ast.expr, names: Mapping[str, ast.expr]) -> bool:
    """`abs(f(3) - 8)`: below a bound it fixes the value but for rounding."""
    if isinstance(node, ast.Name) and node.id in names:
        node = names[node.id]
    return called_name(node) in ("abs", "math.fabs", "fabs")
