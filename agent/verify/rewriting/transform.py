"""Reads test code before it runs: marks its comparisons.

Each comparison in an `assert` becomes a call of a recorder with the operator kept in the
tests' process, so that a failure can be shown as call, expected and got. Nothing else about
the test changes: the same operands are evaluated in the same order.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator

COMPARE = "__compare__"
HOLDS = "__holds__"
CALLED = "__called__"


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


def instrument(tree: ast.Module, modules: Collection[str]) -> tuple[ast.Module, list[Site]]:
    """The tree with its asserts recorded, and the sites the recorder's numbers mean.

    `modules` are the importable modules of the program; every name that the code does not bind
    itself is taken to be the program's, too.
    """
    unbound = {name for name in free_names(tree) if not hasattr(builtins, name)}
    names = {*imported_from(tree, modules), *unbound}
    sites: list[Site] = []
    changed = _Calls(names).visit(_Asserts(names, sites).visit(tree))
    return ast.fix_missing_locations(changed), sites


_INDICATORS: dict[type[ast.cmpop], str] = {
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

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        match node.func:
            case ast.Name(id=name) if name in self._names and not any(
                isinstance(arg, ast.Starred) for arg in node.args
            ):
                noted = ast.Call(
                    ast.Name(CALLED, ast.Load()), [ast.Constant(name), *node.args], []
                )
                node.args = [ast.copy_location(ast.Starred(noted, ast.Load()), node)]
        return node


class _Asserts(ast.NodeTransformer):
    """Wraps each comparison of two operands in an assert, or the truth of one without; chains are
    left as they are."""

    def __init__(self, names: set[str], sites: list[Site]) -> None:
        self._names = names
        self._sites = sites
        self._within: ast.Assert | None = None

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        source = ast.unparse(node.test)
        self._within = node
        marked = self.visit(node.test)
        if not _recorded(marked):
            number = self._site("", source, "a true value", False, node)
            marked = _call(HOLDS, number, marked)
        self._within = None
        return ast.copy_location(ast.Assert(marked, node.msg), node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if self._within is None:
            return node
        sides = [ast.unparse(node.left), ast.unparse(node.comparators[-1])]
        swapped = self._asks(node.comparators[-1]) > self._asks(node.left)
        self.generic_visit(node)
        if len(node.ops) != 1:
            return node
        got, expected = reversed(sides) if swapped else sides
        number = self._site(_INDICATORS[type(node.ops[0])], got, expected, swapped, node)
        call = _call(COMPARE, number, node.left, node.comparators[0])
        return ast.copy_location(call, node)

    def _site(
        self, operator: str, got: str, expected: str, swapped: bool, node: ast.Assert | ast.Compare
    ) -> int:
        message = self._within is not None and self._within.msg is not None
        self._sites.append(Site(operator, got, expected, swapped, node.lineno, message))
        return len(self._sites) - 1

    def _asks(self, side: ast.expr) -> int:
        """How likely a side of a comparison is the program's: it has a name of the program, any
        that is not Python's, or none."""
        names = {one.id for one in ast.walk(side) if isinstance(one, ast.Name)}
        return 2 if names & self._names else any(not hasattr(builtins, name) for name in names)


def _recorded(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and (
        node.func.id == COMPARE
    )


def _call(function: str, number: int, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(function, ast.Load()), [ast.Constant(number), *args], [])


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
