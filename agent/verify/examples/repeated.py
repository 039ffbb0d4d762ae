"""Repeats the plain calls of tests in a process without tests, and compares the answers.

A test of a file, or a longer snippet, runs in one process with the program. Where it checks calls
with literal arguments against literals, the host repeats these calls in a process of the program
alone. A test whose checks are all confirmed in this way passes `isolated`; another answer shows
that the program behaves differently under test.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache

from agent.core.domain import Script
from agent.core.trees import literal, parse
from agent.target.discovery.effects import keeps_state
from agent.verify.examples.examples import ExampleCall, answers, lacks_permission, plain_call
from agent.verify.examples.library import CallsToValues, imported
from agent.verify.examples.plain_values import LIBRARY
from agent.verify.groups import Group
from agent.verify.subject import MAX_TIMED_OUT_TESTS

MAX_CALLS = 300
MAX_ROWS = 200
"""Rows of a parametrized test, or iterations of a loop, that are unrolled."""
_UNITTEST = {"assertEqual": "==", "assertEquals": "==", "assertIs": "is"}
_UNARY = {"assertTrue": "true", "assertFalse": "false", "assertIsNone": "is"}
_RAISES = ("pytest.raises", "raises", "self.assertRaises")


@dataclass(frozen=True)
class PlainCalls:
    calls: tuple[ExampleCall, ...]
    is_complete: bool
    """Whether the test checks nothing else."""


def checks_only_plain_calls(group: Group) -> bool:
    """Whether all checks of the tests are plain calls, judging by their text."""
    if group.code is None:
        found = [_plain_calls(group, str(number)) for number in range(len(group.tests))]
    else:
        nodes = [test.node for test in group.tests if isinstance(test, Script)]
        found = [_plain_calls(group, node) for node in nodes]
    return all(one is not None and one.is_complete for one in found)


async def repeat_calls(
    group: Group, keys: Sequence[str], failing: Iterable[str] = ()
) -> tuple[frozenset[str], dict[str, str]]:
    """Repeats the plain calls of passing tests in a process without tests.

    Args:
        keys: Tests that pass.
        failing: Tests that fail. The calls of a parametrized test are those of all its rows, so a
            failing row explains another answer.

    Returns:
        Tests all of whose checks held, and tests with a plain call that gave another answer,
        twice, with the failure message of that call.
    """
    failing_functions = {key.partition("[")[0] for key in failing}
    found = {key: one for key in keys if (one := _plain_calls(group, key)) is not None}
    calls: list[ExampleCall] = []
    slices: dict[str, slice] = {}
    for key, one in found.items():
        if one.calls and len(calls) + len(one.calls) <= MAX_CALLS:
            slices[key] = slice(len(calls), len(calls) + len(one.calls))
            calls += one.calls
    rows = await _answers(group, calls)
    isolated = {
        key for key in keys
        if group.reads_output(key) and _output_checks_hold(group.output, group.tests[int(key)].code)
    }
    against: dict[str, str] = {}
    for key, part in slices.items():
        answers = rows[part]
        if any(map(_contradicts, answers)):
            if key.partition("[")[0] in failing_functions or not _is_order_irrelevant(group, key):
                continue
            again = await _answers(group, found[key].calls)
            first = next(filter(_contradicts, again), None)
            if first is not None:
                against[key] = re.sub(r"__import__\('\w+'\)\.", "", str(first["message"]))
        elif found[key].is_complete and all(row and row["status"] == "passed" for row in answers):
            isolated.add(key)
    return frozenset(isolated), against


def _output_checks_hold(output: str, code: str) -> bool:
    """Whether a snippet only compares or searches the program's output, and holds."""
    for node in parse(code).body:
        match node:
            case ast.Assert(test=ast.Compare(left=left, ops=[operator], comparators=[right])):
                if not isinstance(operator, ast.Eq):
                    left, right = right, left
                text = literal(right)
                if ast.unparse(left) not in ("output", "output.strip()") or text is None:
                    return False
                printed = output if isinstance(left, ast.Name) else output.strip()
                match operator, text[0]:
                    case ast.Eq(), wanted if printed == wanted:
                        continue
                    case ast.In(), str(wanted) if wanted in printed:
                        continue
                    case ast.NotIn(), str(wanted) if wanted not in printed:
                        continue
        return False
    return True


async def _answers(group: Group, calls: Sequence[ExampleCall]) -> list[Mapping[str, object] | None]:
    """A row for each call, `None` after several time-outs; restarts a process that ended."""
    rows: list[Mapping[str, object] | None] = []
    late = 0
    while len(rows) < len(calls) and late < MAX_TIMED_OUT_TESTS:
        rows += await answers(group.subject, calls[len(rows) :])
        last = rows[-1]
        late += last is not None and last["status"] == "timeout"
    return rows + [None] * (len(calls) - len(rows))


def _contradicts(row: Mapping[str, object] | None) -> bool:
    """Whether a call gave another answer than its test expects."""
    return (
        row is not None and row["status"] in ("failed", "error") and bool(row.get("got"))
        and not lacks_permission(row)
    )


def _is_order_irrelevant(group: Group, key: str) -> bool:
    """Whether nothing that ran before a call can affect its answer."""
    return (
        group.only_calls_program(key) and not group.subject.has_conftest and not any(
            keeps_state(file.text) for file in group.subject.solution.files
            if file.path.endswith(".py")
        )
    )


def _plain_calls(group: Group, key: str) -> PlainCalls | None:
    """The plain calls of a test; `None` where it is not a simple function of its file."""
    code = group.tests[int(key)].code if group.code is None else group.code
    subject = group.subject
    modules = frozenset({subject.name, "solution"})
    texts = [subject.solution.text, code] if group.code is None else [code]
    if subject.all_modules & {*LIBRARY.values()}:
        texts = []  # the program's module hides the library's
    return _read_plain_calls(code, "" if group.code is None else key, modules, tuple(texts))


@lru_cache(maxsize=1024)
def _read_plain_calls(
    code: str, node: str, modules: frozenset[str], texts: tuple[str, ...] = ()
) -> PlainCalls | None:
    file = _read_file(code, modules, texts)
    if file is None:
        return None
    tree, to_values, has_no_side_effects = file
    names = _FileNames(modules, to_values)
    if not node:
        return _PlainReader(names, resolves_in_program=True).read(tree.body, ({},))
    if not has_no_side_effects:
        return None
    for one in tree.body:
        names.bind(one)
    body: Sequence[ast.stmt] = tree.body
    for part in node.partition("[")[0].split("::"):
        # The last definition of a name counts.
        found = next((one for one in reversed(body) if getattr(one, "name", "") == part), None)
        if not isinstance(found, ast.FunctionDef | ast.ClassDef):
            return None
        if isinstance(found, ast.ClassDef) and not all(
            isinstance(one, ast.FunctionDef) or _has_no_side_effects(one) for one in found.body
        ):
            return None
        body = found.body
    rows = _rows(found, node.partition("[")[2]) if isinstance(found, ast.FunctionDef) else None
    return None if rows is None else _PlainReader(names).read(body, rows)


@lru_cache(maxsize=16)
def _read_file(
    code: str, modules: frozenset[str], texts: tuple[str, ...]
) -> tuple[ast.Module, CallsToValues, bool] | None:
    """A file's tree with library calls replaced by values, the transformer that replaced them, and
    whether importing the file has no side effects; `None` if it does not parse."""
    try:
        to_values = CallsToValues(imported(*texts))
        tree: ast.Module = to_values.visit(parse(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree, to_values, all(_has_no_side_effects(statement) for statement in tree.body)


def _has_no_side_effects(node: ast.stmt) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return literal(value) is not None or name == "pytestmark"
        case ast.Expr(value=value):
            return literal(value) is not None
        case ast.If():
            return "__main__" in ast.unparse(node.test)
    return isinstance(
        node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef
    )


class _FileNames:
    def __init__(self, modules: frozenset[str], to_values: CallsToValues) -> None:
        self.modules, self.to_values = modules, to_values
        self.own: dict[str, str] = {}
        """Imported names, with their names in the program."""
        self.module_aliases: set[str] = set()
        """Names of the program's modules, dotted ones too."""
        self.literals: dict[str, ast.expr] = {}
        self.foreign: set[str] = set()
        self.has_star_import = False

    def bind(self, node: ast.stmt) -> None:
        match node:
            case ast.ImportFrom(module=module, names=aliases, level=0):
                for one in aliases:
                    if module in self.modules and one.name == "*":
                        self.has_star_import = True
                    elif module in self.modules:
                        self.own[one.asname or one.name] = one.name
                    elif f"{module}.{one.name}" in self.modules:
                        self.module_aliases.add(one.asname or one.name)
                    else:
                        self.foreign.add(one.asname or one.name)
            case ast.Import(names=aliases):
                for one in aliases:
                    if one.name in self.modules:
                        self.module_aliases.add(one.asname or one.name)
                    else:
                        self.foreign.add(one.asname or one.name.partition(".")[0])
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if literal(value):
                self.literals[name] = value
            case ast.Assign(targets=targets):
                self.foreign |= {
                    one.id for target in targets for one in ast.walk(target)
                    if isinstance(one, ast.Name)
                }
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                self.foreign.add(name)


class _PlainReader:
    """Collects the checks of a test up to the first statement that is not plain."""

    def __init__(self, names: _FileNames, resolves_in_program: bool = False) -> None:
        self._names = names
        self._sees_program = resolves_in_program
        self._calls: list[ExampleCall] = []
        self._is_whole = True
        self._values: dict[str, ast.expr] = {}
        self._maybe_changed: set[str] = set()
        """Names of objects that were passed to a call, which may have changed them."""

    def read(self, body: Sequence[ast.stmt], rows: Sequence[Mapping[str, ast.expr]]) -> PlainCalls:
        for row in rows:
            self._values, self._maybe_changed = {**self._names.literals, **row}, set()
            for node in body:
                if self._statement(node):
                    continue
                self._is_whole = False
                if not isinstance(node, ast.Assert) or self._mutable_in(node):
                    break
        return PlainCalls(tuple(self._calls), self._is_whole and bool(self._calls))

    def _statement(self, node: ast.stmt) -> bool:
        """Collects the checks of a statement; returns whether the statement is plain."""
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return True
            case ast.Import() | ast.ImportFrom():
                self._names.bind(node)
                return True
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                filled = self._with_values(value)
                self._values[name] = filled
                self._maybe_changed.discard(name)
                return literal(filled) is not None or self._is_call(filled)
            case ast.Assert(test=test):
                return self._check(test)
            case ast.Expr(value=ast.Call(func=ast.Attribute(
                value=ast.Name(id="self"), attr=name
            ), args=args)) if name in _UNITTEST or name in _UNARY:
                return self._unittest_check(name, args)
            case ast.With(items=[ast.withitem(ast.Call(args=[kind], keywords=[]) as context, None)],
                          body=[ast.Expr(value=ast.Call() as call)]):
                return ast.unparse(context.func) in _RAISES and self._raising(kind, call)
            case ast.For(target=target, iter=items, body=body, orelse=[]):
                rows = _elements(self._with_values(items))
                return bool(rows) and all(self._loop_body(target, row, body) for row in rows or ())
        return False

    def _loop_body(self, target: ast.expr, row: ast.expr, body: Sequence[ast.stmt]) -> bool:
        bound = dict(_bound(target, row))
        if not bound:
            return False
        self._values |= bound
        self._maybe_changed -= bound.keys()
        return all(self._statement(node) for node in body)

    def _check(self, test: ast.expr) -> bool:
        match test:
            case ast.BoolOp(op=ast.And(), values=values):
                return all(self._check(value) for value in values)
            case ast.UnaryOp(op=ast.Not(), operand=call):
                return self._add(call, ast.Constant(None), "false")
            case ast.Compare(left=left, ops=[ast.Eq() | ast.Is() as operator], comparators=[right]):
                if isinstance(operator, ast.Is) and not isinstance(right, ast.Constant):
                    return False
                how = "==" if isinstance(operator, ast.Eq) else "is"
                return self._add(left, right, how) or self._add(right, left, how)
        return self._add(test, ast.Constant(None), "true")

    def _unittest_check(self, name: str, args: Sequence[ast.expr]) -> bool:
        match args:
            case [left, right] if name in _UNITTEST:
                how = _UNITTEST[name]
                return self._add(left, right, how) or self._add(right, left, how)
            case [value] if name in _UNARY:
                return self._add(value, ast.Constant(None), _UNARY[name])
        return False

    def _raising(self, kind: ast.expr, call: ast.expr) -> bool:
        name = kind.id if isinstance(kind, ast.Name) else ""
        if name in self._names.own or name in self._names.foreign or not hasattr(builtins, name):
            return False
        return self._add(call, ast.Constant(None), "==", name)

    def _add(self, call: ast.expr, expected: ast.expr, how: str, exception: str = "") -> bool:
        """Collects a plain call and its expected answer; returns whether it is plain."""
        if self._mutable_in(call) & self._maybe_changed:
            return False
        for one in ast.walk(call):
            if isinstance(one, ast.Call):
                self._maybe_changed |= self._mutable_in(one)
        named = self._with_program_names(self._with_values(call))
        found = plain_call(named, self._with_values(expected), exception, how)
        if found is not None:
            self._calls.append(found)
        return found is not None

    def _mutable_in(self, node: ast.AST) -> set[str]:
        return {
            one.id for one in ast.walk(node) if isinstance(one, ast.Name)
            and isinstance(
                self._values.get(one.id, one),
                ast.List | ast.Dict | ast.Set | ast.Call | ast.Attribute | ast.Subscript,
            )
        }

    def _is_call(self, node: ast.expr) -> bool:
        return plain_call(self._with_program_names(node), ast.Constant(None)) is not None

    def _with_values(self, node: ast.expr) -> ast.expr:
        """An expression whose names and library calls are replaced by their values."""
        values = self._values

        class Filling(ast.NodeTransformer):
            def visit_Name(self, name: ast.Name) -> ast.expr:
                return deepcopy(values.get(name.id, name))

        filled: ast.expr = self._names.to_values.visit(Filling().visit(deepcopy(node)))
        return filled

    def _with_program_names(self, node: ast.expr) -> ast.expr | None:
        """A call with the program's own names; `None` where it has other names."""
        names, resolves_in_program = self._names, self._sees_program or self._names.has_star_import
        is_plain = True

        class Naming(ast.NodeTransformer):
            def visit_Attribute(self, one: ast.Attribute) -> ast.expr:
                if ast.unparse(one.value) in names.module_aliases:
                    return ast.Name(one.attr, ast.Load())
                self.generic_visit(one)
                return one

            def visit_Name(self, one: ast.Name) -> ast.expr:
                nonlocal is_plain
                if one.id in names.own:
                    return ast.Name(names.own[one.id], ast.Load())
                is_plain = is_plain and resolves_in_program and one.id not in names.foreign
                return one

        named: ast.expr = Naming().visit(deepcopy(node))
        return named if is_plain else None


def _rows(function: ast.FunctionDef, case: str) -> Sequence[Mapping[str, ast.expr]] | None:
    """The arguments of a test function in the run with this pytest id, or in all runs if no id
    matches; `None` if they are not literals."""
    rows: list[dict[str, ast.expr]] = [{}]
    ids = [""]
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(args=[argnames, table]) if (
                ast.unparse(decorator.func) == "pytest.mark.parametrize"
                and (named := literal(argnames)) is not None
            ):
                match named[0]:
                    case str(text):
                        names = text.split(",")
                    case list(listed) | tuple(listed):
                        names = [*map(str, listed)]
                    case _:
                        return None
                targets = [ast.Name(name.strip(), ast.Store()) for name in names]
                target: ast.expr = (
                    targets[0] if len(targets) == 1 else ast.Tuple([*targets], ast.Store())
                )
                bound = [dict(_bound(target, one)) for one in _elements(table) or ()]
                if not bound or not all(bound) or len(bound) * len(rows) > MAX_ROWS:
                    return None
                rows = [{**row, **more} for more in bound for row in rows]
                ids = [
                    "" if decorator.keywords else f"{_case_id(more)}-{one}"
                    for more in bound for one in ids
                ]
            case _:
                return None
    arguments = {argument.arg for argument in function.args.args if argument.arg != "self"}
    if arguments != rows[0].keys():
        return None
    of_case = [row for row, one in zip(rows, ids, strict=True) if one == f"{case[:-1]}-"]
    return of_case if len(of_case) == 1 else rows


def _case_id(row: Mapping[str, ast.expr]) -> str:
    """The id that pytest gives a row of numbers and strings; empty where it depends on more."""
    values = [value[0] for one in row.values() if (value := literal(one)) is not None]
    if not all(isinstance(one, str | int | float | None) for one in values):
        return ""
    return "-".join(
        one.encode("unicode_escape").decode("ascii") if isinstance(one, str) else str(one)
        for one in values
    )


def _elements(node: ast.expr) -> Sequence[ast.expr] | None:
    """The elements of a list or tuple of literals; `None` for other nodes, or too many."""
    if isinstance(node, ast.List | ast.Tuple) and literal(node) is not None:
        return node.elts if len(node.elts) <= MAX_ROWS else None
    return None


def _bound(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The names of a target with their values; none where these are unknown."""
    match target, value:
        case ast.Name(id=name), _ if literal(value) is not None:
            yield name, value
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) | ast.List(elts=values) if (
            len(targets) == len(values) and all(isinstance(one, ast.Name) for one in targets)
        ):
            for one, part in zip(targets, values, strict=True):
                yield from _bound(one, part)
