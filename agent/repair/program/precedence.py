"""How tightly expressions bind, from the language reference's table of precedence."""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from agent.trees import parse_expression

LOWEST, CONDITIONAL, OR, AND, NOT, COMPARE = 0, 1, 2, 3, 4, 5
UNARY, POWER, ATOM = 12, 13, 15
BINARY: dict[type[ast.operator], tuple[str, int]] = {
    ast.BitOr: ("|", 6), ast.BitXor: ("^", 7), ast.BitAnd: ("&", 8),
    ast.LShift: ("<<", 9), ast.RShift: (">>", 9),
    ast.Add: ("+", 10), ast.Sub: ("-", 10),
    ast.Mult: ("*", 11), ast.Div: ("/", 11), ast.FloorDiv: ("//", 11), ast.Mod: ("%", 11),
    ast.MatMult: ("@", 11), ast.Pow: ("**", POWER),
}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}

_PLAIN = re.compile(r"[A-Za-z_][\w.]*\Z|\d+\Z")


@lru_cache(maxsize=50_000)
def rank(text: str) -> int:
    """How tightly an expression's text binds; text that is no expression binds loosest."""
    if _PLAIN.match(text):
        return ATOM
    try:
        node = parse_expression(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return LOWEST
    match node:
        case ast.BinOp():
            return BINARY[type(node.op)][1]
        case ast.UnaryOp():
            return NOT if isinstance(node.op, ast.Not) else UNARY
        case ast.Compare():
            return COMPARE
        case ast.BoolOp():
            return AND if isinstance(node.op, ast.And) else OR
        case ast.IfExp() | ast.Lambda():
            return CONDITIONAL
        case ast.Tuple():
            return ATOM if text.startswith("(") else LOWEST
        case ast.NamedExpr() | ast.Yield() | ast.YieldFrom() | ast.Starred():
            return LOWEST
        case ast.Await():
            return ATOM - 1
    return ATOM


def needed(node: ast.expr, parent: ast.AST | None) -> int:
    """How tightly an expression must bind to stand in a node's place without parentheses."""
    match parent:
        case ast.BinOp():
            own = BINARY[type(parent.op)][1]
            if isinstance(parent.op, ast.Pow):
                return own + 1 if node is parent.left else UNARY
            return own if node is parent.left else own + 1
        case ast.UnaryOp():
            return NOT if isinstance(parent.op, ast.Not) else UNARY
        case ast.Compare():
            return COMPARE + 1
        case ast.BoolOp():
            return (AND if isinstance(parent.op, ast.And) else OR) + 1
        case ast.IfExp():
            return CONDITIONAL if node is parent.orelse else OR
        case ast.Attribute() | ast.Await():
            return ATOM
        case ast.Subscript():
            return ATOM if node is parent.value else LOWEST
        case ast.Call():
            return ATOM if node is parent.func else CONDITIONAL
        case ast.Starred():
            return COMPARE + 1
        case ast.comprehension():
            return OR
        case ast.expr() | ast.keyword():
            return CONDITIONAL
    return LOWEST
