"""Adds forgotten arguments to calls, and changes the bases of exceptions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.search.edits.calls import keyword_arguments, positional_arguments, replaced_call
from agent.search.edits.classes import fields_of
from agent.search.program import Function, Program, Splice, parameters

MAX_EXCEPTIONS, MAX_CALLS = 8, 6


def available(program: Program, node: ast.Call) -> Iterator[Splice]:
    """Adds an argument that has the name of a variable in scope, or that other calls pass."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    given, named = positional_arguments(program, node), keyword_arguments(program, node)
    words = {one.arg for one in node.keywords}
    if None in words or any(isinstance(one, ast.Starred) for one in node.args):
        return
    variables, fields = {*program.variables(node)}, {*fields_of(program, node)}
    for accepted, keywords in _signatures(program, name):
        left = [*accepted[len(given):], *keywords]
        for one in left:
            if one in words:
                continue
            for value in (one, f"self.{one}"):
                if value in variables or (value == f"self.{one}" and one in fields):
                    yield replaced_call(program, node, given, [*named, f"{one}={value}"], 2.4)
                    if one == left[0] and not named:
                        yield replaced_call(program, node, [*given, value], named, 2.4)
    found: dict[str, None] = {}
    for other in program.calls[program.code(node.func)]:
        if other is not node:
            found.update(
                (f"{one.arg}={program.code(one.value)}", None)
                for one in other.keywords if one.arg and one.arg not in words
            )
    for text in [*found][:MAX_CALLS]:
        if "\n" not in text:
            yield replaced_call(program, node, given, [*named, text], 2.8)


def _signatures(program: Program, name: str) -> Iterator[tuple[list[str], list[str]]]:
    """The positional and the keyword parameters of the functions, methods and classes of a name."""
    for function in program.defined:
        if function.name == name or (
            function.name == "__init__" and _is_method_of(program, function, name)
        ):
            names = parameters(function, keywords=False)
            names = names[1:] if names[:1] in (["self"], ["cls"]) else names
            yield names, [*(one.arg for one in function.args.kwonlyargs), *_popped(function)]
    for owner in program.nodes:
        if isinstance(owner, ast.ClassDef) and owner.name == name:
            yield [], [
                one.target.id for one in owner.body
                if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
            ]


def _popped(function: Function) -> list[str]:
    """The keywords that a function reads from its `**kwargs`."""
    if function.args.kwarg is None:
        return []
    own = function.args.kwarg.arg
    return [
        one.args[0].value for one in ast.walk(function)
        if isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.args
        and ast.unparse(one.func) in (f"{own}.get", f"{own}.pop")
        and isinstance(one.args[0], ast.Constant) and isinstance(one.args[0].value, str)
    ]


def _is_method_of(program: Program, function: Function, name: str) -> bool:
    owner = program.parents.get(function)
    return isinstance(owner, ast.ClassDef) and owner.name == name


def exception_base(program: Program, node: ast.ClassDef) -> Iterator[Splice]:
    """Replaces the base of an exception, or adds a second one."""
    if len(node.bases) != 1 or not isinstance(node.bases[0], ast.Name):
        return
    own = node.bases[0].id
    if not own.endswith(("Error", "Exception", "Warning")):
        return
    others = [one for one in _exceptions(program, own) if one != node.name]
    for place, name in enumerate(others):
        yield program.replace(node.bases[0], name, 3.0 + 0.1 * place)
        yield program.replace(node.bases[0], f"{own}, {name}", 3.1 + 0.1 * place)


def _exceptions(program: Program, own: str) -> list[str]:
    """The exceptions that a program defines or imports, and common built-in ones."""
    known = [
        one.name for one in program.nodes if isinstance(one, ast.ClassDef)
        and any("Error" in program.code(each) or "Exception" in program.code(each)
                for each in one.bases)
    ]
    known += [name for name in program.imported if name.endswith(("Error", "Exception"))]
    common = ["ValueError", "KeyError", "TypeError", "LookupError"]
    return [one for one in dict.fromkeys((*known, *common)) if one != own][:MAX_EXCEPTIONS]
