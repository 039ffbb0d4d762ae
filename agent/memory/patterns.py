"""Program fragments without their author's words, and where such a fragment fits.

A pattern is Python source. Names, attributes and constants of the program it was taken from
are placeholders, numbered as they first appear: `NAME1`, `ATTR1`, `NUMBER1`, `TEXT1`. What
belongs to the language stays: builtins, methods of builtin types, imported standard modules,
and constants that every program uses. Matching binds each placeholder to one word of the new
place, and no two to the same.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

HOLE = "EDITED"
"""Stands in a statement where the edited expression stood."""

COMMON_NAMES = frozenset({*dir(builtins), "self", "cls", "__name__", "__file__"})
COMMON_ATTRIBUTES = frozenset(
    name
    for kind in (str, bytes, int, float, list, tuple, dict, set, frozenset, object, Exception)
    for name in dir(kind)
)
PLACEHOLDER = re.compile(r"^(NAME|ATTR|NUMBER|TEXT)\d+$")
_CONSTANT = re.compile(r"^(NUMBER|TEXT)\d+$")
_UNSEEN = frozenset({"ctx", "type_comment", "kind"})


def is_common(value: object) -> bool:
    """Whether a constant is one that every program uses."""
    if value is None or value is Ellipsis or isinstance(value, bool):
        return True
    if isinstance(value, int | float):
        return value in (0, 1, 2)
    return value in ("", b"")


def header(statement: ast.stmt) -> ast.stmt:
    """A statement without what stands in its blocks; `...` stands for each."""
    if not hasattr(statement, "body"):
        return statement
    fields = {name: value for name, value in ast.iter_fields(statement)}
    fields["body"] = [ast.Expr(ast.Constant(...))]
    for name in ("orelse", "finalbody"):
        if name in fields:
            fields[name] = []
    if isinstance(statement, ast.Try) and not statement.handlers:
        fields["finalbody"] = fields["body"]
    return type(statement)(**fields)


def standard_imports(tree: ast.AST) -> frozenset[str]:
    """Names under which a program imports modules of the standard library."""
    return frozenset(
        alias.asname or alias.name.partition(".")[0]
        for node in _statements(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name.partition(".")[0] in sys.stdlib_module_names
    )


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """All statements of a tree; expressions are not looked into, which would take far longer."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, name, None)
            if isinstance(inner, list):
                yield from inner
                waiting += inner


class Abstraction:
    """Gives placeholders to a program's own words; one numbering for all it is shown.

    With `literal` every word stays as it is, for edits that return to the same program.
    """

    def __init__(self, modules: frozenset[str] = frozenset(), *, literal: bool = False) -> None:
        self._kept = COMMON_NAMES | modules
        self._modules = modules
        self._literal = literal
        self._given: dict[tuple[str, object], str] = {}

    def of(self, node: ast.AST, hole: ast.AST | None = None) -> ast.AST:
        """A copy of the node with placeholders, and with `HOLE` where `hole` stands."""
        if node is hole:
            return ast.Name(HOLE, ast.Load())
        match node:
            case ast.Name():
                return ast.Name(self._name(node.id), node.ctx)
            case ast.Constant():
                return self._constant(node)
            case ast.JoinedStr():
                # Its parts must stay constants for the pattern to be Python.
                return ast.JoinedStr([
                    part if isinstance(part, ast.Constant) else self.of(part, hole)  # type: ignore[misc]
                    for part in node.values
                ])
        fields = {
            name: self._field(node, name, value, hole)
            for name, value in ast.iter_fields(node)
        }
        return type(node)(**fields)

    def source(self, node: ast.AST, hole: ast.AST | None = None) -> str:
        """The pattern's text."""
        return ast.unparse(ast.fix_missing_locations(self.of(node, hole)))

    def knows(self, kind: str, value: object) -> bool:
        """Whether a word has its placeholder already."""
        return self._literal or (kind, value) in self._given

    def _field(self, node: ast.AST, name: str, value: object, hole: ast.AST | None) -> object:
        if isinstance(value, list):
            return [self.of(one, hole) if isinstance(one, ast.AST) else one for one in value]
        if isinstance(value, ast.AST):
            return self.of(value, hole)
        if not isinstance(value, str):
            return value
        match node:
            case ast.Attribute() if name == "attr":
                module = isinstance(node.value, ast.Name) and node.value.id in self._modules
                if module or value in COMMON_ATTRIBUTES:
                    return value
                return self._placeholder("ATTR", value)
            case ast.arg() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return self._name(value) if name in ("arg", "name") else value
            case ast.ExceptHandler():
                return self._name(value)
        return value

    def _name(self, name: str) -> str:
        return name if name in self._kept else self._placeholder("NAME", name)

    def _constant(self, node: ast.Constant) -> ast.expr:
        if is_common(node.value) or self._literal:
            return node
        kind = "TEXT" if isinstance(node.value, str | bytes) else "NUMBER"
        return ast.Name(self._placeholder(kind, node.value), ast.Load())

    def _placeholder(self, kind: str, value: object) -> str:
        if self._literal:
            return str(value)
        key = (kind, value)
        if key not in self._given:
            number = 1 + sum(other == kind for other, _ in self._given)
            self._given[key] = f"{kind}{number}"
        return self._given[key]


@dataclass(frozen=True)
class Match:
    """What a pattern's placeholders are at one place of a program."""

    words: Mapping[str, str | ast.Constant] = field(default_factory=dict)
    edited: ast.expr | None = None
    """The expression at the hole."""
    seen: Mapping[str, ast.expr] = field(default_factory=dict)
    """Dumps of the pattern's expressions to the program's, whose text may be kept."""


class _NoMatch(Exception):
    pass


def matched(pattern: ast.AST, node: ast.AST, before: Match | None = None) -> Match | None:
    """How the pattern fits the node, given what is bound already; `None` where it does not."""
    start = before or Match()
    found = _Matching(dict(start.words), dict(start.seen))
    try:
        found.fit(pattern, node)
    except _NoMatch:
        return None
    return Match(found.words, found.edited, found.seen)


class _Matching:
    def __init__(
        self, words: dict[str, str | ast.Constant], seen: dict[str, ast.expr]
    ) -> None:
        self.words = words
        self.seen = seen
        self.edited: ast.expr | None = None

    def fit(self, pattern: ast.AST, node: ast.AST) -> None:
        if isinstance(pattern, ast.Name) and pattern.id == HOLE and isinstance(node, ast.expr):
            self.edited = node
            return
        if isinstance(pattern, ast.Name) and _CONSTANT.match(pattern.id):
            self._constant(pattern.id, node)
        elif type(pattern) is not type(node):
            raise _NoMatch
        else:
            for name, value in ast.iter_fields(pattern):
                if name not in _UNSEEN:
                    self._field(name, value, getattr(node, name))
        if isinstance(pattern, ast.expr) and isinstance(node, ast.expr):
            self.seen.setdefault(ast.dump(pattern), node)

    def _field(self, name: str, pattern: object, value: object) -> None:
        if isinstance(pattern, list) and isinstance(value, list):
            if _is_open(pattern):
                return
            if name in ("orelse", "finalbody") and not pattern:
                return
            if len(pattern) != len(value):
                raise _NoMatch
            for one, other in zip(pattern, value, strict=True):
                self._field("", one, other)
        elif isinstance(pattern, ast.AST) and isinstance(value, ast.AST):
            self.fit(pattern, value)
        elif isinstance(pattern, str) and PLACEHOLDER.match(pattern):
            if not isinstance(value, str) or value in COMMON_NAMES:
                raise _NoMatch
            self._bind(pattern, value)
        elif pattern != value or type(pattern) is not type(value):
            raise _NoMatch

    def _constant(self, placeholder: str, node: ast.AST) -> None:
        kinds = (str, bytes) if placeholder.startswith("TEXT") else (int, float, complex)
        if not isinstance(node, ast.Constant) or isinstance(node.value, bool):
            raise _NoMatch
        if not isinstance(node.value, kinds) or is_common(node.value):
            raise _NoMatch
        bound = self.words.setdefault(placeholder, node)
        if not isinstance(bound, ast.Constant) or bound.value != node.value:
            raise _NoMatch

    def _bind(self, placeholder: str, word: str) -> None:
        if placeholder not in self.words and word in self.words.values():
            raise _NoMatch
        if self.words.setdefault(placeholder, word) != word:
            raise _NoMatch


def _is_open(block: list[object]) -> bool:
    """Whether a pattern's block is `...`, which any block fits."""
    match block:
        case [ast.Expr(value=ast.Constant(value=value))]:
            return value is ...
    return False
