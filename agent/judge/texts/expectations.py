"""Has each check of a test expect something else than it did.

A test that passes must then fail where it checks. One that does not passes whatever it expects: by
an object that equals anything, by a check that was exchanged, or because the program reads what is
expected and hands it over. So whoever reads must be told the other value too: literals are
exchanged in the text (`exchanged`), which stays as it is otherwise, and variables for as long as
they are compared. That, and any other expectation, is done as the text is compiled (`instrument`).

Each check goes on where it fails, so that the next is asked too, and the test fails at its end.
What hears of them is `programs.plain.expecting.Expecting`, under a name among the builtins. A check
in which nothing can be exchanged is left as it is.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

MOST_PARTS = 10_000
"""Parts of a literal that is exchanged."""
_TEXT = "x7"
_FAR = 1009
"""Where what is near counts as equal."""
_SAME = (
    "assertEqual", "assertEquals", "assertListEqual", "assertDictEqual", "assertTupleEqual",
    "assertSetEqual", "assertSequenceEqual", "assertMultiLineEqual", "assertCountEqual",
    "assertAlmostEqual",
)
_ORDERED = ("assertLess", "assertLessEqual", "assertGreater", "assertGreaterEqual")
_RAISING = ("raises", "assertRaises", "assertRaisesRegex")
_WARNING = ("warns", "assertWarns", "assertWarnsRegex")
_CALLED = ("assert_called_with", "assert_called_once_with", "assert_any_call")
_KNOWN_CONTEXTS = ("pytest.", "self.", "patch", "mock.", "subtests.", "warnings.")
_NARROW = frozenset(
    name for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, Exception)
    and not issubclass(ZeroDivisionError, kind)
)
"""Exceptions of Python in whose place another is expected."""
_CATCHING = ("AssertionError", "Exception")
"""A context that says so may keep a failing assert to itself."""


@dataclass(frozen=True)
class Check:
    """A check that expects something else now."""

    file: str
    line: int
    may_be_empty: bool = False
    """It may be made no time at all, as in a loop over nothing."""


def _refuse(value: Any) -> Any:
    raise TypeError(type(value).__name__)


def other(value: Any, place: int = 1, strange: Callable[[Any], Any] = _refuse) -> Any:
    """A value of the same form that is not equal. Neighbours change by different amounts; `strange`
    says what takes the place of what is not plain, which is refused (`TypeError`) otherwise."""
    match value:
        case bool():
            return not value
        case int():
            return value + place
        case float():
            return value + abs(value) + place if abs(value) < 1e300 else 0.5
        case complex():
            return value + place
        case str():
            return value + _TEXT
        case bytes():
            return value + _TEXT.encode()
        case None:
            return _TEXT
        case list() | tuple() | set() | frozenset() if type(value) in _MANY:
            parts = [other(one, place + at, strange) for at, one in enumerate(value)]
            return type(value)(parts or [place])
        case dict() if type(value) is dict:
            changed = {
                key: other(one, place + at, strange)
                for at, (key, one) in enumerate(value.items())
            }
            return changed or {_TEXT: place}
    return strange(value)


_MANY = (list, tuple, set, frozenset)


def exchanged(text: str) -> str | None:
    """The text of a test file with other literals where its checks expect some, line by line;
    `None` where that cannot be done."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    rewriter = _Rewriter("", "_", [])
    rewriter.visit(tree)
    lines = text.encode().splitlines(keepends=True)
    for node, new in sorted(
        rewriter.parts, key=lambda one: (one[0].lineno, one[0].col_offset), reverse=True
    ):
        first, last = node.lineno - 1, (node.end_lineno or 0) - 1
        before, after = lines[first][: node.col_offset], lines[last][node.end_col_offset :]
        old = b"".join([*lines[first : last + 1]])
        old = old[node.col_offset : len(old) - len(after)]
        made = before + new(old.decode()).encode() + after
        lines[first : last + 1] = made.splitlines(keepends=True)
    found = b"".join(lines).decode()
    try:
        ast.parse(found)
    except (SyntaxError, ValueError):
        return None
    return found


def instrument(tree: ast.Module, path: str, name: str, checks: list[Check]) -> None:
    """Changes a test file's tree so that each check is heard of under `name`. Checks are added to
    the list, and known by their number there."""
    rewriter = _Rewriter(path, name, checks)
    rewriter.visit(tree)
    ast.fix_missing_locations(tree)


def _parts(node: ast.expr, place: int = 1) -> Iterator[tuple[ast.expr, Callable[[str], str]]]:
    """What of a literal is exchanged, and how its text becomes another."""
    match node:
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements) if (
            elements
        ):
            for at, one in enumerate(elements):
                yield from _parts(one, place + at)
        case ast.Dict(values=values) if values:
            for at, one in enumerate(values):
                yield from _parts(one, place + at)
        case ast.Constant(value=str() | bytes()):
            yield node, _longer
        case _:
            new = repr(other(ast.literal_eval(node), place))
            yield node, lambda old: new


def _error(old: str) -> str:
    return "ZeroDivisionError"


def _longer(old: str) -> str:
    """The text of a string with more at its end."""
    is_long = old[-3:] in ('"""', "\'\'\'") and len(old.lstrip("rRbBuU")) > 5
    quote = old[-3:] if is_long else old[-1:]
    return f"{old.removesuffix(quote)}{_TEXT}{quote}"


_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class _Names:
    """What a function's own names are."""

    own: frozenset[str] = frozenset()
    captured: frozenset[str] = frozenset()
    """Those that a function within it reads."""


@dataclass
class _Rewriter(ast.NodeTransformer):
    path: str
    name: str
    checks: list[Check]
    parts: list[tuple[ast.expr, Callable[[str], str]]] = field(default_factory=list)
    """Parts of the text that are to be others."""
    _within: list[_Names] = field(default_factory=list)
    _depth: int = 0
    """How many functions are around."""

    # Functions.

    def visit_FunctionDef(self, node: _Function) -> _Function:
        nodes = [*_own_nodes(node)]
        is_test = (
            self._depth == 0 and node.name.startswith("test")
            and not any(isinstance(one, ast.Yield | ast.YieldFrom) for one in nodes)
            and not any("fixture" in ast.unparse(one) for one in node.decorator_list)
        )
        self._within.append(_names_of(node, nodes))
        self._depth += 1
        body: list[ast.stmt] = []
        sure: list[int] = []
        leaves = False
        for statement in node.body:
            first = len(self.checks)
            leaves = leaves or _may_leave(statement)
            found = self.visit(statement)
            body += found if isinstance(found, list) else [found]
            if not leaves and isinstance(statement, ast.Assert | ast.Expr):
                sure += range(first, len(self.checks))
        self._depth -= 1
        self._within.pop()
        if is_test:
            documented = [*body[:1]] if ast.get_docstring(node, clean=False) is not None else []
            ids = [one for one in sure if not self.checks[one].may_be_empty]
            end = ast.Expr(self._call("end", ast.Tuple([ast.Constant(one) for one in ids],
                                                       ast.Load())))
            inner = body[len(documented) :] or [ast.Pass()]
            body = [*documented, ast.Try(inner, [], [], [end])]
        node.body = body
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node

    # Checks.

    def visit_Assert(self, node: ast.Assert) -> ast.stmt | list[ast.stmt]:
        if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And):
            parts: list[ast.stmt] = []
            for one in node.test.values:
                found = self.visit_Assert(ast.copy_location(ast.Assert(one, node.msg), node))
                parts += found if isinstance(found, list) else [found]
            return parts
        number = len(self.checks)
        made = self._other_truth(node.test, number, node)
        if made is None:
            return node
        test, swapped = made
        assertion = ast.copy_location(ast.Assert(test, None), node)
        return self._heard(assertion, number, swapped)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
        call = node.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            return node
        number, attr, swapped = len(self.checks), call.func.attr, ""
        if attr in _SAME and len(call.args) >= 2:
            left, right, swapped = self._sides(
                call.args[0], call.args[1], number, node, _FAR if "Almost" in attr else 1
            )
            self._add(node)
            call.args[:2] = [left, right]
        elif attr == "assertTrue" and call.args:
            made = self._other_truth(call.args[0], number, node)
            if made is None:
                return node
            call.args[0], swapped = made
        elif attr in _ORDERED and len(call.args) >= 2 and _number_beside(*call.args[:2]):
            call.args[:2] = self._unordered(call.args[0], call.args[1], number)
            self._add(node)
        elif attr == "assertIn" and len(call.args) >= 2 and _is_text(call.args[0]):
            call.args[:2] = [
                self._literal(call.args[0]),
                self._call("whole", ast.Constant(number), call.args[1]),
            ]
            self._add(node, may_be_empty=True)
        elif attr in _RAISING + _WARNING and len(call.args) >= 2:
            call.args[0] = self._never(attr, call.args[0])
            self._add(node)
            call.func.value = self._call("asked", ast.Constant(number), call.func.value)
        elif attr in _CALLED:
            call.func.value = self._call("mocked", ast.Constant(number), call.func.value)
            call.args.append(ast.Constant(_TEXT))
            self._add(node)
        else:
            return node
        return self._heard(node, number, swapped)

    def visit_With(self, node: ast.With) -> ast.stmt | list[ast.stmt]:
        first = len(self.checks)
        self.generic_visit(node)
        inner = len(self.checks) > first
        call = node.items[0].context_expr
        if isinstance(call, ast.Call) and len(node.items) == 1 and call.args and (
            (kind := _last(call.func)) in _RAISING + _WARNING
        ):
            number = len(self.checks)
            # What the context hands on, as `caught.value`, is not there then.
            call.args[0] = self._never(kind, call.args[0])
            node.items[0].context_expr = self._call("asked", ast.Constant(number), call)
            self._add(node)
            return self._heard(node, number, "")
        words = [ast.unparse(one.context_expr) for one in node.items]
        if inner and not any(
            one.startswith(_KNOWN_CONTEXTS) or any(word in one for word in _CATCHING)
            for one in words
        ):
            number = len(self.checks)
            node.body = [*node.body, ast.Expr(self._call("leave", ast.Constant(number)))]
            self._add(node, may_be_empty=True)
            return self._heard(node, number, "")
        return node

    # What they are made of.

    def _other_truth(
        self, test: ast.expr, number: int, at: ast.stmt
    ) -> tuple[ast.expr, str] | None:
        """A truth with another expectation, and the variable that is exchanged meanwhile; `None`
        where there is nothing to exchange."""
        match test:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                test.left, test.comparators[0], swapped = self._sides(left, right, number, at)
                self._add(at)
                return test, swapped
            case ast.Compare(left=left, ops=[ast.In()], comparators=[right]) if _is_text(left):
                test.left = self._literal(left)
                test.comparators[0] = self._call("whole", ast.Constant(number), right)
                self._add(at, may_be_empty=True)
                return test, ""
            case ast.Compare(
                left=left, ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE()], comparators=[right]
            ) if _number_beside(left, right):
                test.left, test.comparators[0] = self._unordered(left, right, number)
                self._add(at)
                return test, ""
            case ast.Call(func=ast.Attribute(value=ast.Compare() as inner, attr="all"), args=[]):
                made = self._other_truth(inner, number, at)
                return None if made is None else (test, made[1])
            case ast.Call(
                func=ast.Attribute(value=left, attr="startswith" | "endswith"), args=[right]
            ) if _is_text(right):
                test.func = ast.Attribute(self._seen(number, left), _last(test.func), ast.Load())
                test.args = [self._literal(right)]
                self._add(at)
                return test, ""
            case ast.Call(func=func, args=[left, right, *_]) if _last(func) == "isclose" and (
                _is_literal(right)
            ):
                test.args[:2] = [self._seen(number, left), self._literal(right, _FAR)]
                self._add(at)
                return test, ""
            case ast.Call(func=ast.Name("all"), args=[
                ast.GeneratorExp(elt=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]))
                | ast.ListComp(elt=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]))
            ]):
                elt: Any = test.args[0]
                elt.elt.left = self._seen(number, left)
                elt.elt.comparators[0] = self._exchanged(right, number)
                self._add(at, may_be_empty=True)
                return test, ""
        return None

    def _sides(
        self, left: ast.expr, right: ast.expr, number: int, at: ast.stmt, place: int = 1
    ) -> tuple[ast.expr, ast.expr, str]:
        """Two sides of a comparison, one of which is exchanged: the literal one, or the right."""
        if _is_literal(left) and not _is_literal(right):
            return self._exchanged(left, number, place), self._seen(number, right), ""
        if place == 1 and isinstance(right, ast.Name) and self._may_swap(right.id, at):
            return self._seen(number, left), right, right.id
        return self._seen(number, left), self._exchanged(right, number, place), ""

    def _may_swap(self, name: str, at: ast.stmt) -> bool:
        """Whether a variable can be exchanged while a statement runs, which names it once."""
        return (
            bool(self._within) and name in self._within[-1].own
            and name not in self._within[-1].captured
            and sum(isinstance(one, ast.Name) and one.id == name for one in ast.walk(at)) == 1
        )

    def _exchanged(self, node: ast.expr, number: int, place: int = 1) -> ast.expr:
        if _is_literal(node):
            return self._literal(node, place)
        match node:
            case ast.Call(func=func, args=args) if _last(func) == "approx" and args:
                node.args[0] = self._exchanged(args[0], number, _FAR)
                return node
            case ast.Call(func=func, args=args, keywords=named) if _last(func)[:1].isupper() and (
                any(map(_is_literal, [*args, *(one.value for one in named)]))
            ):
                node.args = [
                    self._literal(one, at) if _is_literal(one) else one
                    for at, one in enumerate(args, 1)
                ]
                for at, one in enumerate(named, len(args) + 1):
                    if _is_literal(one.value):
                        self._literal(one.value, at)
                return self._call("foreign", ast.Constant(number), node)
        return self._call("other", ast.Constant(number), node, ast.Constant(place))

    def _literal(self, node: ast.expr, place: int = 1) -> ast.expr:
        """A literal, which is another in the text."""
        self.parts += _parts(node, place)
        return node

    def _never(self, kind: str, expected: ast.expr) -> ast.expr:
        """What is raised by nothing there: of another name in the text where it has one."""
        if kind in _WARNING:
            return self._part("NeverWarning")
        if isinstance(expected, ast.Name) and expected.id in _NARROW:
            self.parts.append((expected, _error))
            return expected
        return self._part("Never")

    def _unordered(self, left: ast.expr, right: ast.expr, number: int) -> list[ast.expr]:
        """Two sides of an order, one of which is a number that has no place in any."""
        nothing = self._part("nan")
        if _is_number(right):
            return [self._seen(number, left), nothing]
        return [nothing, self._seen(number, right)]

    def _seen(self, number: int, node: ast.expr) -> ast.expr:
        return self._call("seen", ast.Constant(number), node)

    def _add(self, at: ast.stmt, *, may_be_empty: bool = False) -> None:
        self.checks.append(Check(self.path, at.lineno, may_be_empty))

    def _heard(self, node: ast.stmt, number: int, swapped: str) -> list[ast.stmt]:
        """A statement that is to fail, with what tells whether it does."""
        failed = ast.ExceptHandler(None, None, [
            ast.Expr(self._call("noticed", ast.Constant(number)))
        ])
        held = ast.Expr(self._call("held", ast.Constant(number)))
        final: list[ast.stmt] = []
        before: list[ast.stmt] = []
        if swapped:
            variable = ast.Name(swapped, ast.Load())
            before = [ast.Assign([ast.Name(swapped, ast.Store())],
                                 self._call("swap", ast.Constant(number), variable))]
            final = [ast.Assign([ast.Name(swapped, ast.Store())],
                                self._call("back", ast.Constant(number)))]
        tried = ast.Try([node], [failed], [held], final)
        return [ast.copy_location(one, node) for one in (*before, tried)]

    def _part(self, attr: str) -> ast.expr:
        return ast.Attribute(ast.Name(self.name, ast.Load()), attr, ast.Load())

    def _call(self, attr: str, *args: ast.expr) -> ast.expr:
        return ast.Call(self._part(attr), [*args], [])


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """What stands in a function itself, not in one within it."""
    waiting = [*ast.iter_child_nodes(node)]
    while waiting:
        one = waiting.pop()
        yield one
        if not isinstance(one, _Function | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(one)


def _names_of(node: _Function, nodes: list[ast.AST]) -> _Names:
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    own = {one.arg for one in named} | {
        one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
    others = {
        name for one in nodes if isinstance(one, ast.Global | ast.Nonlocal) for name in one.names
    }
    inner = (
        one for one in nodes
        if isinstance(one, _Function | ast.Lambda | ast.ClassDef | ast.GeneratorExp)
    )
    captured = {
        name.id for one in inner for name in ast.walk(one) if isinstance(name, ast.Name)
    }
    return _Names(frozenset(own - others), frozenset(captured))


def _may_leave(statement: ast.stmt) -> bool:
    """Whether a function may end well within a statement."""
    return any(isinstance(one, ast.Return) for one in ast.walk(statement))


def _is_literal(node: ast.expr) -> bool:
    try:
        other(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return sum(1 for _ in ast.walk(node)) < MOST_PARTS


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_number(node: ast.expr) -> bool:
    return _is_literal(node) and type(ast.literal_eval(node)) in (int, float)


def _number_beside(left: ast.expr, right: ast.expr) -> bool:
    return _is_number(left) != _is_number(right)


def _last(func: ast.expr) -> str:
    """The last part of a dotted name."""
    return str(getattr(func, "attr", getattr(func, "id", "")))
