"""Splits a snippet of asserts into tests, one for each check.

A check is a statement that can fail as a test: an assert, a bare comparison (read as an assert), a
`with raises`, a loop over asserts, a call of a helper that asserts. Its test contains, in order:

- imports, definitions and plain assignments that it needs, directly or through others;
- every other statement before it, since it may change state;
- earlier checks without their assertion (`assert s.pop() == 2` as `s.pop()`), if running them can
  influence a later check: they call something with a value of the snippet, or the program keeps
  state between calls.

So a test fails exactly when its check would fail in the whole snippet after passing checks. A
snippet with very many checks, or many that depend on each other, stays one test.
"""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Sequence
from copy import deepcopy
from heapq import heappop, heappush

from agent.core.domain import Example, Raises, Script, TestCase
from agent.core.trees import is_literal
from agent.target.discovery.effects import keeps_state
from agent.target.errors import NotFixable
from agent.target.parsing import (
    BUILTIN_NAMES,
    Definition,
    called_name,
    checking_helpers,
    checks,
    dotted,
    imports,
    is_docstring,
    is_future_import,
    is_import,
    is_main_guard,
    is_plain_call,
    name_usage,
    parsed,
    shortened,
    source_of,
    statement_source,
    toplevel,
    toplevel_names,
    unique,
    walk_scope,
    where,
)

MAX_CARRIED_CHECKS = 40
"""A snippet with more interdependent checks than this stays one test."""
MAX_CHECKS, MAX_SETUP_STATEMENTS = 1_000, 20_000
"""Limits of a snippet's checks, and of the setup statements of all its tests together."""

LocatedTest = tuple[int | None, TestCase]
"""A test, and the line of its check in the snippet, if it comes from one."""
_READING_BUILTINS = frozenset({
    "len", "str", "repr", "type", "isinstance", "issubclass", "abs", "round", "int", "float",
    "bool", "hasattr", "callable", "id", "ord", "chr",
})


def tests_from_snippet(code: str, program: str = "") -> tuple[TestCase, ...]:
    """The checks of a snippet as tests.

    `program` is the text under test; whether it keeps state decides which setup a check needs.
    Raises `NotFixable` if the code does not parse.
    """
    return tuple(test for _, test in located_tests(code, program))


def located_tests(
    code: str, program: str = "", outer: frozenset[str] = frozenset()
) -> tuple[LocatedTest, ...]:
    """The tests of a snippet, each with the line of its check.

    `outer` are names of values from outside the snippet that its checks may change.
    """
    try:
        body = parsed(code).body
    except SyntaxError as error:
        raise NotFixable(
            "invalid_tests",
            f"The tests are not valid Python ({where(error)}). Correct them and try again.",
        ) from None
    return tuple(_Snippet(code, body, program, outer).tests())


class _Snippet:
    """The analysis of one snippet; `tests` builds a test for each check."""

    def __init__(
        self, code: str, body: Sequence[ast.stmt], program: str, outer: frozenset[str]
    ) -> None:
        self.code = code
        self.body = [node for node in _unguarded(body) if not is_docstring(node)]
        self.program_names = toplevel_names(program)
        self.stateful = keeps_state(program) or _results_change(self.body)
        self.helpers = checking_helpers(body)
        self.mutable = _mutable_names(self.body) | outer
        bound = list(imports(*filter(is_import, self.body)))
        self.imports = {one.bound for one in bound}
        self.renamed = {
            one.bound for one in bound if one.bound != (one.name or one.module.partition(".")[0])
        }
        self.definitions = {
            node.name: node for node in toplevel(self.body) if isinstance(node, Definition)
        }
        self.names = [name_usage(node) for node in self.body]

    def tests(self) -> list[LocatedTest]:
        checks_at = [index for index, node in enumerate(self.body) if self.is_check(node)]
        if not checks_at:
            line = self.body[0].lineno if self.body else 1
            whole = self.script(shortened(self.code), self.code)
            return [(line, whole)] if self.body else []
        carried = {index for index in checks_at[:-1] if self.changes_state(self.body[index])}
        setups = self.setups(checks_at, carried)
        if not setups:
            first = self.body[checks_at[0]]
            return [(first.lineno, self.script(shortened(self.source(first)), self.whole()))]
        taken: dict[str, int] = {}
        return [
            (self.body[index].lineno, self.test_at(index, setup, carried, taken))
            for index, setup in setups.items()
        ]

    def is_check(self, node: ast.stmt) -> bool:
        return not isinstance(node, Definition) and (
            is_bare_check(node) or checks(node, self.helpers)
        )

    def changes_state(self, node: ast.stmt) -> bool:
        """Whether running this check can influence a later one."""
        if name_usage(node).binds and not isinstance(node, (ast.For, ast.With)):
            return True
        if any(
            isinstance(part, ast.Attribute | ast.Subscript) and not isinstance(part.ctx, ast.Load)
            for part in ast.walk(node)
        ):
            return True  # such as a `finally` that restores a replaced attribute
        return any(
            self.stateful or self.reads_through(call) & self.mutable
            for call in ast.walk(node)
            if isinstance(call, ast.Call) and called_name(call) not in _READING_BUILTINS
        )

    def reads_through(self, node: ast.AST) -> frozenset[str]:
        """Names read by the node, or by functions of the snippet that it mentions."""
        found: set[str] = set()
        waiting = set(name_usage(node).reads)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                if name in self.definitions:
                    waiting |= name_usage(self.definitions[name]).reads
        return frozenset(found)

    def test_at(
        self, index: int, setup: list[int], carried: set[int], taken: dict[str, int]
    ) -> TestCase:
        node = self.body[index]
        source = self.source(node)
        name = unique(shortened(source), taken)
        if all(is_import(self.body[position]) for position in setup):
            simple = self.simple(node, name)
            if simple is not None:
                return simple
        parts = [
            self.without_assertion(self.body[position]) if position in carried
            else statement_source(self.code, self.body[position])
            for position in setup
        ]
        return self.script(name, "\n".join([*parts, source]))

    def setups(self, checks_at: list[int], carried: set[int]) -> dict[int, list[int]]:
        """Each check with the positions of its setup statements; empty if there are too many."""
        if len(carried) > MAX_CARRIED_CHECKS or len(checks_at) > MAX_CHECKS:
            return {}
        always, binding = self.earlier({*checks_at} - carried)
        setups: dict[int, list[int]] = {}
        left = MAX_SETUP_STATEMENTS
        for index in checks_at:
            setups[index] = self.setup_for(index, always, binding)
            left -= len(setups[index])
            if left < 0:
                return {}
        return setups

    def earlier(self, dropped: set[int]) -> tuple[list[int], dict[str, list[int]]]:
        """Positions of statements that every later check needs, and of others by bound name."""
        always: list[int] = []
        binding: dict[str, list[int]] = {}
        for position, node in enumerate(self.body):
            if position in dropped or _is_print(node):
                continue
            binds = self.names[position].binds
            if is_future_import(node) or not _only_binds_names(node) or "*" in binds:
                always.append(position)
            for name in binds:
                binding.setdefault(name, []).append(position)
        return always, binding

    def setup_for(self, index: int, always: list[int], binding: dict[str, list[int]]) -> list[int]:
        """Positions of the setup statements of the check at `index`, in order."""
        setup = {*_before(index, always)}
        waiting = sorted(-position for position in (*setup, index))  # a heap: the last one first
        needed: set[str] = set()
        while waiting:
            position = -heappop(waiting)
            for name in self.names[position].reads - needed:
                needed.add(name)
                for more in {*_before(position, binding.get(name, []))} - setup:
                    setup.add(more)
                    heappush(waiting, -more)
        return sorted(setup)

    def simple(self, node: ast.stmt, name: str) -> TestCase | None:
        """The check as a call with a literal result or an exception, if it is one."""
        if isinstance(node, ast.With):
            return self.simple_raises(node, name)
        if isinstance(node, ast.Assert) and node.msg is not None:
            return None
        match asserted(node):
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                call, expected = (left, right) if isinstance(left, ast.Call) else (right, left)
                if self.is_example(call) and is_literal(expected):
                    return Example(
                        name=name, origin="user",
                        call=source_of(self.code, call), expected=source_of(self.code, expected),
                    )
        return None

    def simple_raises(self, node: ast.With, name: str) -> TestCase | None:
        match node:
            case ast.With(items=[ast.withitem(
                ast.Call(args=[kind], keywords=[]) as raises, None
            )], body=[ast.Expr(value=call)]):
                exception = dotted(kind)
                known = self.is_free(exception) and exception in BUILTIN_NAMES | self.program_names
                named = called_name(raises) in ("pytest.raises", "raises")
                if known and named and self.is_example(call):
                    return Raises(
                        name=name, origin="user", exception=exception,
                        call=source_of(self.code, call),
                    )
        return None

    def is_example(self, node: ast.expr) -> bool:
        """Whether the call needs only the program, and nothing of the snippet."""
        return is_plain_call(node) and self.is_free(called_name(node))

    def is_free(self, name: str) -> bool:
        """Whether the name refers to the program or a builtin, and not to the snippet."""
        if name in self.definitions or name in self.mutable or name in self.renamed:
            return False
        return name in self.program_names or not self.imports & {name, "*"}

    def without_assertion(self, node: ast.stmt) -> str:
        """The check as plain statements, whose calls run without an assertion."""
        found = asserted(node)
        if found is not None:
            sides = [found]
            if isinstance(found, ast.Compare):
                sides = [s for s in [found.left, *found.comparators] if not is_literal(s)]
            return "\n".join(
                f"({source_of(self.code, side)})" if isinstance(side, ast.NamedExpr)
                else source_of(self.code, side) for side in sides
            )
        whole = deepcopy(parsed(statement_source(self.code, node)))
        return ast.unparse(_WithoutAsserts().visit(whole))

    def source(self, node: ast.stmt) -> str:
        """The check's source; a bare comparison gets an `assert`."""
        if isinstance(node, ast.Expr) and is_bare_check(node):
            return f"assert {source_of(self.code, node.value)}"
        return statement_source(self.code, node)

    def whole(self) -> str:
        return "\n".join(map(self.source, self.body))

    def script(self, name: str, code: str) -> Script:
        return Script(name=name, origin="user", code=code,
                      uses_output=reads_output(code, self.program_names))


def _before(position: int, positions: list[int]) -> list[int]:
    return positions[: bisect_left(positions, position)]


def _unguarded(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements, with each main guard replaced by its body, since a test is always run."""
    return [
        inner
        for node in body
        for inner in (node.body if isinstance(node, ast.If) and is_main_guard(node) else [node])
    ]


def asserted(node: ast.stmt) -> ast.expr | None:
    """The expression of an assert or a bare comparison."""
    if isinstance(node, ast.Assert):
        return node.test
    if isinstance(node, ast.Expr) and is_bare_check(node):
        return node.value
    return None


def is_bare_check(node: ast.stmt) -> bool:
    """Whether the statement is a comparison, which has no use except as an assertion."""
    match node:
        case ast.Expr(value=ast.Compare() | ast.UnaryOp(op=ast.Not())):
            return True
        case ast.Expr(value=ast.BoolOp(values=values)):
            return any(isinstance(side, ast.Compare) for side in values)
    return False


def reads_output(code: str, program_names: frozenset[str] = frozenset()) -> bool:
    """Whether the code reads `output` as the program's standard output.

    A name `output` that the test or the program defines is not meant.
    """
    names = name_usage(*parsed(code).body)
    return "output" in names.reads and "output" not in names.binds | program_names


def _results_change(body: Sequence[ast.stmt]) -> bool:
    """Whether two checks expect different results from the same call."""
    results: dict[str, str] = {}
    for node in body:
        found = asserted(node)
        if isinstance(found, ast.Compare) and isinstance(found.left, ast.Call):
            expected = ast.dump(found.comparators[0])
            if results.setdefault(ast.dump(found.left), expected) != expected:
                return True
    return False


def _mutable_names(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Names that the snippet binds to something a call could change."""
    found: set[str] = set()
    for node in toplevel(body):
        if isinstance(node, Definition) or is_import(node):
            continue
        constant = isinstance(node, ast.Assign) and all(
            isinstance(inner, (ast.Constant, ast.UnaryOp, ast.USub, ast.Tuple, ast.Load))
            for inner in ast.walk(node.value)
        )
        if not constant:
            found |= name_usage(node).binds
    return frozenset(found)


def _only_binds_names(node: ast.stmt) -> bool:
    """Whether running the statement only binds names."""
    if isinstance(node, Definition) or is_import(node) or isinstance(node, ast.Pass):
        return True
    if not isinstance(node, ast.Assign | ast.AnnAssign):
        return False
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return all(isinstance(target, ast.Name) for target in targets) and not any(
        isinstance(inner, (ast.Call, ast.Await, ast.NamedExpr)) for inner in walk_scope(node)
    )


def _is_print(node: ast.stmt) -> bool:
    """Whether the statement is a `print` without other calls."""
    return isinstance(node, ast.Expr) and called_name(node.value) == "print" and not any(
        isinstance(inner, ast.Call) for inner in walk_scope(node.value) if inner is not node.value
    )


class _WithoutAsserts(ast.NodeTransformer):
    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        return ast.copy_location(ast.Expr(node.test), node)
