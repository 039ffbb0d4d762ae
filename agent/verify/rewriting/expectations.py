"""Rewrites tests for the double-checked run: what a check expects must hold, and nothing else.

A test may pass whatever it expects: by an object that equals anything, by a replaced check, or
because the program reads the expected value and returns it. So expected literals are exchanged in
the text (`exchanged`), and expected variables during the comparison: the true value is not part of
the test. `instrument` inserts hooks that compare both the true and another value at each check, in
random order. The test otherwise runs as before, and is made to fail at its end.

The hooks are methods of `programs.plain.expecting.Expecting`, found as builtins, since pytest would
store an object among the test's variables, which a program may count. Checks without exchangeable
values are unchanged, and only reported as reached and passed.
"""

from __future__ import annotations

import ast
import builtins
import copy
import marshal
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from agent.verify.rewriting.other_values import FAR, Replacement, is_literal, parts, unequal_value
from agent.verify.rewriting.transform import imported_names

Comparison = Literal[
    "", "==", "<", "<=", ">", ">=", "all", "near", "elements", "in", "truth", "kind", "called",
    "raises", "loop",
]
"""What a check compares; empty for one that is only reported as reached and passed."""
_METHODS: dict[str, Comparison] = {
    **dict.fromkeys((
        "assertEqual", "assertEquals", "assertListEqual", "assertDictEqual", "assertTupleEqual",
        "assertSetEqual", "assertSequenceEqual", "assertMultiLineEqual",
    ), "=="),
    "assertCountEqual": "elements",
    **dict.fromkeys((
        "assertAlmostEqual", "assert_allclose", "assert_almost_equal", "assert_array_almost_equal",
    ), "near"),
    **dict.fromkeys((
        "assert_array_equal", "assert_equal", "assert_series_equal", "assert_frame_equal",
        "assert_index_equal",
    ), "=="),
    **dict.fromkeys(("assertLess", "assertLessEqual", "assertGreater", "assertGreaterEqual"), "<"),
}
"""How methods compare their first two arguments."""
_OPERATORS: dict[type[ast.cmpop], Comparison] = {
    ast.Eq: "==", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}
_RAISING = ("raises", "assertRaises", "assertRaisesRegex")
_WARNING = ("warns", "assertWarns", "assertWarnsRegex")
_CALLED = ("assert_called_with", "assert_called_once_with", "assert_any_call")
_EXCHANGEABLE_EXCEPTIONS = frozenset(
    name for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, Exception)
    and not issubclass(ZeroDivisionError, kind)
)
"""Builtin exceptions that are exchanged."""
_CATCHING = re.compile(r"\b(?:AssertionError|BaseException|Exception)\b|\bexcept:")
"""Found in functions that may catch a failing check on purpose."""


@dataclass(frozen=True)
class Check:
    file: str
    line: int
    comparison: Comparison = ""
    expected_first: bool = False
    offset: int = 1
    """The amount by which other values differ from the expected one."""
    literals: tuple[bytes | None, ...] = ()
    """The marshalled true values of exchanged literals; `None` for other expressions."""
    expected_value: bytes | None = None
    """The marshalled value that the expected variable must still have."""
    raises: str = ""
    may_fail: bool = False
    """Whether its test may catch its failure on purpose."""


def exchanged(text: str) -> str | None:
    """The text of a test file with the expected literals of its checks exchanged, on the same
    lines; `None` where that is impossible."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    rewriter = _Rewriter(tree, "", "_", [])
    rewriter.visit(tree)
    lines = text.encode().splitlines(keepends=True)
    for node, new in sorted(
        rewriter.parts, key=lambda one: (one[0].lineno, one[0].col_offset), reverse=True
    ):
        first, last = node.lineno - 1, (node.end_lineno or 0) - 1
        before, after = lines[first][: node.col_offset], lines[last][node.end_col_offset :]
        old = b"".join([*lines[first : last + 1]])
        old = old[node.col_offset : len(old) - len(after)]
        replaced = before + new(old.decode()).encode() + after
        lines[first : last + 1] = replaced.splitlines(keepends=True)
    found = b"".join(lines).decode()
    try:
        ast.parse(found)
        return found
    except (SyntaxError, ValueError):
        return None


def instrumented_tests(text: str) -> frozenset[str]:
    """Names, like `TestA::test_b`, of the tests in a file that are made to fail at their end,
    including tests that a class inherits from another class of the file."""
    tree = ast.parse(text)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    rewriter = _Rewriter(tree, "", "_", [])
    rewriter.visit(tree)

    def tests_of(node: ast.ClassDef, seen: tuple[str, ...]) -> set[str]:
        defined = {
            one.name for one in node.body if isinstance(one, _Function) and one in rewriter.tests
        }
        bases = {ast.unparse(base) for base in node.bases} & classes.keys() - {*seen}
        return defined.union(*(tests_of(classes[base], (*seen, node.name)) for base in bases))

    found = {
        node.name for node in tree.body if isinstance(node, _Function) and node in rewriter.tests
    }
    for name, node in classes.items():
        found |= {f"{name}::{test}" for test in tests_of(node, (name,))}
    return frozenset(found)


def instrument(text: str, path: str, name: str, checks: list[Check]) -> ast.Module:
    """The instrumented tree of a test file, given its original text.

    `name` is the prefix of the hooks. Checks are appended to `checks`; hooks use their index.
    """
    tree = ast.parse(text)
    _Rewriter(tree, path, name, checks).visit(tree)
    return ast.fix_missing_locations(tree)


_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class _FunctionNames:
    own: frozenset[str] = frozenset()
    captured: frozenset[str] = frozenset()
    bound: dict[str, bytes] = field(default_factory=dict)


class _Rewriter(ast.NodeTransformer):
    def __init__(self, tree: ast.Module, path: str, name: str, checks: list[Check]) -> None:
        self._path, self._name, self._checks = path, name, checks
        self.parts: list[Replacement] = []
        self.tests: list[_Function] = []
        self._imported = frozenset(imported_names(tree))
        self._bound = self._imported | {
            node.id for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        } | {node.name for node in ast.walk(tree) if isinstance(node, _Function | ast.ClassDef)}
        self._scopes = [_FunctionNames(bound=_bound_once(tree, [*own_nodes(tree)]))]
        self._may_fail = False
        self._catches = False
        """Whether an exception is expected, which operands of a check may raise."""

    def visit_FunctionDef(self, node: _Function) -> _Function:
        nodes = [*own_nodes(node)]
        is_outer = len(self._scopes) == 1
        is_test = (
            is_outer and node.name.startswith("test")
            and not any(isinstance(one, ast.Yield | ast.YieldFrom) for one in nodes)
            and not any("fixture" in ast.unparse(decorator) for decorator in node.decorator_list)
        )
        if is_outer:
            self._may_fail = _CATCHING.search(ast.unparse(node)) is not None
        begin = len(self._checks)
        self._scopes.append(_names_of(node, nodes))
        body: list[ast.stmt] = []
        unconditional: list[int] = []
        leaves = False
        for statement in node.body:
            first = len(self._checks)
            leaves = leaves or _may_leave(statement)
            found = self.visit(statement)
            body += found if isinstance(found, list) else [found]
            added = range(first, len(self._checks))
            if not leaves and isinstance(statement, ast.Assert | ast.Expr) and not any(
                self._checks[one].comparison == "loop" for one in added
            ):
                unconditional += added
        self._scopes.pop()
        if is_outer:
            self._may_fail = False
        if is_test:
            self.tests.append(node)
            documented = [*body[:1]] if ast.get_docstring(node, clean=False) is not None else []
            ids = ast.Tuple([ast.Constant(one) for one in unconditional], ast.Load())
            count = ast.Constant(sum(not one.may_fail for one in self._checks[begin:]))
            end = ast.Expr(self._call("test_finished", ids, count))
            inner = body[len(documented) :] or [ast.Pass()]
            body = [*documented, ast.Try(inner, [], [], [end])]
        elif unconditional and not is_outer and isinstance(node, ast.AsyncFunctionDef):
            ids = ast.Tuple([ast.Constant(one) for one in unconditional], ast.Load())
            body = [ast.Try(body, [], [], [ast.Expr(self._call("coroutine_closed", ids))])]
        node.body = body
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        return node

    def visit_Assert(self, node: ast.Assert) -> ast.stmt | list[ast.stmt]:
        if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And):
            parts: list[ast.stmt] = []
            for one in node.test.values:
                found = self.visit_Assert(ast.copy_location(ast.Assert(one, node.msg), node))
                parts += found if isinstance(found, list) else [found]
            return parts
        number = len(self._checks)
        may_fail = is_literal(node.test)
        rewritten = self._condition(node.test, node)
        if rewritten is not None:
            node.test, swapped = rewritten
            return self._exchange(node, number, swapped)
        return self._unchanged(node, may_fail)

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        """Rewrites a failure raised by hand (`if a != b: raise AssertionError`) like an assert."""
        held = _asserted_condition(node)
        if held is None:
            return self.generic_visit(node)
        return self.visit_Assert(ast.copy_location(ast.Assert(held), node))

    def _unchanged(self, node: ast.stmt, may_fail: bool = False) -> list[ast.stmt]:
        """A check without exchanged values, which reports when it is reached and when it holds."""
        check = self._add(node, "")
        if may_fail or self._catches:
            self._checks[check] = replace(self._checks[check], may_fail=True)
        around = [
            ast.copy_location(ast.Expr(self._call(hook, ast.Constant(check))), node)
            for hook in ("reached", "passed")
        ]
        return [around[0], node, around[1]]

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | list[ast.stmt]:
        call = node.value
        if not isinstance(call, ast.Call):
            return node
        number, attr, swapped = len(self._checks), _last(call.func), ""
        if not isinstance(call.func, ast.Attribute) and attr not in self._imported:
            return node
        if any(isinstance(argument, ast.Starred) for argument in call.args):
            return node
        comparison: Comparison = _METHODS.get(attr, "")
        if comparison == "<" and len(call.args) >= 2 and _number_beside(*call.args[:2]):
            self._add(node, "<", expected_first=_is_number(call.args[0]))
            at = 0 if _is_number(call.args[0]) else 1
            call.args[at] = self._expected(call.args[at], number)
        elif comparison not in ("", "<") and len(call.args) >= 2:
            left, right, swapped = self._sides(
                call.args[0], call.args[1], node, comparison, FAR if comparison == "near" else 1,
                wrapped=False,
            )
            call.args[:2] = [left, right]
        elif attr == "assertTrue" and call.args:
            rewritten = self._condition(call.args[0], node)
            if rewritten is None:
                return self._unchanged(node)
            call.args[0], swapped = rewritten
            return self._exchange(node, number, swapped)
        elif attr == "assertIn" and len(call.args) >= 2 and _is_text(call.args[0]):
            call.args[:2] = self._within_text(call.args[0], call.args[1], node)
            return node
        elif attr in _RAISING[:2] and len(call.args) >= 2:
            self._raising(call, node, "calling")
            return node
        elif attr in _CALLED:
            self._add(node, "called")
            call.func = self._call("called", ast.Constant(number), call.func)
            return node
        else:
            return self._unchanged(node) if attr.startswith("assert") else node
        call.func = self._call("wrap_check", ast.Constant(number), call.func)
        return self._exchange(node, number, swapped)

    def visit_With(self, node: ast.With) -> ast.With:
        before, calls = (self._may_fail, self._catches), [item.context_expr for item in node.items]
        raising = [
            call for call in calls
            if isinstance(call, ast.Call) and call.args and _last(call.func) in _RAISING + _WARNING
            and not any(isinstance(arg, ast.Starred) for arg in call.args)
        ]
        # A context for another builtin exception does not catch a failing check.
        self._may_fail |= any(
            not isinstance(one.args[0], ast.Name) or one.args[0].id == "AssertionError"
            or one.args[0].id not in _EXCHANGEABLE_EXCEPTIONS | self._imported for one in raising
        )
        self._catches |= bool(raising)
        self.generic_visit(node)
        self._may_fail, self._catches = before
        for call in raising:
            if _last(call.func) in _RAISING:
                self._raising(call, node, "raising")
        return node

    def visit_Match(self, node: ast.Match) -> list[ast.stmt]:
        """Double-checks the classes of patterns."""
        checks: list[ast.stmt] = []
        for pattern in ast.walk(node):
            if isinstance(pattern, ast.MatchClass):
                number = self._add(node, "kind")
                call = self._call("kind", ast.Constant(number), copy.deepcopy(pattern.cls))
                checks.append(ast.copy_location(ast.Expr(call), node))
        self.generic_visit(node)
        return [*checks, node]

    def visit_For(self, node: ast.For) -> ast.For:
        number = len(self._checks)
        self._add(node, "loop")
        self.generic_visit(node)
        if len(self._checks) == number + 1:
            self._checks.pop()
            return node
        node.iter = self._watched_iterable(node.iter, number)
        begun = ast.Expr(self._call("loop_iteration", ast.Constant(number)))
        node.body = [ast.copy_location(begun, node.body[0]), *node.body]
        return node

    def _watched_iterable(self, node: ast.expr, number: int) -> ast.expr:
        """Wraps the iterable of a loop in a hook; for `zip` and `enumerate`, each argument."""
        match node:
            case ast.Call(func=ast.Name("zip" | "enumerate"), args=args):
                node.args = [
                    one if isinstance(one, ast.Starred)
                    else self._call("loop_iterable", ast.Constant(number), one) for one in args
                ]
                return node
        return self._call("loop_iterable", ast.Constant(number), node)

    def _raising(self, call: ast.Call, at: ast.stmt, hook: str) -> None:
        """Rewrites a call that expects an exception, exchanging a builtin one."""
        expected = call.args[0]
        number = self._add(at, "raises")
        if isinstance(expected, ast.Name) and expected.id in _EXCHANGEABLE_EXCEPTIONS - self._bound:
            self.parts.append((expected, lambda old: "ZeroDivisionError"))
            self._checks[number] = replace(self._checks[number], raises=expected.id)
            call.args[0] = ast.Name("ZeroDivisionError", ast.Load())
        is_imported_class = ast.Constant(
            ast.unparse(expected).partition(".")[0] in self._imported
            and _last(expected) not in ("Exception", "BaseException")
        )
        call.args = [ast.Constant(number), is_imported_class, call.func, *call.args]
        call.func = self._part(hook)

    def _condition(self, test: ast.expr, at: ast.stmt) -> tuple[ast.expr, str] | None:
        """A rewritten condition, and the variable that is exchanged meanwhile, or "".

        `None` where nothing can be exchanged.
        """
        number = len(self._checks)
        match test:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                test.left, test.comparators[0], swapped = self._sides(left, right, at, "==")
                return test, swapped
            case ast.Compare(left=left, ops=[ast.In()], comparators=[right]) if _is_text(left):
                test.left, test.comparators[0] = self._within_text(left, right, at)
                return test, ""
            case ast.Compare(
                left=left, ops=[ast.Lt() | ast.LtE() | ast.Gt() | ast.GtE() as operator],
                comparators=[right],
            ) if _number_beside(left, right):
                first = _is_number(left)
                self._add(at, _OPERATORS[type(operator)], expected_first=first)
                sides = [
                    self._expected(one, number) if one_is else self._subject(number, one)
                    for one, one_is in ((left, first), (right, not first))
                ]
                test.left, test.comparators[0] = sides
                return test, ""
            case ast.Call(func=ast.Attribute(
                value=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]) as inner,
                attr="all",
            ), args=[]):
                inner.left, inner.comparators[0], swapped = self._sides(left, right, at, "all")
                return test, swapped
            case ast.Call(
                func=ast.Attribute(attr="startswith" | "endswith"), args=[right]
            ) if _is_text(right):
                self._add(at, "truth", expected_first=True)
                test.args = [self._expected(right, number)]
                test.func = self._call("wrap_check", ast.Constant(number), test.func)
                return test, ""
            case ast.Call(func=func, args=[left, right, *more]) if _last(func) == "isclose" and (
                is_literal(right)
            ):
                self._add(at, "truth", offset=FAR)
                test.args = [left, self._expected(right, number), *more]
                test.func = self._call("wrap_check", ast.Constant(number), func)
                return test, ""
            case ast.Call(func=ast.Name("isinstance" | "issubclass"), args=[left, kind]):
                self._add(at, "kind")
                test.args = [left, self._call("kind", ast.Constant(number), kind)]
                return test, ""
            case ast.Call(func=ast.Name("all"), args=[
                ast.GeneratorExp(
                    elt=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]),
                    generators=[ast.comprehension(is_async=0) as over],
                ) | ast.ListComp(
                    elt=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]),
                    generators=[ast.comprehension(is_async=0) as over],
                )
            ]):
                loop = self._add(at, "loop")
                elt: Any = test.args[0]
                check = self._add(at, "==")
                turn = self._call("loop_iteration", ast.Constant(loop), left)
                elt.elt.left = self._subject(check, turn)
                elt.elt.comparators[0] = self._expected(right, check)
                over.iter = self._watched_iterable(over.iter, loop)
                return test, ""
        return None

    def _within_text(self, left: ast.expr, right: ast.expr, at: ast.stmt) -> list[ast.expr]:
        number = self._add(at, "in")
        return [self._expected(left, number), self._call("container", ast.Constant(number), right)]

    def _sides(
        self, left: ast.expr, right: ast.expr, at: ast.stmt, comparison: Comparison,
        offset: int = 1, wrapped: bool = True,
    ) -> tuple[ast.expr, ast.expr, str]:
        """The rewritten sides of a comparison, and the exchanged variable, or "". The literal side
        is exchanged, or else the right one; the other is reported if `wrapped`."""
        first = is_literal(left) and not is_literal(right)
        number = self._add(at, comparison, expected_first=first, offset=offset)
        subject, expected = (right, left) if first else (left, right)
        swapped = ""
        if isinstance(expected, ast.Name):
            names = next((one for one in self._scopes[:0:-1] if expected.id in one.own), None)
            bound = (names or self._scopes[0]).bound.get(expected.id)
            self._checks[number] = replace(self._checks[number], expected_value=bound)
            swapped = expected.id if offset == 1 and self._may_swap(expected.id, at) else ""
        hook = self._expected(expected, number)
        other_side = self._subject(number, subject) if wrapped else subject
        return (hook, other_side, swapped) if first else (other_side, hook, swapped)

    def _may_swap(self, name: str, at: ast.stmt) -> bool:
        """Whether a variable can be exchanged while a statement runs that names it once."""
        return (
            name in self._scopes[-1].own and name not in self._scopes[-1].captured
            and sum(isinstance(node, ast.Name) and node.id == name for node in ast.walk(at)) == 1
        )

    def _expected(self, node: ast.expr, number: int) -> ast.expr:
        """The hook for an expected expression, with other literals in its text.

        Calls with literal arguments are built twice, from the true and from other literals.
        """
        exchangeable: list[ast.expr] = [node]
        build: ast.expr = ast.Constant(None)
        match node:
            case ast.Call(func=func, args=[first, *_]) if _last(func) == "approx" and (
                _can_be_lambda_body(node)
            ):
                exchangeable, build = [first], self._builder(node, [first])
                self._checks[number] = replace(self._checks[number], offset=FAR)
            case ast.Call(func=func, args=args, keywords=named) if (
                _last(func)[:1].isupper() and not is_literal(node) and _can_be_lambda_body(node)
            ):
                arguments = [*args, *(one.value for one in named)]
                if any(map(is_literal, arguments)):
                    exchangeable = [argument for argument in arguments if is_literal(argument)]
                    build = self._builder(node, exchangeable)
        offset = self._checks[number].offset
        literals: list[bytes | None] = []
        shown: list[ast.expr] = []
        for at, one in enumerate(exchangeable):
            if is_literal(one):
                value = ast.literal_eval(one)
                literals.append(marshal.dumps(value, 0))
                self.parts += parts(one, offset + at)
                shown.append(_shown(unequal_value(value, offset + at)))
            else:
                literals.append(None)
                shown.append(one)
        self._checks[number] = replace(self._checks[number], literals=tuple(literals))
        return self._call("expected", ast.Constant(number), build, *shown)

    def _builder(self, node: ast.Call, replaced: list[ast.expr]) -> ast.expr:
        """A lambda that makes a call with its own arguments in the place of the `replaced` ones."""
        names = {id(one): f"{self._name}{at}" for at, one in enumerate(replaced)}

        def argument(one: ast.expr) -> ast.expr:
            return ast.Name(names[id(one)], ast.Load()) if id(one) in names else one

        call = ast.Call(
            node.func, [argument(one) for one in node.args],
            [ast.keyword(keyword.arg, argument(keyword.value)) for keyword in node.keywords],
        )
        arguments = ast.arguments([], [ast.arg(name) for name in names.values()], None, [], [],
                                  None, [])
        return ast.Lambda(arguments, call)

    def _subject(self, number: int, node: ast.expr) -> ast.expr:
        return self._call("actual_value", node, ast.Constant(number))

    def _add(
        self, at: ast.stmt, comparison: Comparison, expected_first: bool = False, offset: int = 1
    ) -> int:
        check = Check(self._path, at.lineno, comparison, expected_first, offset)
        self._checks.append(replace(check, may_fail=self._may_fail))
        return len(self._checks) - 1

    def _exchange(self, node: ast.stmt, number: int, swapped: str) -> ast.stmt | list[ast.stmt]:
        if not swapped:
            return node
        variable, target = ast.Name(swapped, ast.Load()), [ast.Name(swapped, ast.Store())]
        exchanged = self._call("exchange_variable", ast.Constant(number), variable)
        before = ast.Assign([*target], exchanged)
        after = ast.Assign([*target], self._call("restore_variable", ast.Constant(number)))
        return [ast.copy_location(one, node) for one in (before, ast.Try([node], [], [], [after]))]

    def _part(self, attr: str) -> ast.expr:
        return ast.Name(f"{self._name}_{attr}", ast.Load())

    def _call(self, attr: str, *args: ast.expr) -> ast.expr:
        return ast.Call(self._part(attr), [*args], [])


def _shown(value: Any) -> ast.expr:
    try:
        return ast.parse(repr(value), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Constant(None)


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function itself, without those of inner functions."""
    pending = [*ast.iter_child_nodes(node)]
    while pending:
        one = pending.pop()
        yield one
        if not isinstance(one, _Function | ast.Lambda | ast.ClassDef):
            pending += ast.iter_child_nodes(one)


def _names_of(node: _Function, nodes: list[ast.AST]) -> _FunctionNames:
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    bound_names = {one.arg for one in named} | {
        one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }
    others = {
        name for one in nodes if isinstance(one, ast.Global | ast.Nonlocal) for name in one.names
    }
    inner = (
        one for one in nodes
        if isinstance(one, _Function | ast.Lambda | ast.ClassDef | ast.GeneratorExp)
    )
    captured = {name.id for one in inner for name in ast.walk(one) if isinstance(name, ast.Name)}
    bound = _bound_once(node, nodes)
    return _FunctionNames(
        frozenset(bound_names - others), frozenset(captured),
        {name: value for name, value in bound.items() if name in bound_names - others},
    )


def _bound_once(around: ast.AST, own: list[ast.AST]) -> dict[str, bytes]:
    """Names that are bound once, to a literal, and only compared, so that they never change."""
    inside = [*ast.walk(around)]
    compared = {
        id(side) for one in inside if isinstance(one, ast.Compare)
        for side in (one.left, *one.comparators)
    } | {
        id(side) for one in inside
        if isinstance(one, ast.Call) and _last(one.func) in _METHODS for side in one.args[:2]
    }
    values = {
        target.id: one.value for one in own if isinstance(one, ast.Assign)
        for target in one.targets
        if isinstance(target, ast.Name) and len(one.targets) == 1 and is_literal(one.value)
    }
    unsure: set[str] = set()
    stored: set[str] = set()
    for one in inside:
        match one:
            case ast.Name(id=name, ctx=ast.Load()):
                unsure |= {name} if id(one) not in compared else set()
            case ast.Name(id=name):
                unsure |= {name} & stored
                stored.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                unsure |= {*names}
            case ast.Constant(value=str(name)) | ast.arg(arg=name):
                unsure.add(name)
    return {
        name: marshal.dumps(ast.literal_eval(value), 0) for name, value in values.items()
        if name not in unsure
    }


def _may_leave(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Return) for node in ast.walk(statement))


def _can_be_lambda_body(node: ast.expr) -> bool:
    """Whether an expression can be moved into a lambda that is called immediately."""
    return not any(
        isinstance(one, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr | ast.Starred)
        or (isinstance(one, ast.keyword) and one.arg is None)
        for one in ast.walk(node)
    )


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_number(node: ast.expr) -> bool:
    return is_literal(node) and type(ast.literal_eval(node)) in (int, float)


def _number_beside(left: ast.expr, right: ast.expr) -> bool:
    return _is_number(left) != _is_number(right)


def _asserted_condition(node: ast.If) -> ast.expr | None:
    """What must hold for an `if` not to fail its test; `None` if it does anything else."""
    match node:
        case ast.If(body=[ast.Raise(exc=ast.expr() as raised)], orelse=[]) if _last(
            raised.func if isinstance(raised, ast.Call) else raised
        ) == "AssertionError":
            pass
        case ast.If(body=[ast.Expr(ast.Call(func=func))], orelse=[]) if _last(func) == "fail":
            pass
        case _:
            return None
    match node.test:
        case ast.UnaryOp(ast.Not(), operand):
            return operand
        case ast.Compare(left, [ast.NotEq()], [right]):
            return ast.copy_location(ast.Compare(left, [ast.Eq()], [right]), node.test)
        case test:
            return ast.copy_location(ast.UnaryOp(ast.Not(), test), test)


def _last(func: ast.expr) -> str:
    return str(getattr(func, "attr", getattr(func, "id", "")))
