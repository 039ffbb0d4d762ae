"""Blanks the user's own tests in a program: no solution may hold what its tests expect.

Doctests are among them: a program can read its own docstrings.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from agent.core.trees import nodes_of
from agent.intake.program import own_tests


@lru_cache(maxsize=16)
def mask(text: str, doctests: bool = True) -> str:
    """`text` without its own asserts, test functions and doctests, all line numbers kept.

    Doctests stay where `doctests` is false: for tests that look at what is documented.

    An assert, or a block that asserts, becomes `pass`; a test function or class becomes an
    empty one of its name, since the program may call it. Text that does not parse is returned
    as it is, so that the error is reported where it belongs.
    """
    try:
        every = nodes_of(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    nodes = own_tests(text)
    # In a docstring with escapes the prompt may be spelt otherwise.
    may_hold = doctests and (">>>" in text or "\\" in text)
    docstrings = [doc for doc in _docstrings(every) if ">>>" in str(doc.value)] if may_hold else []
    if not nodes and not docstrings:
        return text
    lines = _lines(text)
    for docstring in docstrings:
        _blank_examples(lines, docstring)
    for node in reversed(nodes):
        _blank(lines, node)
    return "".join(lines)


@lru_cache(maxsize=16)
def names_of_tests(text: str) -> tuple[str, ...]:
    """What a program calls its own test functions and classes; nothing where it does not parse."""
    try:
        nodes_of(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(name for node in own_tests(text) if (name := getattr(node, "name", "")))


def _docstrings(nodes: Iterable[ast.AST]) -> Iterator[ast.Constant]:
    for node in nodes:
        match node:
            case (
                ast.Module(body=[ast.Expr(value=ast.Constant(value=str()) as doc), *_])
                | ast.ClassDef(body=[ast.Expr(value=ast.Constant(value=str()) as doc), *_])
                | ast.FunctionDef(body=[ast.Expr(value=ast.Constant(value=str()) as doc), *_])
                | ast.AsyncFunctionDef(body=[ast.Expr(value=ast.Constant(value=str()) as doc), *_])
            ):
                yield doc


def _blank_examples(lines: list[str], docstring: ast.Constant) -> None:
    """Empties each example, from its prompt to the blank line or the quotes that end it."""
    assert docstring.end_lineno is not None and docstring.end_col_offset is not None
    first, last = docstring.lineno - 1, docstring.end_lineno - 1
    inside = False
    for index in range(first, last + 1):
        line = lines[index]
        start, end = 0, len(line.rstrip("\r\n"))
        if index == first:
            opened = _OPENING.match(line, _column(line, docstring.col_offset))
            start = opened.end() if opened else end
        if index == last:
            quotes = 3 if _is_triple(line, docstring) else 1
            end = _column(line, docstring.end_col_offset) - quotes
        content = line[start:end]
        # On one line, escapes may hide where an example begins.
        begins = content.lstrip().startswith(">>>") or (first == last and ">>>" in content)
        inside = bool(content.strip()) and (inside or begins)
        if inside:
            lines[index] = line[:start] + line[end:]


_OPENING = re.compile(r"[A-Za-z]*(\"\"\"|'''|\"|')")


def _is_triple(line: str, docstring: ast.Constant) -> bool:
    assert docstring.end_col_offset is not None
    end = _column(line, docstring.end_col_offset)
    return line[max(0, end - 3) : end] in ('"""', "'''")


def _column(line: str, offset: int) -> int:
    """The place in characters of an offset in UTF-8 bytes."""
    return len(line.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "surrogatepass"))


def _instead(node: ast.stmt) -> str:
    match node:
        case ast.ClassDef(name=name):
            return f"class {name}: pass"
        case ast.AsyncFunctionDef(name=name):
            return f"async def {name}(*_, **__): pass"
        case ast.FunctionDef(name=name):
            return f"def {name}(*_, **__): pass"
        case _:
            return "pass"


def _start(node: ast.stmt) -> tuple[int, int]:
    """Line and column where the statement begins, its decorators included."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if node.decorator_list:
            return node.decorator_list[0].lineno, node.col_offset
        case _:
            return node.lineno, node.col_offset


def _lines(text: str) -> list[str]:
    """Lines as the parser counts them: a form feed or a Unicode separator ends none."""
    lines: list[str] = []
    start = 0
    for index, char in enumerate(text):
        if char == "\n" or (char == "\r" and text[index + 1 : index + 2] != "\n"):
            lines.append(text[start : index + 1])
            start = index + 1
    return [*lines, text[start:]] if start < len(text) else lines


def _blank(lines: list[str], node: ast.stmt) -> None:
    """Replaces one statement; columns of the tree count UTF-8 bytes."""
    assert node.end_lineno is not None and node.end_col_offset is not None
    line, column = _start(node)
    first, last = line - 1, node.end_lineno - 1
    before = lines[first].encode("utf-8", "surrogatepass")[:column]
    after = lines[last].encode("utf-8", "surrogatepass")[node.end_col_offset :]
    ending = after.decode("utf-8", "surrogatepass")
    head = before.decode("utf-8", "surrogatepass") + _instead(node)
    if first == last:
        lines[first] = head + ending
        return
    # What follows on the last line must stay on its line and still be a statement.
    rest = ending.lstrip(" \t")
    lines[last] = rest[1:].lstrip(" \t") if rest.startswith(";") else ending.lstrip(" \t")
    for index in range(first + 1, last):
        lines[index] = "\n"
    lines[first] = head + "\n"
