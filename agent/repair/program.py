"""A parsed program whose original text is edited in place.

Edits are splices of the text's UTF-8 bytes, the unit of Python's own offsets: whatever an
edit does not touch keeps its layout, quotes and comments.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeVar

from agent.repair.evidence import Vector, held, picked
from agent.repair.facts import Crash, Moment
from agent.trees import is_literal

T = TypeVar("T")
Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = Function | ast.Lambda | ast.ClassDef | ast.Module

NUMBERS = frozenset({"int", "float", "bool", "complex"})
MOST_GLOBALS = 12
"""Global variables that an edit of one function may bring in."""
SEQUENCES = frozenset({"list", "str", "tuple"})


@dataclass(frozen=True, slots=True)
class Splice:
    """Replaces bytes `start` to `end` by `text`; `line` is where the suspicion is looked up."""

    start: int
    end: int
    text: str
    cost: float
    line: int


def spliced(data: bytes, splices: Iterable[Splice]) -> str:
    """The text after non-overlapping splices."""
    for splice in sorted(splices, key=lambda one: (one.start, one.end), reverse=True):
        text = splice.text.encode("utf-8", "surrogatepass")
        data = data[: splice.start] + text + data[splice.end :]
    return data.decode("utf-8", "surrogatepass")


TABLE = 100
"""Constants in one display from which on it is a table of data."""
VAST = 1_000
"""Entries from which on a table is data all through: its keys, and it itself as a value."""
NEAR = 60
"""Variables, or constants of a type, that an edit of a long function may bring in."""
ALWAYS_NEAR = 12
"""Of these, how many are the function's first: its parameters."""


def _data(node: ast.AST) -> list[ast.AST]:
    """What of a table of data is no material; nothing for other nodes."""
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            keys: list[ast.expr | None] = []
        case ast.Dict(keys=keys, values=parts):
            pass
        case _:
            return []
    if len(parts) <= TABLE:
        return []
    if len(parts) <= VAST:
        return [*parts] if all(isinstance(part, ast.Constant) for part in parts) else []
    if not all(_is_datum(part) for part in (*filter(None, keys), *parts)):
        return []
    return [*ast.walk(node)]


def _is_datum(part: ast.expr) -> bool:
    """Whether an entry is a constant, or a display of such."""
    return isinstance(part, ast.Constant) or (
        isinstance(part, ast.List | ast.Tuple | ast.Set | ast.Dict | ast.UnaryOp)
        and is_literal(part)
    )


class Program:
    """A program under repair: its tree, its places, and what is known of its values.

    Raises `SyntaxError`, `ValueError` or `RecursionError` where the text does not parse.
    """

    def __init__(
        self,
        text: str,
        *,
        types: Mapping[str, frozenset[str]] | None = None,
        crash: Crash | None = None,
        moments: tuple[Moment, ...] = (),
        answers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.text = text
        self.data = text.encode("utf-8", "surrogatepass")
        self.tree = ast.parse(text)
        self.nodes: list[ast.AST] = [self.tree]
        """All of its nodes, in the order of `ast.walk`."""
        self.types = types or {}
        self.crash = crash
        self.answers = answers
        self.all_moments = moments
        self.newline = "\r\n" if "\r\n" in text else "\n"
        self._starts = [0, *(m.end() for m in re.finditer(rb"\r\n|\r|\n", self.data))]
        self.lines = [
            self.data[a:b].decode("utf-8", "surrogatepass").rstrip("\r\n")
            for a, b in zip(self._starts, [*self._starts[1:], len(self.data)], strict=True)
        ]
        self.parents: dict[ast.AST, ast.AST] = {}
        for node in self.nodes:  # which grows meanwhile
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node
                self.nodes.append(child)
        self._variables: dict[ast.AST, tuple[str, ...]] = {}
        self._scopes: dict[ast.AST, ast.AST] = {}
        self._held: dict[tuple[str, int], Vector] = {}
        self._named: dict[ast.AST, list[tuple[int, str]]] = {}
        self._nearby: dict[tuple[ast.AST, int], tuple[str, ...]] = {}
        self._constants: dict[tuple[ast.AST, type], list[tuple[int, object]]] = {}

    # Places

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
        """The offset of a line, counted from 1; past the end it is the end of the text."""
        return self._starts[line - 1] if line <= len(self._starts) else len(self.data)

    def indent(self, node: ast.stmt) -> str:
        """The white space before a statement's line."""
        line = self.lines[first_line(node) - 1]
        return line[: len(line) - len(line.lstrip())]

    @cached_property
    def step(self) -> str:
        """One level of indentation as this program writes it."""
        for node in self.nodes:
            body = getattr(node, "body", None)
            if isinstance(node, ast.stmt) and isinstance(body, list) and body:
                outer, inner = self.indent(node), self.indent(body[0])
                if len(inner) > len(outer) and inner.startswith(outer):
                    return inner[len(outer) :]
        return "    "

    def alone(self, node: ast.stmt) -> bool:
        """Whether a statement has its lines for itself."""
        before = self.between(self.line_start(first_line(node)), self._first(node))
        assert node.end_lineno is not None
        after = self.between(self.end(node), self.line_start(node.end_lineno + 1)).strip()
        return not before.strip() and (not after or after.startswith("#"))

    def whole_lines(self, node: ast.stmt) -> tuple[int, int]:
        """The offsets of a statement's lines, line end included."""
        assert node.end_lineno is not None
        return self.line_start(first_line(node)), self.line_start(node.end_lineno + 1)

    def _first(self, node: ast.stmt) -> int:
        decorators = getattr(node, "decorator_list", None)
        if decorators:
            return self.data.rfind(b"@", 0, self.start(decorators[0]))
        return self.start(node)

    # Edits

    def replace(self, node: ast.expr, text: str, cost: float) -> Splice:
        """Puts an expression in a node's place, in parentheses where its new place needs them."""
        return Splice(self.start(node), self.end(node), self.fit(node, text), cost, node.lineno)

    def replace_statement(self, node: ast.stmt, text: str, cost: float) -> Splice:
        return Splice(self.start(node), self.end(node), text, cost, node.lineno)

    def insert_before(self, node: ast.stmt, lines: Iterable[str], cost: float) -> Splice:
        """New lines, indented as the statement is, before it."""
        start = self.line_start(first_line(node))
        indent = self.indent(node)
        text = "".join(f"{indent}{line}{self.newline}" for line in lines)
        return Splice(start, start, text, cost, first_line(node))

    def insert_after(
        self, node: ast.stmt, lines: Iterable[str], cost: float, indent: str | None = None
    ) -> Splice:
        _, end = self.whole_lines(node)
        indent = self.indent(node) if indent is None else indent
        text = "".join(f"{indent}{line}{self.newline}" for line in lines)
        if end == len(self.data) and not self.data.endswith((b"\n", b"\r")):
            text = self.newline + text.removesuffix(self.newline)
        # A block's last line may never have run: what leads to its end is its head.
        return Splice(end, end, text, cost, node.lineno)

    def fit(self, node: ast.expr, text: str) -> str:
        """The text with parentheses if it binds looser than the node's place allows."""
        if rank(text) >= self._needed(node) or self._in_parentheses(node):
            return text
        return f"({text})"

    def grouped(self, node: ast.expr, least: int) -> str:
        """A node's own text, in parentheses if it binds looser than `least`."""
        text = self.code(node)
        if "\n" in text and not text.startswith(("(", "[", "{")):
            return f"({text})"
        return text if rank(text) >= least else f"({text})"

    def _in_parentheses(self, node: ast.expr) -> bool:
        before = self.data[: self.start(node)].rstrip()
        after = self.data[self.end(node) :].lstrip()
        return before.endswith(b"(") and after.startswith(b")")

    def _needed(self, node: ast.expr) -> int:
        parent = self.parents.get(node)
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

    # Names and types

    def scope(self, node: ast.AST) -> ast.AST:
        """The innermost function around a node, or the module."""
        found = self._scopes.get(node)
        if found is None:
            above: ast.AST | None = self.parents.get(node)
            while above is not None and not isinstance(above, Function | ast.Module):
                above = self.parents.get(above)
            found = above if above is not None else self.tree
            self._scopes[node] = found
        return found

    def variables(self, node: ast.AST) -> tuple[str, ...]:
        """Names of values a node could read, the nearest scope first."""
        scope = self.scope(node)
        if scope not in self._variables:
            names: list[str] = []
            at: ast.AST = scope
            while isinstance(at, Function):
                names += _bound(at)
                at = self.scope(at)
            names += self._globals_for(scope)
            self._variables[scope] = tuple(dict.fromkeys(names))
        names_here = self._variables[scope]
        if len(names_here) > NEAR:
            names_here = self._near(node, scope, names_here)
        own = [name for name in self._comprehension_names(node) if name not in names_here]
        return (*own, *names_here) if own else names_here

    def _near(
        self, node: ast.AST, scope: ast.AST, names: tuple[str, ...]
    ) -> tuple[str, ...]:
        """Of very many variables the first, which are the parameters, and those that stand
        nearest."""
        at = self.start(self.statement(node))
        if (scope, at) not in self._nearby:
            if scope not in self._named:
                known = {*names}
                self._named[scope] = sorted(
                    (self.start(one), one.id) for one in self._by_scope.get(scope, ())
                    if one.id in known
                )
            near = nearest(self._named[scope], at, NEAR - ALWAYS_NEAR)
            self._nearby[scope, at] = tuple(dict.fromkeys((*names[:ALWAYS_NEAR], *near)))
        return self._nearby[scope, at]

    @cached_property
    def _by_scope(self) -> Mapping[ast.AST, list[ast.Name]]:
        found: dict[ast.AST, list[ast.Name]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Name):
                found.setdefault(self.scope(node), []).append(node)
        return found

    def _globals_for(self, scope: ast.AST) -> tuple[str, ...]:
        """All of a few global variables; of many, those that the scope reads already."""
        if len(self.module_values) <= MOST_GLOBALS or scope is self.tree:
            return self.module_values[:MOST_GLOBALS]
        read = {one.id for one in ast.walk(scope) if isinstance(one, ast.Name)}
        return tuple(name for name in self.module_values if name in read)[:MOST_GLOBALS]

    def _comprehension_names(self, node: ast.AST) -> Iterator[str]:
        at: ast.AST | None = node
        while at is not None and not isinstance(at, ast.stmt):
            if isinstance(at, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
                for generator in at.generators:
                    yield from _stored(generator.target)
            if isinstance(at, ast.Lambda):
                yield from (one.arg for one in (*at.args.posonlyargs, *at.args.args))
            at = self.parents.get(at)

    @cached_property
    def module_values(self) -> tuple[str, ...]:
        """Variables assigned at module level."""
        names: list[str] = []
        for statement in self.tree.body:
            if isinstance(statement, Function | ast.ClassDef | ast.Import | ast.ImportFrom):
                continue
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    names.append(node.id)
        return tuple(dict.fromkeys(names))

    @cached_property
    def functions(self) -> tuple[str, ...]:
        """Functions and classes defined at module level."""
        return tuple(
            node.name for node in self.tree.body if isinstance(node, Function | ast.ClassDef)
        )

    @cached_property
    def defined(self) -> tuple[Function, ...]:
        """All functions, wherever they are defined, in the order of a walk."""
        return tuple(node for node in self.nodes if isinstance(node, Function))

    @cached_property
    def askers(self) -> tuple[Function, ...]:
        """Functions, no methods, that take one value and answer with `True` or `False`."""
        return tuple(
            one for one in self.defined
            if len(one.args.args) == 1 and not isinstance(self.parents.get(one), ast.ClassDef)
            and any(
                isinstance(left, ast.Return) and left.value is not None
                and self.type_of(left.value) == {"bool"} for left in ast.walk(one)
            )
        )

    @cached_property
    def imported(self) -> tuple[str, ...]:
        return tuple(
            (alias.asname or alias.name).split(".")[0]
            for node in self.nodes
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in node.names
        )

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """Attributes read or written as values, not called."""
        called = {
            node.func for node in self.nodes if isinstance(node, ast.Call)
        }
        return tuple(
            sorted(
                {
                    node.attr
                    for node in self.nodes
                    if isinstance(node, ast.Attribute) and node not in called
                }
            )
        )

    @cached_property
    def reads(self) -> Mapping[str, int]:
        counts: dict[str, int] = {}
        for node in self.nodes:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                counts[node.id] = counts.get(node.id, 0) + 1
        return counts

    @cached_property
    def _picked(self) -> Mapping[int, tuple[Moment, ...]]:
        lines: dict[int, list[Moment]] = {}
        for moment in self.all_moments:
            lines.setdefault(moment.line, []).append(moment)
        return {line: picked(moments) for line, moments in lines.items()}

    def moments(self, line: int) -> tuple[Moment, ...]:
        """A few moments just before a line ran, those of failing tests first."""
        return self._picked.get(line, ())

    def held(self, condition: str, line: int) -> Vector:
        """What a condition was at each of the moments before a line."""
        key = condition, line
        if key not in self._held:
            self._held[key] = held(condition, self.moments(line))
        return self._held[key]

    def seen(self, name: str) -> frozenset[str]:
        """Types seen in a variable; empty is unknown."""
        return self.types.get(name, frozenset())

    def may_be(self, name: str, kinds: frozenset[str]) -> bool:
        seen = self.seen(name)
        return not seen or bool(seen & kinds)

    def type_of(self, node: ast.expr) -> frozenset[str]:
        """Likely types of an expression; empty is unknown."""
        match node:
            case ast.Name():
                return self.seen(node.id)
            case ast.Constant():
                return frozenset({type(node.value).__name__})
            case ast.List() | ast.ListComp():
                return frozenset({"list"})
            case ast.Dict() | ast.DictComp():
                return frozenset({"dict"})
            case ast.Set() | ast.SetComp():
                return frozenset({"set"})
            case ast.Tuple():
                return frozenset({"tuple"})
            case ast.Compare():
                return frozenset({"bool"})
            case ast.JoinedStr():
                return frozenset({"str"})
            case ast.UnaryOp():
                is_not = isinstance(node.op, ast.Not)
                return frozenset({"bool"}) if is_not else self.type_of(node.operand)
            case ast.BoolOp():
                return self.type_of(node.values[-1])
            case ast.BinOp(op=ast.Div()):
                return frozenset({"float"})
            case ast.BinOp():
                return self.type_of(node.left) or self.type_of(node.right)
            case ast.IfExp():
                return self.type_of(node.body) or self.type_of(node.orelse)
            case ast.Call(func=ast.Name(id=name)):
                return frozenset(CALL_TYPES.get(name, ()))
            case ast.Call(func=ast.Attribute(attr=name)):
                return frozenset(METHOD_TYPES.get(name, ()))
            case ast.Subscript(slice=ast.Slice()):
                return self.type_of(node.value)
        return frozenset()

    # Expressions of the program as material

    @cached_property
    def hidden(self) -> frozenset[ast.AST]:
        """Nodes that are no material: docstrings, annotations, what tables of data hold, and
        f-strings before 3.12."""
        found: set[ast.AST] = set()
        for node in self.nodes:
            if isinstance(node, ast.JoinedStr):
                deep = sys.version_info < (3, 12)
                for inner in ast.walk(node):
                    is_text = isinstance(inner, ast.Constant) and inner in node.values
                    is_format = isinstance(inner, ast.JoinedStr | ast.FormattedValue)
                    if inner is not node and (deep or is_text or is_format):
                        found.add(inner)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                found.add(node.value)
            for name in ("annotation", "returns"):
                note = getattr(node, name, None)
                if isinstance(note, ast.AST):
                    found.update(ast.walk(note))
            if isinstance(node, ast.Match):
                for case in node.cases:
                    found.update(ast.walk(case.pattern))
            found.update(_data(node))
        return frozenset(found)

    def expressions(self, scope: ast.AST) -> tuple[tuple[str, ast.expr], ...]:
        """Short expressions read in a scope, each text once."""
        return self._material.get(scope, ())

    @cached_property
    def _material(self) -> Mapping[ast.AST, tuple[tuple[str, ast.expr], ...]]:
        found: dict[ast.AST, dict[str, ast.expr]] = {}
        known = {*self.functions, *self.imported, *BUILTINS}
        for node in self.nodes:
            if not isinstance(node, ast.expr) or node in self.hidden:
                continue
            if not isinstance(getattr(node, "ctx", None) or ast.Load(), ast.Load):
                continue
            if isinstance(node, ast.Slice | ast.Starred):
                continue
            if isinstance(node, ast.Name) and node.id in known:
                continue
            text = self.code(node)
            bare = isinstance(node, ast.Tuple) and not text.startswith("(")
            if len(text) <= 50 and "\n" not in text and not bare:
                found.setdefault(self.scope(node), {}).setdefault(text, node)
        return {scope: tuple(texts.items()) for scope, texts in found.items()}

    def conditions(self, scope: ast.AST) -> tuple[str, ...]:
        """Texts of the comparisons and tests of a scope."""
        found = []
        for text, node in self.expressions(scope):
            parent = self.parents.get(node)
            tested = (
                (isinstance(parent, ast.If | ast.While | ast.IfExp) and parent.test is node)
                or isinstance(parent, ast.BoolOp)
                or (isinstance(parent, ast.comprehension) and node in parent.ifs)
            )
            if tested or isinstance(node, ast.Compare):
                found.append(text)
        return tuple(found)

    def constants(self, node: ast.AST, kind: type) -> tuple[object, ...]:
        """Distinct constants of exactly that type in the node's scope; of very many, those that
        stand nearest."""
        key = self.scope(node), kind
        if key not in self._constants:
            self._constants[key] = [
                (self.start(one), one.value) for _, one in self.expressions(key[0])
                if isinstance(one, ast.Constant) and type(one.value) is kind
            ]
            if len(self._constants[key]) > NEAR:
                self._constants[key].sort(key=lambda one: one[0])
        found = self._constants[key]
        if len(found) > NEAR:
            return nearest(found, self.start(self.statement(node)), NEAR)
        return tuple(dict.fromkeys(value for _, value in found))

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement a node belongs to."""
        at = node
        while not isinstance(at, ast.stmt):
            at = self.parents[at]
        return at

    def is_tested(self, node: ast.expr) -> bool:
        """Whether a node stands where a condition is asked for."""
        parent = self.parents.get(node)
        if isinstance(parent, ast.If | ast.While | ast.IfExp):
            return parent.test is node
        if isinstance(parent, ast.comprehension):
            return node in parent.ifs
        return isinstance(parent, ast.BoolOp) or (
            isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
        )


def nearest(places: Sequence[tuple[int, T]], at: int, most: int) -> tuple[T, ...]:
    """Different values whose places, given in their order, are nearest, the nearest first."""
    found: dict[T, None] = {}
    after = bisect_left(places, at, key=lambda one: one[0])
    before = after - 1
    while len(found) < most and (before >= 0 or after < len(places)):
        if before < 0 or (
            after < len(places) and places[after][0] - at < at - places[before][0]
        ):
            found[places[after][1]] = None
            after += 1
        else:
            found[places[before][1]] = None
            before -= 1
    return tuple(found)


def first_line(node: ast.stmt) -> int:
    """The first line of a statement, decorators included."""
    decorators = getattr(node, "decorator_list", None)
    return int(decorators[0].lineno) if decorators else node.lineno


def _stored(target: ast.AST) -> Iterator[str]:
    for node in ast.walk(target):
        if isinstance(node, ast.Name):
            yield node.id


def _bound(function: Function) -> list[str]:
    """Parameters and assigned names of a function, not of functions inside it."""
    arguments = function.args
    names = [
        one.arg
        for one in (
            *arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs,
            *filter(None, (arguments.vararg, arguments.kwarg)),
        )
    ]
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop(0)
        if isinstance(node, Function | ast.Lambda | ast.ClassDef | ast.ListComp | ast.SetComp
                      | ast.DictComp | ast.GeneratorExp):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.append(node.id)
        pending += ast.iter_child_nodes(node)
    return names


# How tightly an expression binds, from the language reference's table of precedence.
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
        node = ast.parse(text, mode="eval").body
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


BUILTINS = frozenset(dir(builtins))

_INT = ("int",)
_STR = ("str",)
_LIST = ("list",)
_BOOL = ("bool",)
CALL_TYPES: dict[str, tuple[str, ...]] = {
    "len": _INT, "int": _INT, "ord": _INT, "hash": _INT, "id": _INT, "round": _INT,
    "sum": ("int", "float"), "abs": ("int", "float"), "pow": ("int", "float"),
    "float": ("float",), "str": _STR, "repr": _STR, "chr": _STR, "bin": _STR, "hex": _STR,
    "oct": _STR, "input": _STR, "list": _LIST, "sorted": _LIST, "set": ("set",),
    "tuple": ("tuple",), "dict": ("dict",), "bool": _BOOL, "any": _BOOL, "all": _BOOL,
    "isinstance": _BOOL,
}
METHOD_TYPES: dict[str, tuple[str, ...]] = {
    "join": _STR, "lower": _STR, "upper": _STR, "strip": _STR, "lstrip": _STR, "rstrip": _STR,
    "replace": _STR, "title": _STR, "capitalize": _STR, "swapcase": _STR, "format": _STR,
    "zfill": _STR, "split": _LIST, "splitlines": _LIST, "count": _INT, "find": _INT,
    "rfind": _INT, "index": _INT, "append": ("NoneType",), "sort": ("NoneType",),
    "extend": ("NoneType",), "reverse": ("NoneType",), "startswith": _BOOL, "endswith": _BOOL,
    "isdigit": _BOOL, "isalpha": _BOOL, "isalnum": _BOOL, "isupper": _BOOL, "islower": _BOOL,
}
