"""Converts doctest examples to tests with the same result as under doctest.

An example whose call is known to return a value, and whose expected output is a literal, becomes a
call with an expected value. Any other becomes a script that compares printed text as doctest does,
with its directives. It repeats the earlier examples of its docstring.
"""

from __future__ import annotations

import ast
import doctest
import re
from collections.abc import Iterator, Sequence
from copy import deepcopy

from agent.core.domain import Example, Origin, Raises, Script, TestCase
from agent.core.trees import expression, is_literal
from agent.target.discovery.effects import keeps_state, prints
from agent.target.parsing import (
    BUILTIN_NAMES,
    Definition,
    called_name,
    dotted,
    is_import,
    is_plain_call,
    name_usage,
    parsed,
    shortened,
    statements_of,
    unique,
)

_PARSER = doctest.DocTestParser()


def tests_from_doctests(text: str) -> tuple[TestCase, ...]:
    """The doctests of a program; if it does not parse, those of its triple-quoted strings."""
    taken: dict[str, int] = {}
    tests: list[TestCase] = []
    for docstring in _docstrings(text):
        tests += _tests(docstring, "doctest", text, taken)
    return tuple(tests)


def tests_from_prompts(
    text: str, program: str = "", origin: Origin = "user"
) -> tuple[TestCase, ...]:
    """Tests from a pasted interpreter session: lines with `>>>` and their output."""
    return tuple(_tests(text, origin, program, {}))


def has_prompts(text: str) -> bool:
    return re.search(r"^\s*>>> ", text, re.MULTILINE) is not None


def _docstrings(text: str) -> list[str]:
    try:
        module = parsed(text)
    except SyntaxError:
        return _quoted(text)
    return list(_of_definitions(module))


def _quoted(text: str) -> list[str]:
    """Triple-quoted strings of a text that does not parse."""
    return [
        match.group(2)
        for match in re.finditer(r"(\"\"\"|''')(.*?)\1", text, re.DOTALL)
        if ">>>" in match.group(2)
    ]


def _of_definitions(node: ast.AST) -> Iterator[str]:
    if isinstance(node, (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        docstring = ast.get_docstring(node, clean=False)
        if docstring and ">>>" in docstring:
            yield docstring
        for child in node.body:
            if isinstance(child, Definition):
                yield from _of_definitions(child)


def _tests(
    docstring: str, origin: Origin, program: str, taken: dict[str, int]
) -> Iterator[TestCase]:
    try:
        examples = _PARSER.get_examples(docstring.expandtabs())
    except ValueError:
        return  # doctest rejects a docstring with inconsistent indentation
    earlier: list[doctest.Example] = []
    stateful = keeps_state(program)
    silent = not prints(program)
    for example in examples:
        if example.options.get(doctest.SKIP):
            continue
        try:
            body = parsed(example.source).body
        except SyntaxError:
            continue
        if example.want or example.exc_msg:
            name = unique(shortened(example.source), taken)
            is_independent = not stateful and not earlier
            simple = _simple(example, body, name, origin, program) if is_independent else None
            yield simple or Script(
                name=name, origin=origin, code=_script(earlier, example, body, silent=silent)
            )
        if stateful or not _call(body):
            earlier.append(example)


def _call(body: Sequence[ast.stmt]) -> ast.expr | None:
    """The example's call, if it is one of a bare name with literals; such calls keep no state."""
    match body:
        case [ast.Expr(value=call)] if is_plain_call(call):
            return call
    return None


def _simple(
    example: doctest.Example, body: Sequence[ast.stmt], name: str, origin: Origin, program: str
) -> TestCase | None:
    node = _call(body)
    if node is None:
        return None
    call = example.source.strip()
    if example.exc_msg is not None:
        exception, separator, message = example.exc_msg.strip().partition(":")
        if separator and message.strip():
            return None
        known = exception in BUILTIN_NAMES
        return Raises(name=name, origin=origin, call=call, exception=exception) if known else None
    want = example.want.strip()
    value = expression(want)
    if value is None or not is_literal(value) or example.options:
        return None
    if repr(ast.literal_eval(value)) != want or not _returns(called_name(node), program):
        return None
    return Example(name=name, origin=origin, call=call, expected=want)


def _returns(name: str, program: str) -> bool:
    """Whether the program's function returns values and does not print.

    doctest compares printed text, and an `Example` compares values. Without a program a value is
    assumed.
    """
    if not program:
        return True
    for node in statements_of(program):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            inner = list(ast.walk(node))
            gives = any(isinstance(part, ast.Return) and part.value for part in inner)
            return gives and not any(called_name(part) == "print" for part in inner)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda) and any(
            dotted(target) == name for target in node.targets
        ):
            return True
    return False


def _script(
    earlier: Sequence[doctest.Example], example: doctest.Example, body: Sequence[ast.stmt], *,
    silent: bool,
) -> str:
    """The code of an example and its predecessors, compared as doctest compares.

    If the program never prints (`silent`), only the `repr` of the value is compared.
    """
    before = _needed(earlier, example)
    if example.exc_msg is not None:
        return "\n".join([*before, *_raising(example)])
    plain = not example.options and doctest.BLANKLINE_MARKER not in example.want
    if silent and plain and len(body) == 1 and isinstance(body[0], ast.Expr) and not any(
        called_name(part) == "print" for part in ast.walk(body[0])
    ):
        return "\n".join([*before, _value_check(ast.unparse(body[0].value), example.want.strip())])
    displayed = _Display().visit(deepcopy(parsed(example.source)))
    shows = any(isinstance(part, ast.Name) and part.id == "_show" for part in ast.walk(displayed))
    return "\n".join([
        "import contextlib", "import io",
        *(["def _show(value):", "    if value is not None:", "        print(repr(value))"]
          if shows else []),
        *before, "_printed = io.StringIO()", "with contextlib.redirect_stdout(_printed):",
        *(f"    {line}" for line in ast.unparse(displayed).split("\n")),
        *_compared("_printed.getvalue()", example.want, example),
    ])


def _compared(got: str, want: str, example: doctest.Example) -> list[str]:
    """Asserts that an expression equals a text, under the example's doctest directives."""
    if not example.options and doctest.BLANKLINE_MARKER not in want:
        return [f"assert {got} == {want!r}"]
    flags = sum(flag for flag, on in example.options.items() if on)
    checked = f"doctest.OutputChecker().check_output({want!r}, {got}, {flags})"
    return ["import doctest", f"assert {checked}, {got}"]


def _value_check(source: str, want: str) -> str:
    value = expression(want)
    if value is not None and is_literal(value) and repr(ast.literal_eval(value)) == want:
        return f"assert ({source}) == {want}" if " " in source else f"assert {source} == {want}"
    return f"assert repr({source}) == {want!r}"


def _needed(earlier: Sequence[doctest.Example], example: doctest.Example) -> list[str]:
    """Sources of the earlier examples; imports and definitions only if they are used."""
    reads = set(name_usage(*parsed(example.source).body).reads)
    sources: list[str] = []
    for one in reversed(earlier):
        body = parsed(one.source).body
        names = name_usage(*body)
        passive = all(is_import(node) or isinstance(node, Definition) for node in body)
        if not passive or names.binds & reads or "*" in names.binds:
            source = one.source.rstrip("\n")
            if one.exc_msg is not None:
                indented = "\n".join(f"    {line}" for line in source.split("\n"))
                source = f"try:\n{indented}\nexcept Exception:\n    pass"
            sources.append(source)
            reads |= names.reads
    return sources[::-1]


def _raising(example: doctest.Example) -> list[str]:
    exception, _, message = (example.exc_msg or "").rstrip("\n").partition(": ")
    # doctest shows an exception with its module, but code refers to it by its class name.
    exception = exception.strip().rstrip(":")
    source = example.source.rstrip("\n").split("\n")
    name = exception.rpartition(".")[2]
    ignored = example.options.get(doctest.IGNORE_EXCEPTION_DETAIL)
    checks = _compared("str(error)", message.strip(), example) if message and not ignored else []
    return [
        "try:", *(f"    {line}" for line in source),
        f"except {name} as error:" if checks else f"except {name}:",
        *(f"    {line}" for line in checks or ["pass"]),
        "else:", f"    assert False, 'did not raise {name}'",
    ]


class _Display(ast.NodeTransformer):
    """Prints the value of expression statements, as the interactive interpreter does."""

    def visit(self, node: ast.AST) -> ast.AST:
        return node if isinstance(node, Definition) else super().visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        if called_name(node.value) == "print":
            return node
        shown = ast.Call(ast.Name("_show", ast.Load()), [node.value], [])
        return ast.fix_missing_locations(ast.copy_location(ast.Expr(shown), node))
