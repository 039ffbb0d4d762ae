"""Reads test code before it runs: marks its comparisons.

Each comparison in an `assert` becomes a call of a recorder with the operator kept in the
tests' process, so that a failure can be shown as call, expected and got. Nothing else about
the test changes: the same operands are evaluated in the same order.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator

COMPARE = "__observed_compare__"
HOLDS = "__observed_holds__"
CALLED = "__observed_called__"


class Site:
    """A comparison or truth in an assert of the test, as source.

    `swapped` says that the solution's side is the right one, `message` that the assert has one.
    A plain class, because the tests' process pays for every import.
    """

    __slots__ = ("expected", "got", "line", "message", "operator", "swapped")

    def __init__(
        self, operator: str, got: str, expected: str, swapped: bool, line: int, message: bool
    ) -> None:
        self.operator = operator
        self.got = got
        self.expected = expected
        self.swapped = swapped
        self.line = line
        self.message = message


def constant_asserts(tree: ast.Module) -> frozenset[int]:
    """Lines of asserts that ask nothing: `assert False`, `assert 1 == 2`."""
    return frozenset(
        node.lineno for node in ast.walk(tree) if isinstance(node, ast.Assert)
        and not any(isinstance(one, ast.Name | ast.Call) for one in ast.walk(node.test))
    )


def assert_lines(tree: ast.Module) -> frozenset[int]:
    """All lines of assert statements."""
    return frozenset(
        line for node in ast.walk(tree) if isinstance(node, ast.Assert)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    )


def instrument(tree: ast.Module, modules: Collection[str]) -> tuple[ast.Module, list[Site]]:
    """The tree with its asserts recorded, and the sites the recorder's numbers mean.

    `modules` are the importable modules of the program; every name that the code does not bind
    itself is taken to be the program's, too.
    """
    touching = _touched_names(tree, modules)
    sites: list[Site] = []
    changed = _Calls(touching).visit(_Asserts(touching, sites).visit(tree))
    return ast.fix_missing_locations(changed), sites


_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}


def free_names(tree: ast.Module) -> set[str]:
    """Names that the code uses and does not bind itself."""
    bound, used = set(_imports(tree)), set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Load()):
                used.add(name)
            case ast.Name(id=name) | ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
    return used - bound


class _Calls(ast.NodeTransformer):
    """Has the arguments of each call of the program noted on their way: `f(*called("f", x))`."""

    def __init__(self, touching: set[str]) -> None:
        self._touching = touching

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        match node.func:
            case ast.Name(id=name) if name in self._touching and not any(
                isinstance(arg, ast.Starred) for arg in node.args
            ):
                noted = ast.Call(
                    ast.Name(CALLED, ast.Load()), [ast.Constant(name), *node.args], []
                )
                node.args = [ast.copy_location(ast.Starred(noted, ast.Load()), node)]
        return node


class _Asserts(ast.NodeTransformer):
    def __init__(self, touching: set[str], sites: list[Site]) -> None:
        self._touching = touching
        self._sites = sites

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        source = ast.unparse(node.test)
        marked = _Compares(self._touching, self._sites, node).visit(node.test)
        if not _recorded(marked):
            number = len(self._sites)
            site = Site("", source, "a true value", False, node.lineno, node.msg is not None)
            self._sites.append(site)
            marked = _call(HOLDS, number, marked)
        return ast.copy_location(ast.Assert(marked, node.msg), node)


class _Compares(ast.NodeTransformer):
    """Wraps each comparison of two operands; chains are left as they are."""

    def __init__(self, touching: set[str], sites: list[Site], owner: ast.Assert) -> None:
        self._touching = touching
        self._sites = sites
        self._owner = owner

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        left_source, right_source = ast.unparse(node.left), ast.unparse(node.comparators[-1])
        self.generic_visit(node)
        if len(node.ops) != 1:
            return node
        right_touches = _touches(node.comparators[0], self._touching)
        swapped = right_touches and not _touches(node.left, self._touching)
        got, expected = (
            (right_source, left_source) if swapped else (left_source, right_source)
        )
        number = len(self._sites)
        self._sites.append(
            Site(_SIGNS[type(node.ops[0])], got, expected, swapped, node.lineno,
                 self._owner.msg is not None)
        )
        call = _call(COMPARE, number, node.left, node.comparators[0])
        return ast.copy_location(call, node)


def _recorded(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and (
        node.func.id == COMPARE
    )


def _call(function: str, number: int, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(function, ast.Load()), [ast.Constant(number), *args], [])


def _touches(node: ast.AST, touching: set[str]) -> bool:
    return any(isinstance(n, ast.Name) and n.id in touching for n in ast.walk(node))


def _touched_names(tree: ast.Module, modules: Collection[str]) -> set[str]:
    """Names that hold something of the program, or something computed from it."""
    touching = set(imported_from(tree, modules))
    touching |= {name for name in free_names(tree) if not hasattr(builtins, name)}
    flows = list(_flows(tree))
    grown = True
    while grown:
        before = len(touching)
        for source, target in flows:
            if _touches(source, touching):
                touching |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
        grown = len(touching) > before
    return touching


def _flows(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Pairs of an expression and the target that gets its value."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign():
                for target in node.targets:
                    yield node.value, target
            case ast.AnnAssign(value=ast.expr() as value) | ast.AugAssign(value=value):
                yield value, node.target
            case ast.NamedExpr():
                yield node.value, node.target
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                yield node.iter, node.target
            case ast.withitem(optional_vars=ast.expr() as target):
                yield node.context_expr, target


def imported_from(tree: ast.Module, modules: Collection[str]) -> Iterator[str]:
    """Names that import statements bind to the program's modules or what is in them."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] in modules or alias.name in modules:
                    yield alias.asname or alias.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module and (
            node.module in modules or node.module.partition(".")[0] in modules
        ):
            for alias in node.names:
                yield alias.asname or alias.name


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0]
