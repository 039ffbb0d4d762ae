"""Patterns: Python statements in which the author's names, attributes and constants are numbered
placeholders, as `NAME1`; builtins, standard modules and common constants stay."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator, Mapping

from agent.core.trees import parse

COMMON_NAMES = frozenset({*dir(builtins), "self", "cls", "__name__", "__file__"})
COMMON_ATTRIBUTES = frozenset(
    name
    for kind in (str, bytes, int, float, list, tuple, dict, set, frozenset, object, Exception)
    for name in dir(kind)
)
BLOCKS = ("body", "orelse", "finalbody")
_PLACEHOLDER = re.compile(r"\b(?:NAME|ATTR|NUMBER|TEXT)\d+\b")

Word = tuple[str, object]
"""The kind of a placeholder, and what it stands for."""


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
    for name in BLOCKS[1:]:
        if name in fields:
            fields[name] = []
    if isinstance(statement, ast.Try) and not statement.handlers:
        fields["finalbody"] = fields["body"]
    return type(statement)(**fields)


def blocks(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """All blocks of statements; expressions are not looked into, which would take far longer."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        for name in (*BLOCKS, "handlers", "cases"):
            inner = getattr(node, name, None)
            if isinstance(inner, list) and inner:
                if name in BLOCKS:
                    yield inner
                waiting += inner


def standard_imports(tree: ast.AST) -> frozenset[str]:
    """Names under which a program imports modules of the standard library."""
    return frozenset(
        alias.asname or alias.name.partition(".")[0]
        for block in blocks(tree)
        for node in block
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name.partition(".")[0] in sys.stdlib_module_names
    )


class Abstraction:
    """Gives placeholders to a program's own words; one numbering for all it is shown."""

    def __init__(self, modules: frozenset[str], given: Mapping[Word, str] | None = None) -> None:
        self._modules = modules
        self.given = dict(given or {})

    def copy(self) -> Abstraction:
        return Abstraction(self._modules, self.given)

    def source(self, *nodes: ast.AST) -> str:
        """The pattern's text."""
        return "\n".join(ast.unparse(ast.fix_missing_locations(self._of(one))) for one in nodes)

    @property
    def words(self) -> dict[str, object]:
        """Placeholders to what they stand for."""
        return {placeholder: value for (_, value), placeholder in self.given.items()}

    def _of(self, node: ast.AST) -> ast.AST:
        match node:
            case ast.Constant():
                if is_common(node.value):
                    return node
                return ast.Name(self._placeholder(constant_kind(node), node.value), ast.Load())
            case ast.JoinedStr():
                # Its texts must stay constants for the pattern to be Python.
                return ast.JoinedStr([
                    part if isinstance(part, ast.Constant) else self._of(part)  # type: ignore[misc]
                    for part in node.values
                ])
        return type(node)(**{
            name: self._field(node, name, value) for name, value in ast.iter_fields(node)
        })

    def _field(self, node: ast.AST, name: str, value: object) -> object:
        if isinstance(value, list):
            return [self._of(one) if isinstance(one, ast.AST) else one for one in value]
        if isinstance(value, ast.AST):
            return self._of(value)
        if not isinstance(value, str) or not _is_word(node, name):
            return value
        if isinstance(node, ast.Attribute):
            of_module = isinstance(node.value, ast.Name) and node.value.id in self._modules
            common = of_module or value in COMMON_ATTRIBUTES
            return value if common else self._placeholder("ATTR", value)
        common = value in COMMON_NAMES or value in self._modules
        return value if common else self._placeholder("NAME", value)

    def _placeholder(self, kind: str, value: object) -> str:
        word = (kind, value)
        if word not in self.given:
            number = 1 + sum(other == kind for other, _ in self.given)
            self.given[word] = f"{kind}{number}"
        return self.given[word]


def constant_kind(node: ast.Constant) -> str:
    """The kind of a constant's placeholder."""
    return "TEXT" if isinstance(node.value, str | bytes) else "NUMBER"


def _is_word(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Name():
            return name == "id"
        case ast.Attribute():
            return name == "attr"
        case ast.arg():
            return name == "arg"
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.ExceptHandler():
            return name == "name"
    return False


def placeholders(pattern: str) -> list[str]:
    """Those of a pattern, each once."""
    return list(dict.fromkeys(_PLACEHOLDER.findall(pattern)))


def worded(pattern: str, words: Mapping[str, object]) -> tuple[ast.stmt, ...]:
    """The statements of a pattern, with words in the place of its placeholders."""
    tree = parse(pattern)
    _Worded(words).visit(tree)
    return tuple(tree.body)


class _Worded(ast.NodeTransformer):
    def __init__(self, words: Mapping[str, object]) -> None:
        self._words = words

    def visit(self, node: ast.AST) -> ast.AST:
        for name, value in ast.iter_fields(node):
            if isinstance(value, str) and value in self._words and _is_word(node, name):
                word = self._words[value]
                if not value.startswith(("NAME", "ATTR")):
                    return ast.Constant(word)  # type: ignore[arg-type]  # it was a constant's
                setattr(node, name, word)
        return self.generic_visit(node)
