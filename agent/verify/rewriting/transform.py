"""Instruments test code: each comparison in an `assert` becomes a call of a recorder.

So a failure can be shown as call, expected and got. The same operands are evaluated in the same
order.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator

COMPARE = "__compare__"
HOLDS = "__holds__"
CALLED = "__called__"


class Site:
    """A comparison or condition in an assert of a test, as source.

    `swapped` says that the solution's side is the right one, `message` that the assert has one.
    No dataclass, to avoid the import in the tests' process.
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
    """The tree with its asserts recorded, and the sites by the recorder's numbers.

    `modules` are the importable modules of the program; names that the code does not bind count as
    the program's.
    """
    unbound = {name for name in free_names(tree) if not hasattr(builtins, name)}
    names = {*imported_from(tree, modules), *unbound}
    sites: list[Site] = []
    changed = _Calls(names).visit(_Asserts(names, sites).visit(tree))
    return ast.fix_missing_locations(changed), sites


_OPERATORS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}


def free_names(tree: ast.Module) -> set[str]:
    bound, used = set(imported_names(tree)), set()
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
    """Records the arguments of each call of the program: `f(*called("f", x))`."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        match node.func:
            case ast.Name(id=name) if name in self._names and not any(
                isinstance(arg, ast.Starred) for arg in node.args
            ):
                recorded = ast.Call(
                    ast.Name(CALLED, ast.Load()), [ast.Constant(name), *node.args], []
                )
                node.args = [ast.copy_location(ast.Starred(recorded, ast.Load()), node)]
        return node


class _Asserts(ast.NodeTransformer):
    """Wraps each comparison of two operands in an assert, or else its whole condition."""

    def __init__(self, names: set[str], sites: list[Site]) -> None:
        self._names = names
        self._sites = sites
        self._current_assert: ast.Assert | None = None

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        source = ast.unparse(node.test)
        self._current_assert = node
        test = self.visit(node.test)
        if not _is_recorded(test):
            number = self._site("", source, "a true value", False, node)
            test = _call(HOLDS, number, test)
        self._current_assert = None
        return ast.copy_location(ast.Assert(test, node.msg), node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        if self._current_assert is None:
            return node
        sides = [ast.unparse(node.left), ast.unparse(node.comparators[-1])]
        swapped = self._rank(node.comparators[-1]) > self._rank(node.left)
        self.generic_visit(node)
        if len(node.ops) != 1:
            return node
        got, expected = reversed(sides) if swapped else sides
        number = self._site(_OPERATORS[type(node.ops[0])], got, expected, swapped, node)
        call = _call(COMPARE, number, node.left, node.comparators[0])
        return ast.copy_location(call, node)

    def _site(
        self, operator: str, got: str, expected: str, swapped: bool, node: ast.Assert | ast.Compare
    ) -> int:
        message = self._current_assert is not None and self._current_assert.msg is not None
        self._sites.append(Site(operator, got, expected, swapped, node.lineno, message))
        return len(self._sites) - 1

    def _rank(self, side: ast.expr) -> int:
        """How likely a side of a comparison is the program's: 2 if it has a name of the program, 1
        if it has another name that is not a builtin, otherwise 0."""
        names = {node.id for node in ast.walk(side) if isinstance(node, ast.Name)}
        return 2 if names & self._names else any(not hasattr(builtins, name) for name in names)


def _is_recorded(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and (
        node.func.id == COMPARE
    )


def _call(function: str, number: int, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(function, ast.Load()), [ast.Constant(number), *args], [])


def imported_from(tree: ast.Module, modules: Collection[str]) -> Iterator[str]:
    """Names that import statements bind to the program's modules or their members."""
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


def imported_names(tree: ast.Module) -> Iterator[str]:
    """Names that import statements bind."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0]
