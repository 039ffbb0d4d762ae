"""Rewrites a program's answers, or a test's comparisons, to detect meaningless passes (canaries).

A program in the process of its tests could make them pass whatever it answers, for example by a
patched assert. So every answer is replaced by a wrong one, with the same frames and side effects:
`return E` becomes `return (E, wrong)[on]`, and likewise `yield E`, `raise E` and the body of a
`lambda`; a function without an answer raises at its end. The wrong answer can be called, indexed
and calculated with, and equals nothing; it is false in one run and true in another. For tests that
pass both, a third run also skips calls made only for their effect (log, print, write), does not
compute answers, and replaces the fields of classes without methods. A test that passes this too is
vacuous. In another run each `a == b` of the test also compares the equal values with a fresh object
that nothing honest equals.

Canaries are evidence against a pass, never for one, since a program could recognise them; their
name is random in each run.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any, Literal

from agent.core.trees import parse
from agent.verify.rewriting.expectations import own_nodes

RunVariation = Literal["", "wrong false", "wrong true", "wrong idle", "unequal", "user machine"]
"""How a run differs from the plain run; empty if it does not."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef

_CONSTRUCTORS = ("__init__", "__new__", "__init_subclass__", "__set_name__", "__post_init__")
"""Never replaced: without them there is no object whose answers could be replaced."""


@dataclass(frozen=True)
class Canary:
    """A rewriting of texts for a variation; `name` is the builtin that the rewritten text uses."""

    variation: RunVariation
    name: str

    def program(self, text: str) -> str:
        """The program with wrong answers; the text itself where it does not parse."""
        if not self.variation.startswith("wrong"):
            return text
        return _rewritten(text, _Answers(self.name, self.variation == "wrong idle"))

    def test(self, text: str) -> str:
        """The test with its comparisons reported; the text itself where it does not parse."""
        return _rewritten(text, _Equalities(self.name)) if self.variation == "unequal" else text


def _rewritten(text: str, transformer: ast.NodeTransformer) -> str:
    try:
        return ast.unparse(ast.fix_missing_locations(transformer.visit(parse(text))))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


class _Equalities(ast.NodeTransformer):
    """Turns `assert a == b` into `assert name(a, b)`."""

    def __init__(self, name: str) -> None:
        self._name = name

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        match node.test:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                node.test = ast.Call(ast.Name(self._name, ast.Load()), [left, right], [])
        return node


_EFFECTS = frozenset(
    "debug info warning error critical exception log warn print write writelines chdir".split()
)
"""Functions that are called only for an effect that tests can observe."""
_FIELDS = """
def __getattribute__(self, name):
    found = object.__getattribute__(self, name)
    return found if name.startswith("__") else (found, {0}[1])[{0}[0]]
"""


class _Answers(ast.NodeTransformer):
    def __init__(self, name: str, idle: bool = False) -> None:
        self._name, self._idle = name, idle

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        self.generic_visit(node)
        match node.value:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if (
                self._idle and name in _EFFECTS
            ):
                return ast.If(self._part(0), [ast.Pass()], [node])
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        if self._idle and not any(isinstance(statement, _Function) for statement in node.body):
            node.body += ast.parse(_FIELDS.format(self._name)).body
            return node
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: _Function) -> _Function:
        has_answer = _answers(node)
        self.generic_visit(node)
        if not has_answer and node.name not in _CONSTRUCTORS:
            raising = ast.If(self._part(0), [ast.Raise(self._part(2), None)], [])
            node.body = _BeforeReturns(raising).visit(ast.Module(node.body, [])).body
            node.body.append(raising)
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        self.generic_visit(node)
        node.body = self._choice(node.body, 1)
        return node

    def visit_Return(self, node: ast.Return | ast.Yield) -> ast.Return | ast.Yield:
        self.generic_visit(node)
        if node.value is not None:
            node.value = self._choice(node.value, 1)
        return node

    visit_Yield = visit_Return

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        self.generic_visit(node)
        if node.exc is not None:
            node.exc = self._choice(node.exc, 2)
        return node

    def _choice(self, answer: ast.expr, index: int) -> ast.expr:
        if self._idle:
            chosen = ast.IfExp(self._part(0), self._part(index), answer)
            return ast.copy_location(chosen, answer)
        both = ast.Tuple([answer, self._part(index)], ast.Load())
        return ast.copy_location(ast.Subscript(both, self._part(0), ast.Load()), answer)

    def _part(self, index: int) -> ast.expr:
        return ast.Subscript(ast.Name(self._name, ast.Load()), ast.Constant(index), ast.Load())


class _BeforeReturns(ast.NodeTransformer):
    """Inserts a statement before each `return` of a function without an answer."""

    def __init__(self, statement: ast.stmt) -> None:
        self._statement = statement

    def visit(self, node: ast.AST) -> Any:
        inner = isinstance(node, _Function | ast.ClassDef)
        return node if inner else super().visit(node)

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        return [self._statement, node]


def _answers(node: _Function) -> bool:
    """Whether a function itself returns a value or yields, inner functions excluded."""
    return any(
        isinstance(one, ast.Yield | ast.YieldFrom)
        or (isinstance(one, ast.Return) and one.value is not None) for one in own_nodes(node)
    )
