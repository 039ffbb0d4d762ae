"""Rewrites a program's answers, to see whether tests that share its process would notice.

Where tests and program share a process, the program could have made the tests pass whatever it
answers: by a patched assert, a patched runner. So every answer is spoilt in place, the same
frames and the same side effects: `return E` becomes `return (E, spoilt)[on]`, and likewise
`yield E`, `raise E` and the body of a `lambda`; a function without an answer raises at its end.
What takes an answer's place lets itself be called, indexed and calculated with, and equals
nothing; once it is false and once it is true. Tests that pass both times are not believed. It is
evidence against a pass, never for one: a program that knows of canaries can sing.

The other rewriting hands each answer to a function first, which takes the operators of the
answer's class away from it (`programs.disarming`).
"""

from __future__ import annotations

import ast
from typing import Literal

SPOILER = "__spoiler__"
"""A list among the builtins: 0 or 1, the object that takes an answer's place, an exception."""
DISARM = "__disarmed__"
"""A function among the builtins, from an answer to that answer."""

Manner = Literal["", "spoilt false", "spoilt true", "disarmed"]
"""How the answers of a program are rewritten."""

_SETTING_UP = ("__init__", "__new__", "__init_subclass__", "__set_name__", "__post_init__")
"""Without them there is no object whose answers could be spoilt."""


def rewritten(text: str, manner: Manner) -> str:
    """The program with its answers rewritten; the text itself where it does not parse."""
    if not manner:
        return text
    try:
        changed = _Answers(manner).visit(ast.parse(text))
        return ast.unparse(ast.fix_missing_locations(changed))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text


class _Answers(ast.NodeTransformer):
    def __init__(self, manner: Manner) -> None:
        self._spoils = manner != "disarmed"

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self._spoil(node)
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        self._spoil(node)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        self.generic_visit(node)
        node.body = self._chosen(node.body)
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        self.generic_visit(node)
        if node.value is not None:
            node.value = self._chosen(node.value)
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        self.generic_visit(node)
        if self._spoils and node.exc is not None:
            node.exc = _choice(node.exc, 2)
        return node

    def visit_Yield(self, node: ast.Yield) -> ast.Yield:
        self.generic_visit(node)
        if node.value is not None:
            node.value = self._chosen(node.value)
        return node

    def _chosen(self, answer: ast.expr) -> ast.expr:
        if not self._spoils:
            call = ast.Call(ast.Name(DISARM, ast.Load()), [answer], [])
            return ast.copy_location(call, answer)
        return _choice(answer, 1)

    def _spoil(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        silent = not _answers(node)
        self.generic_visit(node)
        if self._spoils and silent and node.name not in _SETTING_UP:
            node.body = _Leaving().visit(ast.Module(node.body, [])).body
            node.body.append(_refusal())


class _Leaving(ast.NodeTransformer):
    """Has a function without an answer raise where it would return."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AsyncFunctionDef:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return node

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        return [_refusal(), node]


def _choice(answer: ast.expr, index: int) -> ast.expr:
    both = ast.Tuple([answer, _part(index)], ast.Load())
    return ast.copy_location(ast.Subscript(both, _part(0), ast.Load()), answer)


def _part(index: int) -> ast.expr:
    return ast.Subscript(ast.Name(SPOILER, ast.Load()), ast.Constant(index), ast.Load())


def _refusal() -> ast.stmt:
    return ast.If(_part(0), [ast.Raise(_part(2), None)], [])


def _answers(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function returns a value or yields, itself and not a function within it."""
    waiting: list[ast.AST] = [*node.body]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Yield | ast.YieldFrom):
            return True
        if isinstance(one, ast.Return) and one.value is not None:
            return True
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(one)
    return False
