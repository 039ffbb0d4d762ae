"""Which calls of the program a test makes, in a form that does not depend on how it writes them.

`f(1, b=2)`, `f(1, 2)` and `x = 1; solution.f(x, 2)` are one call. Arguments are bound through the
signature the program has, loops over literals are taken apart, and an object is told by the calls
that made it what it is. Calls that this cannot see through are told by their text.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from functools import lru_cache

from agent.domain import TestCase, address
from agent.intake.effects import keeps_state
from agent.intake.parsing import BUILTIN_NAMES, FunctionNode, called_name, names_in, parsed
from agent.intake.signatures import Signatures, imported, literal, signatures, target, told

MOST_CALLS = 2_000
"""Calls of one test's code that are looked at."""
MOST_ROWS = 300
"""Turns of a loop over literals that are taken apart."""
LONGEST_HISTORY = 500
"""Characters."""

_RAISING = ("raises", "assertRaises", "assertWarns", "assertRaisesRegex")


def asked(test: TestCase, program: str, stem: str = "solution") -> frozenset[str]:
    """What a test asks the program: its calls, and the attributes of its objects; where there are
    none, the names it reads, among them `output`, what the program prints when it is run.

    `stem` is the program's module. A test of a file asks all that the file asks, since whoever
    sees the test sees the file.
    """
    code = test.call if test.kind == "example" else test.code
    try:
        return _asked(code, program, stem)
    except (SyntaxError, RecursionError):
        return frozenset({code})


def asks_anew(
    test: TestCase, others: Iterable[TestCase], program: str, stem: str = "solution"
) -> bool:
    """Whether a test asks something that none of the others asks."""
    known = frozenset[str]().union(*(asked(other, program, stem) for other in others))
    return not asked(test, program, stem) <= known


@lru_cache(maxsize=4096)
def _asked(code: str, program: str, stem: str) -> frozenset[str]:
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

    def statements(self, body: Sequence[ast.stmt]) -> None:
        for node in body:
            if len(self.found) < MOST_CALLS:
                self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for given in _rows_of(node):
                    held, before = dict(self._holds), self._before
                    self._forget(argument.arg for argument in node.args.args)
                    self._holds |= {name: self.text(value) for name, value in given.items()}
                    self.statements(node.body)
                    self._holds, self._before = held, before
            case ast.ClassDef(body=body):
                self.statements(body)
            case ast.For(target=aim, iter=items, body=body, orelse=orelse):
                rows = _elements(items)
                if rows is None:
                    self.text(items)
                    self._forget(names_in(aim).binds)
                    self.statements(body)
                for row in rows or ():
                    self._bind(aim, row)
                    self.statements(body)
                self.statements(orelse)
            case ast.Assign(targets=[aim], value=value):
                self._bind(aim, value)
            case ast.AnnAssign(target=aim, value=ast.expr() as value):
                self._bind(aim, value)
            case _:
                for child in ast.iter_child_nodes(node):
                    self._child(child)
                self._forget(names_in(node).binds if isinstance(node, ast.AugAssign) else ())

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
        match aim, value:
            case ast.Tuple(elts=aims) | ast.List(elts=aims), ast.Tuple(elts=parts) | ast.List(
                elts=parts
            ) if len(aims) == len(parts):
                for one, part in zip(aims, parts, strict=True):
                    self._bind(one, part)
            case _:
                self.text(value)
                self._forget(names_in(aim).binds)

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
        return target(node, self.own, self.known)

    def text(self, node: ast.expr) -> str:
        """An expression in words, and a note of each call of the program in it."""
        value = literal(node)
        if value is not None:
            return told(value[0])
        match node:
            case ast.Name(id=name):
                return self._holds.get(name) or self.own.get(name) or name
            case ast.Call():
                return self._call(node)
            case ast.Attribute(value=owner, attr=name):
                shown = target(node, self.own, self.known) or f"{self.text(owner)}.{name}"
                if name in self.known.attributes:
                    self.found.setdefault(f"{self._before}{shown}")
                return shown
            case ast.Starred(value=inner):
                return f"*{self.text(inner)}"
            case ast.ListComp(elt=elt, generators=[turns]) | ast.SetComp(
                elt=elt, generators=[turns]
            ) | ast.GeneratorExp(elt=elt, generators=[turns]):
                return self._turned(node, elt, turns)
        return self._shown(node)

    def _turned(self, node: ast.expr, elt: ast.expr, turns: ast.comprehension) -> str:
        """A comprehension, taken apart as a loop is."""
        held = dict(self._holds)
        rows = _elements(turns.iter)
        for row in rows or ():
            self._bind(turns.target, row)
            for one in (*turns.ifs, elt):
                self.text(one)
        self._holds = held
        return ast.unparse(node) if rows is not None else self._shown(node)

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
        args, keywords = node.args, node.keywords
        if not name and called_name(node).rpartition(".")[2] in _RAISING and len(args) > 1:
            self._call(ast.Call(args[1], args[2:], []))
        starred = any(isinstance(one, ast.Starred) for one in args)
        given = [self.text(one) for one in args]
        named = {one.arg or "**": self.text(one.value) for one in keywords}
        if name:
            if starred or "**" in named:
                return self._noted(f"{name}({', '.join([*given, *map(str, named.items())])})")
            return self._noted(self.known.bound(name, given, named))
        if isinstance(node.func, ast.Attribute) and node.func.attr in self.known.methods:
            owner = self.text(node.func.value)
            call = self.known.bound(node.func.attr, given, named, method=True)
            if isinstance(node.func.value, ast.Name) and node.func.value.id in self._holds:
                self._holds[node.func.value.id] = _short(f"({owner} after {call})")
            return self._noted(f"{owner}.{call}")
        return f"{self.text(node.func)}({', '.join([*given, *map(str, named.items())])})"

    def _noted(self, call: str) -> str:
        self.found.setdefault(f"{self._before}{call}")
        if self._stateful:
            self._before = _short(f"{self._before}{call}, then ")
        return call


def _short(text: str) -> str:
    """What is told of a long history: its address, since each call makes it longer."""
    return text if len(text) <= LONGEST_HISTORY else f"{address(text)}, then "


def _elements(node: ast.expr) -> Sequence[ast.expr] | None:
    """The elements of a display of literals, or `None`."""
    if isinstance(node, ast.List | ast.Tuple) and len(node.elts) <= MOST_ROWS:
        return node.elts if all(literal(one) for one in node.elts) else None
    return None


def _rows_of(node: FunctionNode) -> list[dict[str, ast.expr]]:
    """The arguments of each turn of a parametrized test; one empty row for any other function."""
    for decorator in node.decorator_list:
        if not isinstance(decorator, ast.Call) or len(decorator.args) < 2:
            continue
        if not called_name(decorator).endswith("parametrize"):
            continue
        names = literal(decorator.args[0])
        rows = _elements(decorator.args[1])
        if names is None or rows is None:
            continue
        given = names[0]
        split = given.replace(",", " ").split() if isinstance(given, str) else [
            str(one) for one in given
        ] if isinstance(given, list | tuple) else []
        if len(split) == 1:
            return [{split[0]: row} for row in rows]
        return [
            dict(zip(split, row.elts, strict=False)) for row in rows
            if isinstance(row, ast.Tuple | ast.List)
        ]
    return [{}]
