"""A program under repair: its text, and its values in the traced runs."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Mapping
from functools import cached_property
from importlib.resources import files

from agent.core.trees import is_literal, parse_expression
from agent.search.evidence import Vector, condition_values, sampled_snapshots
from agent.search.program.scopes import BUILTINS, MAX_NEARBY, Function, Scopes, nearest
from agent.search.values import Crash, ExpectedException, Snapshot

NUMBERS = frozenset({"int", "float", "bool", "complex"})
SEQUENCES = frozenset({"list", "str", "tuple"})
_TYPES = tomllib.loads(files(__package__).joinpath("types.toml").read_text(encoding="utf-8"))
CALL_TYPES, METHOD_TYPES = (
    {name: frozenset(types.split()) for types, names in _TYPES[kind].items()
     for name in names.split()}
    for kind in ("functions", "methods")
)
_NODE_TYPES: Mapping[type[ast.AST], frozenset[str]] = {
    node: frozenset({name}) for name, nodes in (
        ("list", (ast.List, ast.ListComp)), ("dict", (ast.Dict, ast.DictComp)),
        ("set", (ast.Set, ast.SetComp)), ("tuple", (ast.Tuple,)), ("bool", (ast.Compare,)),
        ("str", (ast.JoinedStr,)),
    ) for node in nodes
}
MAX_EDITED_ENTRIES = 100
"""Number of constants above which the entries of a display are not edited."""
MAX_EDITED_DISPLAY = 1_000
"""Number of entries above which a whole display, with its keys, is not edited."""

MAX_HELPERS = MAX_CLASSES = 8
_QUESTIONS = frozenset({
    "isinstance", "print", "super", "range", "len", "type", "iter", "next", "hasattr", "id", "vars",
    "any", "all", "hash", "repr", "callable",
})
"""Functions that do not convert their argument."""


class Program(Scopes):
    """A program under repair: its names, its positions, and its values in the traced runs.

    Args:
        text: The source code.
        types: Names of the types observed in each variable.
        crash: How the failing run ended, if it was an exception.
        moments: Values of variables just before lines ran.
        words: Texts in the failing tests.
        peer_fields: For the name of a field, the fields that classes of other files set next to it.
        together: Whether tests fail only after other tests.
        expected: The exceptions that failing tests expect.

    Raises:
        SyntaxError: The text does not parse; also `ValueError` or `RecursionError`.
    """

    def __init__(
        self, text: str, *, types: Mapping[str, frozenset[str]] | None = None,
        crash: Crash | None = None, moments: tuple[Snapshot, ...] = (), words: tuple[str, ...] = (),
        peer_fields: Mapping[str, tuple[str, ...]] | None = None, together: bool = False,
        expected: tuple[ExpectedException, ...] = (),
    ) -> None:
        super().__init__(text)
        self.types = types or {}
        self.crash = crash
        self.all_moments = moments
        self.words = words
        self.peer_fields = peer_fields or {}
        self.together = together
        self.expected = expected
        self._condition_values: dict[tuple[str, int], Vector] = {}
        self._constants: dict[tuple[ast.AST, type], list[tuple[int, object]]] = {}

    # Values in the traced runs

    @cached_property
    def _picked(self) -> Mapping[int, tuple[Snapshot, ...]]:
        lines: dict[int, list[Snapshot]] = {}
        for moment in self.all_moments:
            lines.setdefault(moment.line, []).append(moment)
        return {line: sampled_snapshots(moments) for line, moments in lines.items()}

    def moments(self, line: int) -> tuple[Snapshot, ...]:
        """Up to eight moments of failing and of passing tests just before a line ran."""
        return self._picked.get(line, ())

    def condition_values(self, condition: str, line: int) -> Vector:
        """The value of a condition at each of the line's moments."""
        key = condition, line
        if key not in self._condition_values:
            self._condition_values[key] = condition_values(condition, self.moments(line))
        return self._condition_values[key]

    def observed_types(self, name: str) -> frozenset[str]:
        """The types observed in a variable; empty if unknown."""
        return self.types.get(name, frozenset())

    def may_be(self, name: str, kinds: frozenset[str]) -> bool:
        """Whether a variable's type is unknown or one of `kinds`."""
        types = self.observed_types(name)
        return not types or bool(types & kinds)

    def type_of(self, node: ast.expr) -> frozenset[str]:
        """Likely types of an expression; empty if unknown."""
        match node:
            case ast.Name():
                return self.observed_types(node.id)
            case ast.Constant():
                return frozenset({type(node.value).__name__})
            case ast.UnaryOp(op=ast.Not()):
                return frozenset({"bool"})
            case ast.UnaryOp():
                return self.type_of(node.operand)
            case ast.BoolOp():
                return self.type_of(node.values[-1])
            case ast.BinOp(op=ast.Div()):
                return frozenset({"float"})
            case ast.BinOp():
                return self.type_of(node.left) or self.type_of(node.right)
            case ast.IfExp():
                return self.type_of(node.body) or self.type_of(node.orelse)
            case ast.Call(func=ast.Name(id=name)):
                return CALL_TYPES.get(name, frozenset())
            case ast.Call(func=ast.Attribute(attr=name)):
                return METHOD_TYPES.get(name, frozenset())
            case ast.Subscript(slice=ast.Slice()):
                return self.type_of(node.value)
        return _NODE_TYPES.get(type(node), frozenset())

    @cached_property
    def predicates(self) -> tuple[Function, ...]:
        """Functions, but not methods, that take one argument and return a `bool`."""
        return tuple(
            one for one in self.defined
            if len(one.args.args) == 1 and not isinstance(self.parents.get(one), ast.ClassDef)
            and any(
                isinstance(node, ast.Return) and node.value is not None
                and self.type_of(node.value) == {"bool"} for node in ast.walk(one)
            )
        )

    # Expressions of the program that edits copy

    @cached_property
    def calls(self) -> Mapping[str, list[ast.Call]]:
        """The calls of each function, by its source text."""
        found: dict[str, list[ast.Call]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Call):
                found.setdefault(self.code(node.func), []).append(node)
        return found

    @cached_property
    def unary_functions(self) -> tuple[str, ...]:
        """Functions that the module calls with one argument, those it calls most often first."""
        uses = {
            name: sum(
                len(one.args) == 1 and not one.keywords and not isinstance(one.args[0], ast.Starred)
                for one in calls
            )
            for name, calls in self.calls.items() if name.isidentifier() and name not in _QUESTIONS
        }
        used = [name for name, count in uses.items() if count]
        return tuple(sorted(used, key=lambda name: (-uses[name], name))[:MAX_HELPERS])

    @cached_property
    def class_names(self) -> tuple[str, ...]:
        """Classes that the module defines or imports, by the usual spelling."""
        own = [one.name for one in self.nodes if isinstance(one, ast.ClassDef)]
        names = dict.fromkeys((*own, *self.imported))
        return tuple(one for one in names if one[:1].isupper() and not one.isupper())[:MAX_CLASSES]

    @cached_property
    def named_conditions(self) -> tuple[tuple[str, frozenset[str], ast.AST], ...]:
        """The conditions of all functions, with the names that each reads and its function."""
        found = []
        for scope in self.defined:
            nodes = dict(self.expressions(scope))
            found += [
                (text, frozenset(
                    one.id for one in ast.walk(nodes[text]) if isinstance(one, ast.Name)
                ), scope) for text in self.conditions(scope) if text in nodes
            ]
        return tuple(found)

    @cached_property
    def fixed_nodes(self) -> frozenset[ast.AST]:
        """Nodes that are neither edited nor copied: docstrings, annotations, match patterns, the
        `__name__` condition, entries of large tables, the texts of f-strings, and their values
        whose position Python reports wrongly."""
        found: set[ast.AST] = set()
        for node in self.nodes:
            if isinstance(node, ast.JoinedStr):
                for part in node.values:
                    found.update(ast.walk(part))
                for part in node.values:
                    if isinstance(part, ast.FormattedValue) and self._is_placed(part.value):
                        found.difference_update(
                            inner for inner in ast.walk(part.value)
                            if not isinstance(inner, ast.JoinedStr | ast.FormattedValue)
                        )
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                found.add(node.value)
            for name in ("annotation", "returns"):
                note = getattr(node, name, None)
                if isinstance(note, ast.AST):
                    found.update(ast.walk(note))
            if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test):
                found.update(ast.walk(node.test))
            if isinstance(node, ast.Match):
                for case in node.cases:
                    found.update(ast.walk(case.pattern))
            found.update(_table_nodes(node))
        return frozenset(found)

    def _is_placed(self, node: ast.expr) -> bool:
        """Whether a value in an f-string has the right position; before 3.12 not all have."""
        text = self.code(node)
        before = self.data[: self.start(node)].rstrip()
        try:
            return before.endswith(b"{") and ast.dump(parse_expression(text)) == ast.dump(node)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False

    def expressions(self, scope: ast.AST) -> tuple[tuple[str, ast.expr], ...]:
        """Short expressions that a scope reads, each text once."""
        return self._expressions.get(scope, ())

    @cached_property
    def _expressions(self) -> Mapping[ast.AST, tuple[tuple[str, ast.expr], ...]]:
        found: dict[ast.AST, dict[str, ast.expr]] = {}
        known = {*self.functions, *self.imported, *BUILTINS}
        for node in self.nodes:
            if not isinstance(node, ast.expr) or node in self.fixed_nodes:
                continue
            context = getattr(node, "ctx", None) or ast.Load()
            if not isinstance(context, ast.Load) or isinstance(node, ast.Slice | ast.Starred):
                continue
            if isinstance(node, ast.Name) and node.id in known:
                continue
            text = self.code(node)
            bare = isinstance(node, ast.Tuple) and not text.startswith("(")
            if len(text) <= 50 and "\n" not in text and not bare:
                found.setdefault(self.scope(node), {}).setdefault(text, node)
        return {scope: tuple(texts.items()) for scope, texts in found.items()}

    def conditions(self, scope: ast.AST) -> tuple[str, ...]:
        """Texts of the comparisons and conditions of a scope."""
        return tuple(
            text for text, node in self.expressions(scope)
            if isinstance(node, ast.Compare) or (
                self.is_condition(node) and not isinstance(self.parents.get(node), ast.UnaryOp)
            )
        )

    def constants(self, node: ast.AST, kind: type) -> tuple[object, ...]:
        """Distinct constants of this exact type in the node's scope; of very many, the nearest."""
        key = self.scope(node), kind
        if key not in self._constants:
            self._constants[key] = [
                (self.start(one), one.value) for _, one in self.expressions(key[0])
                if isinstance(one, ast.Constant) and type(one.value) is kind
            ]
            if len(self._constants[key]) > MAX_NEARBY:
                self._constants[key].sort(key=lambda one: one[0])
        found = self._constants[key]
        if len(found) > MAX_NEARBY:
            return nearest(found, self.start(self.statement(node)), MAX_NEARBY)
        return tuple(dict.fromkeys(value for _, value in found))

    def is_condition(self, node: ast.expr) -> bool:
        """Whether a node is used as a condition or an operand of one."""
        parent = self.parents.get(node)
        if isinstance(parent, ast.If | ast.While | ast.IfExp):
            return parent.test is node
        if isinstance(parent, ast.comprehension):
            return node in parent.ifs
        return isinstance(parent, ast.BoolOp) or (
            isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
        )


def _table_nodes(node: ast.AST) -> list[ast.AST]:
    """The nodes of a large table that are not edited; empty for other nodes."""
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            keys: list[ast.expr | None] = []
        case ast.Dict(keys=keys, values=parts):
            pass
        case _:
            return []
    if len(parts) <= MAX_EDITED_ENTRIES:
        return []
    if len(parts) <= MAX_EDITED_DISPLAY:
        return [*parts] if all(isinstance(part, ast.Constant) for part in parts) else []
    if not all(_is_datum(part) for part in (*filter(None, keys), *parts)):
        return []
    return [*ast.walk(node)]


def _is_datum(part: ast.expr) -> bool:
    """Whether an entry is a constant, or a display of constants."""
    return isinstance(part, ast.Constant) or (
        isinstance(part, ast.List | ast.Tuple | ast.Set | ast.Dict | ast.UnaryOp)
        and is_literal(part)
    )
