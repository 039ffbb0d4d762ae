"""The plain calls of tests, made once more in a process that holds the program and no test.

A test of a file, or a longer snippet, runs in one process with the program. Where it checks calls
with literal arguments against literals, the host asks these calls of the program alone and compares
the answers itself. All checks of a test compared in this way make its pass `isolated`; an answer
that differs says that the program behaves otherwise while it is tested.
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
from agent.verify.examples.examples import (
    ExampleCall,
    answers,
    asked_call,
    lacks_permission,
)
from agent.verify.examples.library import Making, imported
from agent.verify.examples.plain_values import LIBRARY
from agent.verify.groups import Group
from agent.verify.subject import LATE_TESTS

MAX_CALLS = 300
"""Calls of one group of tests that are repeated."""
MAX_ROWS = 200
"""Rows of a parametrized test, or turns of a loop, that are taken apart."""
_UNITTEST = {"assertEqual": "==", "assertEquals": "==", "assertIs": "is"}
_OF_ONE = {"assertTrue": "true", "assertFalse": "false", "assertIsNone": "none"}
_RAISES = ("pytest.raises", "raises", "self.assertRaises")


@dataclass(frozen=True)
class Repeat:
    """The plain calls of one test."""

    calls: tuple[ExampleCall, ...]
    is_whole: bool
    """Whether the test checks nothing else."""


def asks_only_calls(group: Group) -> bool:
    """Whether all that the tests check are plain calls, as far as their texts show."""
    if group.code is None:
        found = [_repeat(group, str(number)) for number in range(len(group.tests))]
    else:
        nodes = [one.node for one in group.tests if isinstance(one, Script)]
        found = [_repeat(group, node) for node in nodes]
    return all(one is not None and one.is_whole for one in found)


async def repeated(
    group: Group, keys: Sequence[str], failing: Iterable[str] = ()
) -> tuple[frozenset[str], dict[str, str]]:
    """Which passes rest on checks that hold outside of their process, and which do not hold there.

    Args:
        keys: Tests that pass.
        failing: Those that do not. The calls of a parametrized test are those of all its rows, so
            one row that fails explains an answer.

    Returns:
        Tests all of whose checks held, and those of which a plain call was answered otherwise,
        twice, with that call's failure in words.
    """
    explained = {key.partition("[")[0] for key in failing}
    found = {key: one for key in keys if (one := _repeat(group, key)) is not None}
    asks: list[ExampleCall] = []
    places: dict[str, range] = {}
    for key, one in found.items():
        if one.calls and len(asks) + len(one.calls) <= MAX_CALLS:
            places[key] = range(len(asks), len(asks) + len(one.calls))
            asks += one.calls
    rows = await _asked(group, asks)
    isolated = {
        key for key in keys
        if group.reads_output(key) and _holds_of(group.output, group.tests[int(key)].code)
    }
    against: dict[str, str] = {}
    for key, place in places.items():
        mine = [rows[number] for number in place]
        if any(map(_contradicts, mine)):
            if key.partition("[")[0] in explained or not _order_is_free(group, key):
                continue
            again = await _asked(group, found[key].calls)
            first = next(filter(_contradicts, again), None)
            if first is not None:
                against[key] = re.sub(r"__import__\('\w+'\)\.", "", str(first["message"]))
        elif found[key].is_whole and all(row and row["status"] == "passed" for row in mine):
            isolated.add(key)
    return frozenset(isolated), against


def _holds_of(output: str, code: str) -> bool:
    """Whether a snippet checks only that the program's output is, has or lacks texts, and holds."""
    for node in parse(code).body:
        match node:
            case ast.Assert(test=ast.Compare(left=left, ops=[sign], comparators=[right])):
                if not isinstance(sign, ast.Eq):
                    left, right = right, left
                text = literal(right)
                if ast.unparse(left) not in ("output", "output.strip()") or text is None:
                    return False
                printed = output if isinstance(left, ast.Name) else output.strip()
                match sign, text[0]:
                    case ast.Eq(), wanted if printed == wanted:
                        continue
                    case ast.In(), str(wanted) if wanted in printed:
                        continue
                    case ast.NotIn(), str(wanted) if wanted not in printed:
                        continue
        return False
    return True


async def _asked(group: Group, asks: Sequence[ExampleCall]) -> list[Mapping[str, object] | None]:
    """A row for each call, `None` after several that come to no end; another process after a call
    that ends its own."""
    rows: list[Mapping[str, object] | None] = []
    late = 0
    while len(rows) < len(asks) and late < LATE_TESTS:
        rows += await answers(group.subject, asks[len(rows) :])
        last = rows[-1]
        late += last is not None and last["status"] == "timeout"
    return rows + [None] * (len(asks) - len(rows))


def _contradicts(row: Mapping[str, object] | None) -> bool:
    """Whether the program answered a call, and otherwise than its test says."""
    return (
        row is not None and row["status"] in ("failed", "error") and bool(row.get("got"))
        and not lacks_permission(row)
    )


def _order_is_free(group: Group, key: str) -> bool:
    """Whether nothing that ran before a call can matter to its answer."""
    return (
        group.keeps_to_calls(key) and not group.subject.has_conftest
        and not any(
            keeps_state(one.text) for one in group.subject.solution.files
            if one.path.endswith(".py")
        )
    )


def _repeat(group: Group, key: str) -> Repeat | None:
    """The plain calls of a test; `None` where it is no plain function of its file."""
    code = group.tests[int(key)].code if group.code is None else group.code
    subject = group.subject
    modules = frozenset({subject.name, "solution"})
    texts = [subject.solution.text, code] if group.code is None else [code]
    if subject.all_modules & {*LIBRARY.values()}:
        texts = []  # the program's module hides the library's
    return _repeat_of(code, "" if group.code is None else key, modules, tuple(texts))


@lru_cache(maxsize=1024)
def _repeat_of(
    code: str, node: str, modules: frozenset[str], texts: tuple[str, ...] = ()
) -> Repeat | None:
    try:
        making = Making(imported(*texts))
        tree: ast.Module = making.visit(parse(code))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    names = _FileNames(modules, making)
    if not node:
        return _PlainReader(names, beside=True).read(tree.body, ({},))
    if not all(_is_quiet(one) for one in tree.body):
        return None
    for one in tree.body:
        names.take(one)
    body: Sequence[ast.stmt] = tree.body
    for part in node.partition("[")[0].split("::"):
        # The last of a name is the one that counts.
        found = next((one for one in reversed(body) if getattr(one, "name", "") == part), None)
        if not isinstance(found, ast.FunctionDef | ast.ClassDef):
            return None
        if isinstance(found, ast.ClassDef) and not all(
            isinstance(one, ast.FunctionDef) or _is_quiet(one) for one in found.body
        ):
            return None
        body = found.body
    rows = _rows(found) if isinstance(found, ast.FunctionDef) else None
    return None if rows is None else _PlainReader(names).read(body, rows)


def _is_quiet(node: ast.stmt) -> bool:
    """Whether a statement of a module does nothing but name things."""
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
    """What the names of a test's file stand for."""

    def __init__(self, modules: frozenset[str], making: Making) -> None:
        self.modules, self.making = modules, making
        self.own: dict[str, str] = {}
        """Names to those of the program."""
        self.of_modules: set[str] = set()
        """Names of the program as a module, dotted ones too."""
        self.literals: dict[str, ast.expr] = {}
        self.foreign: set[str] = set()
        self.takes_all = False

    def take(self, node: ast.stmt) -> None:
        """A statement that names things."""
        match node:
            case ast.ImportFrom(module=module, names=aliases, level=0):
                for one in aliases:
                    if module in self.modules and one.name == "*":
                        self.takes_all = True
                    elif module in self.modules:
                        self.own[one.asname or one.name] = one.name
                    elif f"{module}.{one.name}" in self.modules:
                        self.of_modules.add(one.asname or one.name)
                    else:
                        self.foreign.add(one.asname or one.name)
            case ast.Import(names=aliases):
                for one in aliases:
                    if one.name in self.modules:
                        self.of_modules.add(one.asname or one.name)
                    else:
                        self.foreign.add(one.asname or one.name.partition(".")[0])
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if literal(value):
                self.literals[name] = value
            case ast.Assign(targets=targets):
                self.foreign |= {
                    one.id for aim in targets for one in ast.walk(aim) if isinstance(one, ast.Name)
                }
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                self.foreign.add(name)


class _PlainReader:
    """Goes through the statements of a test as long as they are plain."""

    def __init__(self, names: _FileNames, beside: bool = False) -> None:
        self._names = names
        self._beside = beside
        """The test sees every name of the program."""
        self._calls: list[ExampleCall] = []
        self._is_whole = True
        self._given: dict[str, ast.expr] = {}
        self._lent: set[str] = set()
        """Names of what a call was given, or made on, that may have changed it."""

    def read(
        self, body: Sequence[ast.stmt], rows: Sequence[Mapping[str, ast.expr]]
    ) -> Repeat:
        for row in rows:
            self._given, self._lent = {**self._names.literals, **row}, set()
            for node in body:
                if self._statement(node):
                    continue
                self._is_whole = False
                if not isinstance(node, ast.Assert) or self._changeable_in(node):
                    break
        return Repeat(tuple(self._calls), self._is_whole and bool(self._calls))

    def _statement(self, node: ast.stmt) -> bool:
        """Notes the checks of a statement; whether the next ones may be looked at."""
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return True
            case ast.Import() | ast.ImportFrom():
                self._names.take(node)
                return True
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                given = self._filled(value)
                self._given[name] = given
                self._lent.discard(name)
                return literal(given) is not None or self._is_call(given)
            case ast.Assert(test=test):
                return self._check(test)
            case ast.Expr(value=ast.Call(func=ast.Attribute(
                value=ast.Name(id="self"), attr=name
            ), args=args)) if name in _UNITTEST or name in _OF_ONE:
                return self._of_unittest(name, args)
            case ast.With(items=[ast.withitem(ast.Call(args=[kind], keywords=[]) as context, None)],
                          body=[ast.Expr(value=ast.Call() as call)]):
                return ast.unparse(context.func) in _RAISES and self._raising(kind, call)
            case ast.For(target=aim, iter=items, body=body, orelse=[]):
                rows = _elements(self._filled(items))
                return bool(rows) and all(self._turn(aim, row, body) for row in rows or ())
        return False

    def _turn(self, aim: ast.expr, row: ast.expr, body: Sequence[ast.stmt]) -> bool:
        bound = dict(_bound(aim, row))
        if not bound:
            return False
        self._given |= bound
        self._lent -= bound.keys()
        return all(self._statement(node) for node in body)

    def _check(self, test: ast.expr) -> bool:
        match test:
            case ast.BoolOp(op=ast.And(), values=values):
                return all(self._check(one) for one in values)
            case ast.UnaryOp(op=ast.Not(), operand=call):
                return self._note(call, ast.Constant(None), "false")
            case ast.Compare(left=left, ops=[ast.Eq() | ast.Is() as sign], comparators=[right]):
                if isinstance(sign, ast.Is) and not isinstance(right, ast.Constant):
                    return False
                how = "==" if isinstance(sign, ast.Eq) else "is"
                return self._note(left, right, how) or self._note(right, left, how)
        return self._note(test, ast.Constant(None), "true")

    def _of_unittest(self, name: str, args: Sequence[ast.expr]) -> bool:
        match args:
            case [left, right] if name in _UNITTEST:
                how = _UNITTEST[name]
                return self._note(left, right, how) or self._note(right, left, how)
            case [value] if _OF_ONE[name] == "none":
                return self._note(value, ast.Constant(None), "is")
            case [value] if name in _OF_ONE:
                return self._note(value, ast.Constant(None), _OF_ONE[name])
        return False

    def _raising(self, kind: ast.expr, call: ast.expr) -> bool:
        name = kind.id if isinstance(kind, ast.Name) else ""
        if name in self._names.own or name in self._names.foreign or not hasattr(builtins, name):
            return False
        return self._note(call, ast.Constant(None), "==", name)

    def _note(self, call: ast.expr, expected: ast.expr, how: str, exception: str = "") -> bool:
        """Notes a plain call with what is expected of it; whether it is one."""
        if self._changeable_in(call) & self._lent:
            return False
        for one in ast.walk(call):
            if isinstance(one, ast.Call):
                self._lent |= self._changeable_in(one)
        asked = self._named(self._filled(call))
        found = asked_call(asked, self._filled(expected), exception, how)
        if found is not None:
            self._calls.append(found)
        return found is not None

    def _changeable_in(self, node: ast.AST) -> set[str]:
        """Names in it of lists and their like, and of what a call gave."""
        return {
            one.id for one in ast.walk(node) if isinstance(one, ast.Name)
            and isinstance(
                self._given.get(one.id, one),
                ast.List | ast.Dict | ast.Set | ast.Call | ast.Attribute | ast.Subscript,
            )
        }

    def _is_call(self, node: ast.expr) -> bool:
        return asked_call(self._named(node), ast.Constant(None)) is not None

    def _filled(self, node: ast.expr) -> ast.expr:
        """An expression with literals in the place of the names that hold them, or make them."""
        given = self._given

        class Filling(ast.NodeTransformer):
            def visit_Name(self, name: ast.Name) -> ast.expr:
                return deepcopy(given.get(name.id, name))

        filled: ast.expr = self._names.making.visit(Filling().visit(deepcopy(node)))
        return filled

    def _named(self, node: ast.expr) -> ast.expr | None:
        """A call by the program's own names; `None` where it has others."""
        names, beside = self._names, self._beside or self._names.takes_all
        is_plain = True

        class Naming(ast.NodeTransformer):
            def visit_Attribute(self, one: ast.Attribute) -> ast.expr:
                if ast.unparse(one.value) in names.of_modules:
                    return ast.Name(one.attr, ast.Load())
                self.generic_visit(one)
                return one

            def visit_Name(self, one: ast.Name) -> ast.expr:
                nonlocal is_plain
                if one.id in names.own:
                    return ast.Name(names.own[one.id], ast.Load())
                is_plain = is_plain and beside and one.id not in names.foreign
                return one

        named: ast.expr = Naming().visit(deepcopy(node))
        return named if is_plain else None


def _rows(function: ast.FunctionDef) -> Sequence[Mapping[str, ast.expr]] | None:
    """The arguments of each run of a test function; `None` where they are not literals."""
    rows: list[dict[str, ast.expr]] = [{}]
    for decorator in function.decorator_list:
        match decorator:
            case ast.Call(args=[given, table]) if (
                ast.unparse(decorator.func) == "pytest.mark.parametrize"
                and (named := literal(given)) is not None
            ):
                match named[0]:
                    case str(text):
                        names = text.split(",")
                    case list(listed) | tuple(listed):
                        names = [*map(str, listed)]
                    case _:
                        return None
                aims = [ast.Name(one.strip(), ast.Store()) for one in names]
                aim: ast.expr = aims[0] if len(aims) == 1 else ast.Tuple([*aims], ast.Store())
                turns = [dict(_bound(aim, one)) for one in _elements(table) or ()]
                if not turns or not all(turns) or len(turns) * len(rows) > MAX_ROWS:
                    return None
                rows = [{**row, **turn} for turn in turns for row in rows]
            case _:
                return None
    wanted = [one.arg for one in function.args.args if one.arg != "self"]
    return rows if {*wanted} == rows[0].keys() else None


def _elements(node: ast.expr) -> Sequence[ast.expr] | None:
    """The elements of a list or tuple of literals, few enough to be taken apart."""
    if isinstance(node, ast.List | ast.Tuple) and literal(node) is not None:
        return node.elts if len(node.elts) <= MAX_ROWS else None
    return None


def _bound(aim: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """The names of a target with what each of them is given; none if that is unknown."""
    match aim, value:
        case ast.Name(id=name), _ if literal(value) is not None:
            yield name, value
        case ast.Tuple(elts=aims), ast.Tuple(elts=values) | ast.List(elts=values) if (
            len(aims) == len(values) and all(isinstance(one, ast.Name) for one in aims)
        ):
            for one, part in zip(aims, values, strict=True):
                yield from _bound(one, part)
