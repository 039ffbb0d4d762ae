"""Rewrites a program's answers, or a test's comparisons, to see whether a pass means anything.

Where tests and program share a process, the program could have made the tests pass whatever it
answers: by a patched assert, a patched runner. So every answer is spoilt in place, the same
frames and the same side effects: `return E` becomes `return (E, spoilt)[on]`, and likewise
`yield E`, `raise E` and the body of a `lambda`; a function without an answer raises at its end.
What takes an answer's place lets itself be called, indexed and calculated with, and equals
nothing; once it is false and once it is true. Where a test passes both times, what functions do
for its effect alone (log, print, write) is left out too, answers are not even computed, and the
fields of classes without methods are spoilt. A test that passes then as well is vacuous: it is no
evidence. In another run each `a == b` of the test also compares what was equal with a fresh object
that nothing honest equals.

All of it is evidence against a pass, never for one: a program that knows of canaries can sing.
The name that tells them apart is new each time.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any, Literal

from agent.core.trees import parse

CanaryKind = Literal["", "spoilt false", "spoilt true", "spoilt idle", "sentinel", "elsewhere"]
"""How a run differs from a plain one."""

_Function = ast.FunctionDef | ast.AsyncFunctionDef

_SETTING_UP = ("__init__", "__new__", "__init_subclass__", "__set_name__", "__post_init__")
"""Without them there is no object whose answers could be spoilt."""


@dataclass(frozen=True)
class Canary:
    """One way to rewrite; `name` is what the rewritten text finds among the builtins."""

    kind: CanaryKind
    name: str

    def program(self, text: str) -> str:
        """The program with its answers spoilt; the text itself where it does not parse."""
        if not self.kind.startswith("spoilt"):
            return text
        return _rewritten(text, _Answers(self.name, self.kind == "spoilt idle"))

    def test(self, text: str) -> str:
        """The test with its comparisons heard; the text itself where it does not parse."""
        return _rewritten(text, _Equalities(self.name)) if self.kind == "sentinel" else text


def _rewritten(text: str, how: ast.NodeTransformer) -> str:
    try:
        return ast.unparse(ast.fix_missing_locations(how.visit(parse(text))))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


class _Equalities(ast.NodeTransformer):
    """`assert a == b` becomes `assert heard(a, b)`."""

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
"""What is called for its effect alone, and so that tests see it."""
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
        if self._idle and not any(isinstance(one, _Function) for one in node.body):
            node.body += ast.parse(_FIELDS.format(self._name)).body
            return node
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: _Function) -> _Function:
        silent = not _answers(node)
        self.generic_visit(node)
        if silent and node.name not in _SETTING_UP:
            refusal = ast.If(self._part(0), [ast.Raise(self._part(2), None)], [])
            node.body = _Leaving(refusal).visit(ast.Module(node.body, [])).body
            node.body.append(refusal)
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        self.generic_visit(node)
        node.body = self._chosen(node.body)
        return node

    def visit_Return(self, node: ast.Return | ast.Yield) -> ast.Return | ast.Yield:
        self.generic_visit(node)
        if node.value is not None:
            node.value = self._chosen(node.value)
        return node

    visit_Yield = visit_Return

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        self.generic_visit(node)
        if node.exc is not None:
            node.exc = self._choice(node.exc, 2)
        return node

    def _chosen(self, answer: ast.expr) -> ast.expr:
        return self._choice(answer, 1)

    def _choice(self, answer: ast.expr, index: int) -> ast.expr:
        if self._idle:
            chosen = ast.IfExp(self._part(0), self._part(index), answer)
            return ast.copy_location(chosen, answer)
        both = ast.Tuple([answer, self._part(index)], ast.Load())
        return ast.copy_location(ast.Subscript(both, self._part(0), ast.Load()), answer)

    def _part(self, index: int) -> ast.expr:
        return ast.Subscript(ast.Name(self._name, ast.Load()), ast.Constant(index), ast.Load())


class _Leaving(ast.NodeTransformer):
    """Has a function without an answer raise where it would return."""

    def __init__(self, refusal: ast.stmt) -> None:
        self._refusal = refusal

    def visit(self, node: ast.AST) -> Any:
        inner = isinstance(node, _Function | ast.ClassDef)
        return node if inner else super().visit(node)

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        return [self._refusal, node]


def _answers(node: _Function) -> bool:
    """Whether a function returns a value or yields, itself and not a function within it."""
    waiting: list[ast.AST] = [*node.body]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Yield | ast.YieldFrom):
            return True
        if isinstance(one, ast.Return) and one.value is not None:
            return True
        if not isinstance(one, _Function | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(one)
    return False
