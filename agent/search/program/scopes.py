"""The names of a program, and those that can be read at a node."""

from __future__ import annotations

import ast
import builtins
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from agent.search.program.source import Source

Function = ast.FunctionDef | ast.AsyncFunctionDef
BUILTINS = frozenset(dir(builtins))
_FILLING = frozenset({"add", "append", "update", "extend", "setdefault"})
MAX_GLOBALS = 12
"""Most global variables that edits of one function use."""
MAX_NEARBY = 60
"""Most variables, or constants of a type, that edits at one place use."""
MAX_FIRST_VARIABLES = 12
"""How many of these variables are the first of the function, such as its parameters."""


class Scopes(Source):
    """A source text with its names."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._variables: dict[ast.AST, tuple[str, ...]] = {}
        self._scopes: dict[ast.AST, ast.AST] = {}
        self._unused: dict[ast.AST, tuple[str, ...]] = {}
        self._named: dict[ast.AST, list[tuple[int, str]]] = {}
        self._nearby: dict[tuple[ast.AST, int], tuple[str, ...]] = {}

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

    def is_in_function(self, node: ast.AST) -> bool:
        return self.scope(node) is not self.tree

    def variables(self, node: ast.AST) -> tuple[str, ...]:
        """Variables that a node could read, the nearest scope first."""
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
        if len(names_here) > MAX_NEARBY:
            names_here = self._near(node, scope, names_here)
        own = [name for name in self._comprehension_names(node) if name not in names_here]
        return (*own, *names_here) if own else names_here

    def _near(self, node: ast.AST, scope: ast.AST, names: tuple[str, ...]) -> tuple[str, ...]:
        """For very many variables: the first ones, such as parameters, and the nearest."""
        at = self.start(self.statement(node))
        if (scope, at) not in self._nearby:
            if scope not in self._named:
                known = {*names}
                self._named[scope] = sorted(
                    (self.start(one), one.id) for one in self._names_in.get(scope, ())
                    if one.id in known
                )
            near = nearest(self._named[scope], at, MAX_NEARBY - MAX_FIRST_VARIABLES)
            self._nearby[scope, at] = tuple(dict.fromkeys((*names[:MAX_FIRST_VARIABLES], *near)))
        return self._nearby[scope, at]

    def unused_names(self, node: ast.AST) -> tuple[str, ...]:
        """Names that the function around a node binds and never reads."""
        scope = self.scope(node)
        if scope not in self._unused:
            read = {*variable_names(scope, context=ast.Load)}
            names = _bound(scope) if isinstance(scope, Function) and not _is_stub(scope) else []
            self._unused[scope] = tuple(
                name for name in dict.fromkeys(names)
                if name not in read and name not in ("self", "cls") and not name.startswith("_")
            )
        return self._unused[scope]

    @cached_property
    def _names_in(self) -> Mapping[ast.AST, list[ast.Name]]:
        found: dict[ast.AST, list[ast.Name]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Name):
                found.setdefault(self.scope(node), []).append(node)
        return found

    def _globals_for(self, scope: ast.AST) -> tuple[str, ...]:
        """All global variables if they are few, else those that the scope reads and those whose
        names consist of the same words."""
        if len(self.module_values) <= MAX_GLOBALS or scope is self.tree:
            return self.module_values[:MAX_GLOBALS]
        read = {*variable_names(scope)}
        own = [name for name in self.module_values if name in read]
        words = {frozenset(name.split("_")) for name in own if "_" in name.strip("_")}
        alike = [one for one in self.module_values if frozenset(one.split("_")) in words]
        return tuple(dict.fromkeys((*own, *alike)))[:MAX_GLOBALS]

    def _comprehension_names(self, node: ast.AST) -> Iterator[str]:
        at: ast.AST | None = node
        while at is not None and not isinstance(at, ast.stmt):
            if isinstance(at, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
                for generator in at.generators:
                    yield from variable_names(generator.target)
            if isinstance(at, ast.Lambda):
                yield from parameters(at, keywords=False)
            at = self.parents.get(at)

    @cached_property
    def module_values(self) -> tuple[str, ...]:
        """Variables assigned at module level."""
        return tuple(variable_names(*(
            one for one in self.tree.body
            if not isinstance(one, Function | ast.ClassDef | ast.Import | ast.ImportFrom)
        ), context=ast.Store))

    @cached_property
    def functions(self) -> tuple[str, ...]:
        """Functions and classes that are not members of a class."""
        return tuple(dict.fromkeys(name for names in self._by_scope.values() for name in names))

    def callables(self, node: ast.AST) -> tuple[str, ...]:
        """The functions and classes that a node can name, the nearest scope first."""
        scopes = [self.scope(node)]
        while scopes[-1] is not self.tree:
            scopes.append(self.scope(scopes[-1]))
        return tuple(dict.fromkeys(
            name for scope in scopes for name in self._by_scope.get(scope, ())
        ))

    @cached_property
    def _by_scope(self) -> Mapping[ast.AST, tuple[str, ...]]:
        found: dict[ast.AST, list[str]] = {self.tree: []}
        for node in self.nodes:
            if not isinstance(node, Function | ast.ClassDef):
                continue
            if not isinstance(self.parents.get(node), ast.ClassDef):
                found.setdefault(self.scope(node), []).append(node.name)
        return {scope: tuple(names) for scope, names in found.items()}

    @cached_property
    def defined(self) -> tuple[Function, ...]:
        """All functions and methods, in the order of `ast.walk`."""
        return tuple(node for node in self.nodes if isinstance(node, Function))

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
        """Attributes that are read or written, but not called."""
        return tuple(sorted({
            node.attr for node in self.nodes
            if isinstance(node, ast.Attribute) and not self.is_called(node)
        }))

    def is_only_filled(self, name: str) -> bool:
        """Whether a variable is never read, except to add something to it."""
        return self.reads.get(name, 0) == len(self.fills.get(name, ()))

    @cached_property
    def fills(self) -> Mapping[str, list[str]]:
        """What statements like `name.add(value)` add to each variable."""
        found: dict[str, list[str]] = {}
        for node in self.nodes:
            match node:
                case ast.Expr(value=ast.Call(
                    func=ast.Attribute(value=ast.Name(id=name), attr=attr), args=[value]
                )) if attr in _FILLING:
                    found.setdefault(name, []).append(self.code(value))
        return found

    @cached_property
    def reads(self) -> Mapping[str, int]:
        """How often each name is read."""
        return Counter(
            node.id for node in self.nodes
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        )


def variable_names(
    *nodes: ast.AST, context: type[ast.expr_context] = ast.expr_context
) -> list[str]:
    """The distinct variable names in some nodes, in the order of `ast.walk`."""
    return list(dict.fromkeys(
        one.id for node in nodes for one in ast.walk(node)
        if isinstance(one, ast.Name) and isinstance(one.ctx, context)
    ))


def parameters(function: Function | ast.Lambda, *, keywords: bool = True) -> list[str]:
    """The names of a function's parameters without `*args` and `**kwargs`; `keywords` includes
    the keyword-only ones."""
    own = function.args
    return [one.arg for one in (*own.posonlyargs, *own.args, *(own.kwonlyargs if keywords else ()))]


def _bound(function: Function) -> list[str]:
    """Parameters and assigned names of a function, without those of nested functions."""
    further = filter(None, (function.args.vararg, function.args.kwarg))
    names = [*parameters(function), *(one.arg for one in further)]
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


def _is_stub(function: Function) -> bool:
    """Whether a function contains only a docstring, `pass` or `raise`."""
    return all(isinstance(one, ast.Expr | ast.Pass | ast.Raise) for one in function.body)


T = TypeVar("T")


def nearest(places: Sequence[tuple[int, T]], at: int, most: int) -> tuple[T, ...]:
    """Up to `most` distinct values of the sorted `places` nearest to `at`, the nearest first."""
    found: dict[T, None] = {}
    after = bisect_left(places, at, key=lambda one: one[0])
    before = after - 1
    while len(found) < most and (before >= 0 or after < len(places)):
        if before < 0 or (after < len(places) and places[after][0] - at < at - places[before][0]):
            found[places[after][1]] = None
            after += 1
        else:
            found[places[before][1]] = None
            before -= 1
    return tuple(found)
