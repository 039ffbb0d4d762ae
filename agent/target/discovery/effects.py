"""Determines from a text what running a piece of code may change.

In doubt the answer is that it may change something: a test with too much setup is only longer, one
with too little would be wrong.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from agent.target.parsing import (
    BUILTIN_NAMES,
    Definition,
    FunctionNode,
    arguments_of,
    called_name,
    dotted,
    name_usage,
    parsed,
    root_name,
    statements_of,
    toplevel,
    walk_scope,
)

MUTATING_METHODS = frozenset({
    "__next__", "add", "append", "appendleft", "clear", "discard", "extend", "extendleft",
    "get_nowait", "insert", "pop", "popitem", "popleft", "put", "remove", "reverse", "send",
    "setdefault", "sort", "update", "write",
})
_IMMUTABLE_RESULTS = frozenset({
    "frozenset", "int", "float", "str", "len", "sum", "Decimal", "Fraction", "re.compile",
    "namedtuple", "TypeVar", "range", "date", "datetime", "timedelta", "Path", "logging.getLogger",
})
_PASSING_ON = frozenset({"enumerate", "zip", "reversed", "sorted", "list", "tuple", "iter", "next",
                         "max", "min", "filter", "set", "dict"})
"""Functions whose results have the items of their arguments."""
_CHANGING_BUILTINS = frozenset({"next", "setattr", "delattr", "exec", "eval", "iter"})

_PLAIN_METHODS = frozenset(
    name
    for kind in (str, bytes, list, dict, set, tuple, int, float)
    for name in dir(kind)
) - MUTATING_METHODS


@lru_cache(maxsize=16)
def keeps_state(program: str) -> bool:
    """Whether earlier calls can influence later ones."""
    statements = statements_of(program)
    return any(_keeps_state(node) for node in statements) or _SharedValues(statements).may_change


@lru_cache(maxsize=16)
def may_keep_state(program: str) -> bool:
    """Whether the intended program may keep state between calls.

    True also for classes, and for functions that mention module-level values.
    """
    try:
        body = parsed(program).body
    except SyntaxError:
        return True
    definitions = [node for node in toplevel(body) if isinstance(node, FunctionNode)]
    classes = any(isinstance(node, ast.ClassDef) for node in toplevel(body))
    assigned = (node for node in toplevel(body) if isinstance(node, ast.Assign | ast.AnnAssign))
    values = name_usage(*assigned).binds
    mentioned = {
        one.id for node in definitions for one in ast.walk(node) if isinstance(one, ast.Name)
    }
    return classes or keeps_state(program) or bool(values & mentioned)


@lru_cache(maxsize=16)
def prints(program: str) -> bool:
    """Whether any function of the program, when called, may write to standard output."""
    functions = (
        definition
        for node in statements_of(program)
        for definition in ([node, *node.body] if isinstance(node, ast.ClassDef) else [node])
        if isinstance(definition, Definition)
    )
    return any(
        called_name(inner) in ("print", "pprint", "pprint.pprint")
        or (isinstance(inner, ast.Attribute) and inner.attr == "stdout")
        for definition in functions
        for inner in ast.walk(definition)
    )


def changed_by(node: ast.stmt) -> frozenset[str]:
    """Names that the statement binds or whose value it may change."""
    changed = set(name_usage(node).binds)
    for inner in walk_scope(node):
        if isinstance(inner, (ast.Attribute, ast.Subscript)):
            if not isinstance(inner.ctx, ast.Load):
                changed.add(root_name(inner))
        elif isinstance(inner, ast.Call):
            changed |= _changed_by_call(inner)
    return frozenset(changed - {""})


def _changed_by_call(call: ast.Call) -> set[str]:
    if isinstance(call.func, ast.Attribute) and call.func.attr in _PLAIN_METHODS:
        return set()
    name = called_name(call)
    if name in BUILTIN_NAMES and name not in _CHANGING_BUILTINS:
        return set()
    passed = {root_name(one) for one in (*call.args, *(key.value for key in call.keywords))}
    return passed | {root_name(call.func)} if isinstance(call.func, ast.Attribute) else passed


def _keeps_state(node: ast.AST) -> bool:
    for inner in ast.walk(node):
        if isinstance(inner, (ast.Global, ast.Nonlocal)):
            return True
        if isinstance(inner, ast.ClassDef) and any(
            _is_mutable_display(statement.value)
            for statement in inner.body
            if isinstance(statement, (ast.Assign, ast.AnnAssign)) and statement.value
        ):
            return True
        if isinstance(inner, FunctionNode) and (
            _has_mutable_default(inner) or _changes(inner, _outer_names(inner))
        ):
            return True
    return False


class _SharedValues:
    """Follows the mutable values of a module through the local names of its functions.

    A function may change such a value by any name that refers to it or to a part of it, by a method
    that is not known to leave it alone, and by handing it to another function or to its caller.
    """

    def __init__(self, statements: Iterable[ast.stmt]) -> None:
        nodes = [*statements]
        self._parts_mutable: dict[str, bool] = {}
        """The shared values, and whether a part of each can be changed."""
        self._opaque: set[str] = set()
        """Those of a class that is not known."""
        for node in nodes:
            if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
                continue
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for name in map(root_name, targets):
                if not is_immutable(node.value):
                    self._parts_mutable[name] = _holds_mutable(node.value)
                    if isinstance(node.value, ast.Call) and not _is_mutable_display(node.value):
                        self._opaque.add(name)
        functions = [
            inner for node in nodes for inner in ast.walk(node) if isinstance(inner, FunctionNode)
        ]
        self._own = {node.name for node in functions}
        self._cached = {node.name for node in functions if any(map(_caches, node.decorator_list))}
        self.may_change = any(self._changed_in(node) for node in functions) or any(
            isinstance(node, ast.Expr) and called_name(node.value) in ("random.seed", "seed")
            for node in nodes
        )

    def _changed_in(self, node: FunctionNode) -> bool:
        own = {one.arg for one in arguments_of(node)} | name_usage(*node.body).binds
        shared = {name: parts for name, parts in self._parts_mutable.items() if name not in own}
        if self._opaque & name_usage(*node.body).reads - own:
            return True
        if any(isinstance(one, FunctionNode) for one in node.body) and (
            _SharedValues(node.body).may_change  # by the functions in it
        ):
            return True
        aliases = {*shared}
        while True:
            found = {
                target.id
                for inner in ast.walk(node) for value, target in _bindings(inner)
                if isinstance(target, ast.Name) and self._refers(value, aliases, shared)
            }
            if found <= aliases:
                break
            aliases |= found
        return any(self._changes(inner, aliases, shared) for inner in ast.walk(node))

    def _refers(self, value: ast.expr, aliases: set[str], shared: Mapping[str, bool]) -> bool:
        """Whether the value may be, or be a part of, one that is shared."""
        match value:
            case ast.Name(id=name):
                return name in aliases
            case ast.Subscript(value=base) | ast.Attribute(value=base) | ast.Starred(value=base):
                return self._has_mutable_parts(base, aliases, shared)
            case ast.Call(func=ast.Attribute(value=base, attr=method)):
                return method != "copy" and self._has_mutable_parts(base, aliases, shared)
            case ast.Call(args=args) if called_name(value) in _PASSING_ON:
                return any(self._has_mutable_parts(one, aliases, shared) for one in args)
            case ast.Call():
                return called_name(value) in self._cached
            case ast.IfExp(body=first, orelse=second):
                return any(self._refers(one, aliases, shared) for one in (first, second))
            case ast.BoolOp(values=values) | ast.Tuple(elts=values) | ast.List(elts=values):
                return any(self._refers(one, aliases, shared) for one in values)
            case ast.NamedExpr(value=inner):
                return self._refers(inner, aliases, shared)
        return False

    def _has_mutable_parts(
        self, base: ast.expr, aliases: set[str], shared: Mapping[str, bool]
    ) -> bool:
        if isinstance(base, ast.Call) and not isinstance(base.func, ast.Attribute):
            return self._refers(base, aliases, shared)
        root = root_name(base)
        return shared.get(root, root in aliases) if root else self._refers(base, aliases, shared)

    def _changes(self, node: ast.AST, aliases: set[str], shared: Mapping[str, bool]) -> bool:
        match node:
            case ast.Attribute(
                value=ast.Attribute(attr="__class__") | ast.Call(func=ast.Name(id="type")),
                ctx=ast.Store(),
            ):
                return True
            case ast.Subscript(ctx=ast.Store() | ast.Del()) | ast.Attribute(
                ctx=ast.Store() | ast.Del()
            ):
                return root_name(node) in aliases
            case ast.AugAssign(target=ast.Name(id=name)):
                return name in aliases
            case ast.Call(func=ast.Attribute(value=base, attr=method)) if (
                root_name(base) in aliases or self._refers(base, aliases, shared)
            ):
                return method not in _PLAIN_METHODS
            case ast.Call(args=args, keywords=keywords) if called_name(node) in self._own:
                given = [*args, *(one.value for one in keywords)]
                return any(self._refers(one, aliases, shared) for one in given)
            case ast.Return(value=ast.Name(id=name)):
                return name in aliases
        return False


def _caches(decorator: ast.expr) -> bool:
    name = called_name(decorator) or dotted(decorator)
    return name.rpartition(".")[2] in ("cache", "lru_cache", "cached_property")


def _bindings(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Values with the targets that they, or their items, are bound to."""
    targets: list[ast.expr] = []
    match node:
        case ast.Assign(targets=targets, value=value):
            pass
        case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.NamedExpr(
            target=target, value=value
        ):
            targets = [target]
        case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value) | (
            ast.comprehension(target=target, iter=value)
        ):
            # An item is a part of what is looped over.
            value, targets = ast.Subscript(value, ast.Constant(0), ast.Load()), [target]
        case _:
            return
    for target in targets:
        for inner in ast.walk(target):
            if isinstance(inner, ast.Name):
                yield value, inner


def _holds_mutable(value: ast.expr) -> bool:
    """Whether a part of the value can be changed."""
    match value:
        case ast.Dict(values=parts) | ast.List(elts=parts) | ast.Set(elts=parts) | ast.Tuple(
            elts=parts
        ):
            return not all(map(is_immutable, parts))
    return True


def is_immutable(value: ast.expr) -> bool:
    """Whether the value is a constant, or consists of constants."""
    match value:
        case ast.Constant() | ast.JoinedStr() | ast.Lambda():
            return True
        case ast.UnaryOp(operand=inner):
            return is_immutable(inner)
        case ast.BinOp(left=left, right=right):
            return is_immutable(left) and is_immutable(right)
        case ast.Tuple(elts=parts):
            return all(map(is_immutable, parts))
        case ast.Call():
            return called_name(value) in _IMMUTABLE_RESULTS
    return False


def _has_mutable_default(node: FunctionNode) -> bool:
    defaults = [*node.args.defaults, *(d for d in node.args.kw_defaults if d)]
    return any(_is_mutable_display(default) for default in defaults)


def _is_mutable_display(node: ast.expr) -> bool:
    return isinstance(
        node, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
    ) or called_name(node).rpartition(".")[2] in (
        "list", "dict", "set", "defaultdict", "Counter", "deque", "OrderedDict", "count", "iter",
    )


def _outer_names(node: FunctionNode) -> frozenset[str]:
    """Names that the function reads but does not bind, and `cls`."""
    names = name_usage(*node.body)
    return (names.reads - names.binds - {one.arg for one in arguments_of(node)}) | {"cls"}


def _changes(node: FunctionNode, names: frozenset[str]) -> bool:
    """Whether the function assigns to a part of one of the names or calls a mutating method."""
    for inner in ast.walk(node):
        if isinstance(inner, (ast.Subscript, ast.Attribute)):
            if not isinstance(inner.ctx, ast.Load) and root_name(inner) in names:
                return True
        elif isinstance(inner, ast.AugAssign):
            if root_name(inner.target) in names:
                return True
        elif isinstance(inner, ast.Call):
            method = inner.func.attr if isinstance(inner.func, ast.Attribute) else ""
            if method in MUTATING_METHODS and root_name(inner.func) in names:
                return True
            if called_name(inner) == "next" and inner.args and root_name(inner.args[0]) in names:
                return True
    return False
