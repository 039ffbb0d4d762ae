"""Decides whether a test specifies the value of a result, or only a property of it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from copy import deepcopy

from agent.core.domain import TestCase
from agent.target.discovery.pytest_files import collected
from agent.target.discovery.snippets import asserted
from agent.target.parsing import BUILTIN_NAMES, called_name, parsed

_LOOSE_METHODS = frozenset({
    "assertGreater", "assertGreaterEqual", "assertIsInstance", "assertIsNot", "assertIsNotNone",
    "assertLess", "assertLessEqual", "assertNotEqual", "assertNotIn", "assertNotIsInstance",
})
"""Methods of unittest that do not specify a value."""
_PROPERTIES = frozenset({"isinstance", "issubclass", "callable", "hasattr", "bool", "type", "len"})
"""Builtins that return a property of a value."""
_DISTANCES = ("abs", "math.fabs", "fabs")
_OF_A_TYPE = ("__class__", "__name__")
MAX_INLINED = 3
"""How many times names are replaced by their values, since values contain names too."""
_ANY_EXCEPTION = frozenset({"Exception", "BaseException"})


def specifies_value(test: TestCase) -> bool:
    """Whether a test specifies a result: equal to a value, true, false or an exception.

    Unknown forms of checks count as specifying.
    """
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
    statements = [one for node in body for one in ast.walk(node) if isinstance(one, ast.stmt)]
    if any(_may_specify_value(node) for node in statements):
        return True
    inlining = _Inlining(statements)
    claims = [inlining.done(found) for node in statements if (found := asserted(node)) is not None]
    methods = any(_called_method(node) in _LOOSE_METHODS for node in statements)
    # `assert False` marks the place where an exception should have been raised.
    return not (claims or methods) or any(
        isinstance(one, ast.Constant) or _specifies(one) for one in claims
    )


def _may_specify_value(node: ast.stmt) -> bool:
    """Whether a statement is a `with`, or a helper or unittest method that may specify a value."""
    if isinstance(node, ast.With | ast.AsyncWith):
        return True
    name = _called_method(node)
    return name not in _LOOSE_METHODS and name.lower().startswith(("assert", "check", "fail"))


def _called_method(node: ast.stmt) -> str:
    """The last name of the callee of a call statement; empty for other statements."""
    return called_name(node.value).rpartition(".")[2] if isinstance(node, ast.Expr) else ""


class _Inlining(ast.NodeTransformer):
    """Replaces names that are assigned once by their values."""

    def __init__(self, body: Sequence[ast.stmt]) -> None:
        found: dict[str, list[ast.expr]] = {}
        for node in body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    found.setdefault(name, []).append(value)
        self._values = {name: values[0] for name, values in found.items() if len(values) == 1}

    def done(self, node: ast.expr) -> ast.expr:
        """The expression with its names replaced, repeatedly."""
        for _ in range(MAX_INLINED):
            node = self.visit(deepcopy(node))
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._values.get(node.id, node)


def _specifies(node: ast.expr) -> bool:
    """Whether an asserted expression specifies a value, and not only a type, length or inequality.

    Unknown forms count as specifying.
    """
    match node:
        case ast.BoolOp(op=kind, values=values):
            return (any if isinstance(kind, ast.And) else all)(map(_specifies, values))
        case ast.Compare(left=left, ops=ops, comparators=others):
            return any(map(_pair_specifies, [left, *others], ops, others))
        case ast.Call(func=ast.Name(id=name), args=args) if name in BUILTIN_NAMES and args:
            return name not in _PROPERTIES and any(map(_specifies, args))
        case ast.Attribute(attr=name):
            return name not in _OF_A_TYPE
        case ast.Call() | ast.Subscript() | ast.Name() | ast.Await():
            return True
    return any(_specifies(one) for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr))


def _pair_specifies(left: ast.expr, kind: ast.cmpop, right: ast.expr) -> bool:
    match kind:
        case ast.NotEq() | ast.IsNot() | ast.NotIn():
            return False
        # A distance below a bound specifies the value except for rounding.
        case ast.Lt() | ast.LtE():
            return called_name(left) in _DISTANCES
        case ast.Gt() | ast.GtE():
            return called_name(right) in _DISTANCES
    return not any(map(_is_type_or_length, (left, right))) and (
        _specifies(left) or _specifies(right)
    )


def _is_type_or_length(node: ast.expr) -> bool:
    return called_name(node) in ("type", "len") or (
        isinstance(node, ast.Attribute) and node.attr in _OF_A_TYPE
    )
