"""Which calls of the program a test makes, in a form that does not depend on how it writes them.

`f(1, b=2)`, `f(1, 2)` and `x = 1; solution.f(x, 2)` are one call. Arguments are bound through the
signature the program has, loops over literals are taken apart, and an object is told by the calls
that made it what it is. Calls that this cannot see through are told by their text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from agent.domain import Solution, TestCase, address
from agent.intake.claims import passed_call
from agent.intake.effects import keeps_state
from agent.intake.parsing import BUILTIN_NAMES, names_in, parsed
from agent.intake.references import imported, literal, target
from agent.intake.signatures import Signatures, signatures
from agent.intake.turns import elements, loaded, row, rows_of, spread, tables
from agent.literals import spelt

MOST_STEPS = 3_000
"""Statements of one test's code that are looked at, those in loops once for each turn."""
MOST_DEPTH = 4
"""Functions of a test's own that call each other."""
LONGEST_HISTORY = 500
"""Characters."""


def calls_made(test: TestCase, program: Solution) -> frozenset[str]:
    """What a test asks the program: its calls, and the attributes of its objects; where there are
    none, the names it reads, among them `output`, what the program prints when it is run.

    A test of a file asks all that the file asks, since whoever sees the test sees the file.
    """
    code = test.call if test.kind == "example" else test.code
    try:
        return _calls_made(code, program.text, PurePosixPath(program.entry).stem)
    except (SyntaxError, RecursionError):
        return frozenset({code})


def asks_anew(test: TestCase, others: Iterable[TestCase], program: Solution) -> bool:
    """Whether a test asks something that none of the others asks."""
    known = frozenset[str]().union(*(calls_made(other, program) for other in others))
    return not calls_made(test, program) <= known


@lru_cache(maxsize=4096)
def _calls_made(code: str, program: str, stem: str) -> frozenset[str]:
    body = parsed(code).body
    reader = _Reader(body, signatures(program), stem, keeps_state(program))
    reader.statements(body)
    reads = names_in(*body).reads
    if reader.found:
        return frozenset(reader.found)
    return frozenset(f"the name {name}" for name in map(reader.program_name, reads) if name)


class _Reader:
    """Goes through a test's statements in order and notes the program's calls."""

    def __init__(
        self, body: Sequence[ast.stmt], known: Signatures, stem: str, stateful: bool
    ) -> None:
        self.known = known
        self.found: dict[str, None] = {}
        self.own, foreign = imported(body, stem, known.names)
        names = names_in(*body).binds | {
            one.arg for node in body for one in ast.walk(node) if isinstance(one, ast.arg)
        }
        self._others = foreign | names - self.own.keys()
        """Names that are not the program's, here."""
        self._stateful = stateful
        self._before = ""
        """The calls made earlier in the same test, where the program remembers them."""
        self._holds: dict[str, str] = {}
        """What a name of the test's own holds, in words."""
        self._helpers = {
            node.name: node for node in body
            if isinstance(node, ast.FunctionDef) and not node.decorator_list
            and not node.name.startswith("test")
        }
        """Functions of the test's own: they ask when they are called."""
        self._tables = tables(body)
        self._depth = 0
        self._steps = 0

    def statements(self, body: Sequence[ast.stmt]) -> None:
        for node in body:
            self._steps += 1
            if self._steps <= MOST_STEPS:
                self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef(name=name) if self._helpers.get(name) is node:
                pass
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for given in rows_of(node, self._tables):
                    held, before = dict(self._holds), self._before
                    self._forget(argument.arg for argument in node.args.args)
                    self._holds |= {name: self.text(value) for name, value in given.items()}
                    self.statements(node.body)
                    self._holds, self._before = held, before
            case ast.ClassDef(body=body):
                self.statements(body)
            case ast.For(target=aim, iter=items, body=body, orelse=orelse):
                rows = elements(items, self._tables)
                if rows is None:
                    self._describe(aim, items)
                    self.statements(body)
                for one in rows or ():
                    self._bind(aim, one)
                    self.statements(body)
                self.statements(orelse)
            case ast.Assign(targets=[aim], value=value):
                self._bind(aim, value)
            case ast.AnnAssign(target=aim, value=ast.expr() as value):
                self._bind(aim, value)
            case ast.AugAssign(target=aim, op=kind, value=value):
                self._describe(aim, ast.BinOp(loaded(aim), kind, value))
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                for item in items:
                    if item.optional_vars is None:
                        self.text(item.context_expr)
                    else:
                        self._describe(item.optional_vars, item.context_expr)
                self.statements(body)
            case _:
                for child in ast.iter_child_nodes(node):
                    self._child(child)

    def _child(self, node: ast.AST) -> None:
        """An expression or a block of a compound statement."""
        if isinstance(node, ast.expr):
            self.text(node)
        elif isinstance(node, ast.stmt):
            self.statement(node)
        else:
            for child in ast.iter_child_nodes(node):
                self._child(child)

    def _forget(self, names: Iterable[str]) -> None:
        for name in names:
            self._holds.pop(name, None)

    def _bind(self, aim: ast.expr, value: ast.expr) -> None:
        if isinstance(aim, ast.Name):
            self._holds[aim.id] = self.text(value)
            return
        match aim, self._opened(value):
            case ast.Tuple(elts=[ast.Starred(value=many), *aims]) | ast.List(
                elts=[ast.Starred(value=many), *aims]
            ), ast.Tuple(elts=parts) | ast.List(elts=parts) if len(aims) <= len(parts):
                first = len(parts) - len(aims)
                self._bind(many, ast.List(parts[:first], ast.Load()))
                for one, part in zip(aims, parts[first:], strict=True):
                    self._bind(one, part)
            case ast.Tuple(elts=aims) | ast.List(elts=aims), ast.Tuple(elts=parts) | ast.List(
                elts=parts
            ) if len(aims) == len(parts):
                for one, part in zip(aims, parts, strict=True):
                    self._bind(one, part)
            case _:
                self._describe(aim, value)

    def _opened(self, node: ast.expr) -> ast.expr:
        """A row of literals, or a part of one, that stands behind a name of the test's own."""
        match node:
            case ast.Name(id=name) if self._holds.get(name, "").startswith(("(", "[")):
                return row(self._holds[name]) or node
            case ast.Subscript(value=owner, slice=place):
                whole, index = self._opened(owner), literal(place)
                if isinstance(whole, ast.Tuple | ast.List) and index is not None and (
                    isinstance(index[0], int) and -len(whole.elts) <= index[0] < len(whole.elts)
                ):
                    return whole.elts[index[0]]
        return node

    def _describe(self, aim: ast.expr, value: ast.expr) -> None:
        """Tells names by what they come of, where it is not known which part of it they hold."""
        shown = _short(self.text(value))
        for name in sorted(names_in(aim).binds):
            self._holds[name] = f"{name} of {shown}"

    def program_name(self, name: str) -> str:
        """The program's name for a name; empty where it is none. One that nobody binds may be the
        program's once it is repaired."""
        if name in self.own:
            return self.own[name]
        free = name in self.known.names or name not in BUILTIN_NAMES
        return name if free and name not in self._others else ""

    def _target(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return "" if node.id in self._holds else self.program_name(node.id)
        return target(node, self.own, self.known.names)

    def text(self, node: ast.expr) -> str:
        """An expression in words, and a note of each call of the program in it."""
        value = literal(node)
        if value is not None:
            return spelt(value[0])
        match node:
            case ast.Name(id=name):
                return self._holds.get(name) or self.own.get(name) or name
            case ast.Call():
                return self._call(node)
            case ast.Attribute(value=owner, attr=name):
                shown = target(node, self.own, self.known.names) or f"{self.text(owner)}.{name}"
                if name in self.known.attributes:
                    self.found.setdefault(f"{self._before}{shown}")
                return shown
            case ast.Starred(value=inner):
                return f"*{self.text(inner)}"
            case ast.Subscript() if (part := self._opened(node)) is not node:
                return self.text(part)
            case ast.ListComp(elt=elt, generators=[turns]) | ast.SetComp(
                elt=elt, generators=[turns]
            ) | ast.GeneratorExp(elt=elt, generators=[turns]):
                return self._turned(node, elt, turns)
        return self._shown(node)

    def _turned(self, node: ast.expr, elt: ast.expr, turns: ast.comprehension) -> str:
        """A comprehension, taken apart as a loop is."""
        held = dict(self._holds)
        rows = elements(turns.iter, self._tables)
        if rows is None:
            self._describe(turns.target, turns.iter)
        for given in rows or ():
            self._bind(turns.target, given)
            for one in (*turns.ifs, elt):
                self.text(one)
        shown = ast.unparse(node) if rows is not None else self._shown(node)
        self._holds = held
        return shown

    def _shown(self, node: ast.AST) -> str:
        """The kind of an expression, and its parts in words."""
        parts = [
            self.text(child) if isinstance(child, ast.expr) else self._shown(child)
            for child in ast.iter_child_nodes(node)
            if isinstance(child, ast.expr | ast.comprehension | ast.cmpop | ast.operator)
        ]
        return f"{type(node).__name__}[{' '.join(parts)}]"

    def _call(self, node: ast.Call) -> str:
        name = self._target(node.func)
        inner = passed_call(node)
        if inner is not None and not name:
            self._call(inner)
        args, keywords = spread([
            ast.Starred(self._opened(one.value), one.ctx) if isinstance(one, ast.Starred) else one
            for one in node.args
        ], node.keywords)
        given = [self.text(one) for one in args]
        named = {one.arg or "**": self.text(one.value) for one in keywords}
        if name:
            return self._noted(self.known.bound(name, given, named))
        if isinstance(node.func, ast.Name) and node.func.id in self._helpers:
            self._helped(self._helpers[node.func.id], given, named)
        if isinstance(node.func, ast.Attribute) and node.func.attr in self.known.methods:
            owner = self.text(node.func.value)
            call = self.known.bound(node.func.attr, given, named, method=True)
            if isinstance(node.func.value, ast.Name) and node.func.value.id in self._holds:
                self._holds[node.func.value.id] = _short(f"({owner} after {call})")
            return self._noted(f"{owner}.{call}")
        return f"{self.text(node.func)}({', '.join([*given, *map(str, named.items())])})"

    def _helped(
        self, helper: ast.FunctionDef, given: Sequence[str], named: dict[str, str]
    ) -> None:
        """What a function of the test's own asks when it is called so."""
        if self._depth < MOST_DEPTH:
            names = [one.arg for one in helper.args.args]
            held = dict(self._holds)
            self._depth += 1
            self._holds |= dict(zip(names, given, strict=False)) | named
            self.statements(helper.body)
            self._depth -= 1
            self._holds = held

    def _noted(self, call: str) -> str:
        self.found.setdefault(f"{self._before}{call}")
        if self._stateful:
            self._before = _short(f"{self._before}{call}, then ")
        return call


def _short(text: str) -> str:
    """What is told of a long history: its address, since each call makes it longer."""
    return text if len(text) <= LONGEST_HISTORY else f"{address(text)}, then "
