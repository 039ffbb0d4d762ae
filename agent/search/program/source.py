"""A parsed source text: positions of nodes, precedence of expressions, and splices that edit it.

Offsets count UTF-8 bytes, as in `ast`. Code outside of a splice keeps its layout, quotes and
comments. The precedence of operators follows the Python language reference.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, lru_cache

from agent.core.trees import parse, parse_expression


class Precedence(IntEnum):
    """How tightly operators bind, as in the grammar of Python."""

    LOWEST, CONDITIONAL, OR, AND, NOT, COMPARE, BIT_OR, BIT_XOR, BIT_AND, SHIFT = range(10)
    SUM, PRODUCT, UNARY, POWER, AWAIT, ATOM = range(10, 16)


BINARY: dict[type[ast.operator], tuple[str, int]] = {
    ast.BitOr: ("|", 6), ast.BitXor: ("^", 7), ast.BitAnd: ("&", 8),
    ast.LShift: ("<<", 9), ast.RShift: (">>", 9),
    ast.Add: ("+", 10), ast.Sub: ("-", 10),
    ast.Mult: ("*", 11), ast.Div: ("/", 11), ast.FloorDiv: ("//", 11), ast.Mod: ("%", 11),
    ast.MatMult: ("@", 11), ast.Pow: ("**", Precedence.POWER),
}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}
_PLAIN = re.compile(r"[A-Za-z_][\w.]*\Z|\d+\Z")


@lru_cache(maxsize=50_000)
def rank(text: str) -> int:
    """The precedence of an expression; the lowest for text that is not an expression."""
    if _PLAIN.match(text):
        return Precedence.ATOM
    try:
        node = parse_expression(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Precedence.LOWEST
    match node:
        case ast.BinOp():
            return BINARY[type(node.op)][1]
        case ast.UnaryOp():
            return Precedence.NOT if isinstance(node.op, ast.Not) else Precedence.UNARY
        case ast.Compare():
            return Precedence.COMPARE
        case ast.BoolOp():
            return Precedence.AND if isinstance(node.op, ast.And) else Precedence.OR
        case ast.IfExp() | ast.Lambda():
            return Precedence.CONDITIONAL
        case ast.Tuple():
            return Precedence.ATOM if text.startswith("(") else Precedence.LOWEST
        case ast.NamedExpr() | ast.Yield() | ast.YieldFrom() | ast.Starred():
            return Precedence.LOWEST
        case ast.Await():
            return Precedence.AWAIT
    return Precedence.ATOM


def min_precedence(node: ast.expr, parent: ast.AST | None) -> int:
    """The least precedence with which an expression can replace a node without parentheses."""
    match parent:
        case ast.BinOp():
            own = BINARY[type(parent.op)][1]
            if isinstance(parent.op, ast.Pow):
                return own + 1 if node is parent.left else Precedence.UNARY
            return own if node is parent.left else own + 1
        case ast.UnaryOp():
            return Precedence.NOT if isinstance(parent.op, ast.Not) else Precedence.UNARY
        case ast.Compare():
            return Precedence.COMPARE + 1
        case ast.BoolOp():
            return (Precedence.AND if isinstance(parent.op, ast.And) else Precedence.OR) + 1
        case ast.IfExp():
            return Precedence.CONDITIONAL if node is parent.orelse else Precedence.OR
        case ast.Attribute() | ast.Await():
            return Precedence.ATOM
        case ast.Subscript():
            return Precedence.ATOM if node is parent.value else Precedence.LOWEST
        case ast.Call():
            return Precedence.ATOM if node is parent.func else Precedence.CONDITIONAL
        case ast.Starred():
            return Precedence.COMPARE + 1
        case ast.comprehension():
            return Precedence.OR
        case ast.expr() | ast.keyword():
            return Precedence.CONDITIONAL
    return Precedence.LOWEST


@dataclass(frozen=True, slots=True)
class Splice:
    """Replaces the bytes from `start` to `end` by `text`.

    `cost` is the operator's own estimate of how unlikely the edit is, compared with edits of other
    operators: about 0.4 for a near certain one, 2 for a usual one and 5 for a far-fetched one, on
    the scale of `SUSPICION_WEIGHT`. `line` is the line whose suspicion counts for it.
    """

    start: int
    end: int
    text: str
    cost: float
    line: int


def spliced(data: bytes, splices: Iterable[Splice]) -> str:
    """Applies splices that do not overlap."""
    for splice in sorted(splices, key=lambda one: (one.start, one.end), reverse=True):
        text = splice.text.encode("utf-8", "surrogatepass")
        data = data[: splice.start] + text + data[splice.end :]
    return data.decode("utf-8", "surrogatepass")


class Source:
    """A source text, its syntax tree, and the positions of its nodes.

    Raises:
        SyntaxError: The text does not parse; also `ValueError` or `RecursionError`.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.data = text.encode("utf-8", "surrogatepass")
        self.tree = parse(text)
        self.nodes: list[ast.AST] = [self.tree]
        """All nodes, in the order of `ast.walk`."""
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self._starts = [0, *(m.end() for m in re.finditer(rb"\r\n|\r|\n", self.data))]
        self.lines = [
            self.data[a:b].decode("utf-8", "surrogatepass").rstrip("\r\n")
            for a, b in zip(self._starts, [*self._starts[1:], len(self.data)], strict=True)
        ]
        self._walked: dict[ast.AST, tuple[ast.AST, ...]] = {}
        self.parents: dict[ast.AST, ast.AST] = {}
        for node in self.nodes:  # grows while it is iterated
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
                self.nodes.append(child)

    def walk(self, node: ast.AST) -> tuple[ast.AST, ...]:
        """As `ast.walk`, and kept: operators ask for the nodes of a function at each statement."""
        found = self._walked.get(node)
        if found is None:
            found = self._walked[node] = tuple(ast.walk(node))
        return found

    # Positions

    def start(self, node: ast.expr | ast.stmt | ast.arg) -> int:
        return self._starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt | ast.arg) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self._starts[node.end_lineno - 1] + node.end_col_offset

    def code(self, node: ast.expr | ast.stmt) -> str:
        """The node's original text."""
        return self.between(self.start(node), self.end(node))

    def between(self, start: int, end: int) -> str:
        return self.data[start:end].decode("utf-8", "surrogatepass")

    def line_start(self, line: int) -> int:
        """The offset of a line, counted from 1; the end of the text for lines past the end."""
        return self._starts[line - 1] if line <= len(self._starts) else len(self.data)

    def indent(self, node: ast.stmt) -> str:
        """The white space before a statement's line."""
        line = self.lines[first_line(node) - 1]
        return line[: len(line) - len(line.lstrip())]

    @cached_property
    def indent_unit(self) -> str:
        """One level of indentation as this program writes it."""
        for node in self.nodes:
            body = getattr(node, "body", None)
            if isinstance(node, ast.stmt) and isinstance(body, list) and body:
                outer, inner = self.indent(node), self.indent(body[0])
                if len(inner) > len(outer) and inner.startswith(outer):
                    return inner[len(outer) :]
        return "    "

    def has_own_lines(self, node: ast.stmt) -> bool:
        """Whether there is no other code on the lines of a statement."""
        before = self.between(self.line_start(first_line(node)), self._first(node))
        assert node.end_lineno is not None
        after = self.between(self.end(node), self.line_start(node.end_lineno + 1)).strip()
        return not before.strip() and (not after or after.startswith("#"))

    def whole_lines(self, node: ast.stmt) -> tuple[int, int]:
        """The start and end of a statement's lines, with the final line end."""
        assert node.end_lineno is not None
        return self.line_start(first_line(node)), self.line_start(node.end_lineno + 1)

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement a node belongs to."""
        at = node
        while not isinstance(at, ast.stmt):
            at = self.parents[at]
        return at

    def _first(self, node: ast.stmt) -> int:
        decorators = getattr(node, "decorator_list", None)
        if decorators:
            return self.data.rfind(b"@", 0, self.start(decorators[0]))
        return self.start(node)

    # Edits

    def replace(self, node: ast.expr, text: str, cost: float) -> Splice:
        """Replaces a node by an expression, in parentheses if its new place needs them."""
        return Splice(self.start(node), self.end(node), self.fit(node, text), cost, node.lineno)

    def replace_statement(self, node: ast.stmt, text: str, cost: float) -> Splice:
        return Splice(self.start(node), self.end(node), text, cost, node.lineno)

    def insert_before(self, node: ast.stmt, lines: Iterable[str], cost: float) -> Splice:
        """Inserts lines before a statement, with its indentation."""
        start = self.line_start(first_line(node))
        indent = self.indent(node)
        text = "".join(f"{indent}{line}{self.newline}" for line in lines)
        return Splice(start, start, text, cost, first_line(node))

    def insert_after(
        self, node: ast.stmt, lines: Iterable[str], cost: float, indent: str | None = None
    ) -> Splice:
        """Inserts lines after a statement, with its indentation or the given one."""
        _, end = self.whole_lines(node)
        indent = self.indent(node) if indent is None else indent
        text = "".join(f"{indent}{line}".rstrip() + self.newline for line in lines)
        if end == len(self.data) and not self.data.endswith((b"\n", b"\r")):
            text = self.newline + text.removesuffix(self.newline)
        # The last line of a block may not have run, so the suspicion of its first line counts.
        return Splice(end, end, text, cost, node.lineno)

    def fit(self, node: ast.expr, text: str) -> str:
        """The text, in parentheses if its precedence is too low for the node's place."""
        if rank(text) >= min_precedence(node, self.parents.get(node)) or self._in_parentheses(node):
            return text
        return f"({text})"

    def parenthesized(self, node: ast.expr, below: int) -> str:
        """A node's own text, in parentheses if it binds less tightly than `below`."""
        text = self.code(node)
        if "\n" in text and not text.startswith(("(", "[", "{")):
            return f"({text})"
        return text if rank(text) >= below else f"({text})"

    def is_called(self, node: ast.AST) -> bool:
        """Whether a node is the function of a call."""
        parent = self.parents.get(node)
        return isinstance(parent, ast.Call) and parent.func is node

    def _in_parentheses(self, node: ast.expr) -> bool:
        before = self.data[: self.start(node)].rstrip()
        after = self.data[self.end(node) :].lstrip()
        return before.endswith(b"(") and after.startswith(b")")


def first_line(node: ast.stmt) -> int:
    """The first line of a statement, decorators included."""
    decorators = getattr(node, "decorator_list", None)
    return int(decorators[0].lineno) if decorators else node.lineno
