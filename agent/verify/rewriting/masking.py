"""Blanks the user's own tests in a program: no solution may hold what its tests expect.

Doctests are among them: a program can read its own docstrings.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import accumulate
from operator import itemgetter

from agent.core.trees import readable_nodes
from agent.target.program import own_tests


@lru_cache(maxsize=16)
def mask(text: str, doctests: bool = True) -> str:
    """`text` without its own asserts, test functions and doctests, all line numbers kept.

    Doctests stay where `doctests` is false: for tests that look at what is documented.

    An assert, or a block that asserts, becomes `pass`; a test function or class becomes an
    empty one of its name, since the program may call it. Text that does not parse is returned
    as it is, so that the error is reported where it belongs.
    """
    every = readable_nodes(text)
    if not every:
        return text
    tests = own_tests(text)
    # In a docstring with escapes the prompt may be spelt otherwise.
    may_hold = doctests and (">>>" in text or "\\" in text)
    docstrings = [doc for doc in _docstrings(every) if ">>>" in str(doc.value)] if may_hold else []
    if not tests and not docstrings:
        return text
    # Columns of the tree count UTF-8 bytes, and bytes have no other lines than the parser's.
    data = text.encode("utf-8", "surrogatepass")
    lines = [0, *accumulate(map(len, data.splitlines(keepends=True)))]
    spans: dict[tuple[int, int], ast.stmt | ast.Constant] = {}
    blanked: list[ast.stmt | ast.Constant] = [*tests, *docstrings]
    for node in blanked:
        span = _span(node, lines)
        if not any(start <= span[0] < end for start, end in spans):
            spans[span] = node
    for (start, end), node in sorted(spans.items(), key=itemgetter(0), reverse=True):
        held, rest = data[start:end], data[end:]
        if isinstance(node, ast.Constant):
            data = data[:start] + _without_examples(held) + rest
            continue
        if breaks := len(held.splitlines()) - 1:
            # What follows on the last line must stay on its line and still be a statement.
            rest = rest.lstrip(b" \t").removeprefix(b";").lstrip(b" \t")
        data = data[:start] + _instead(node) + b"\n" * breaks + rest
    return data.decode("utf-8", "surrogatepass")


@lru_cache(maxsize=16)
def names_of_tests(text: str) -> tuple[str, ...]:
    """What a program calls its own test functions and classes; nothing where it does not parse."""
    own = own_tests(text) if readable_nodes(text) else ()
    return tuple(name for node in own if (name := getattr(node, "name", "")))


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


def _span(node: ast.stmt | ast.Constant, lines: list[int]) -> tuple[int, int]:
    """The first byte, that of a decorator where there is one, and the one behind the last."""
    assert node.end_lineno is not None and node.end_col_offset is not None
    above = getattr(node, "decorator_list", None)
    first = above[0].lineno if above else node.lineno
    return lines[first - 1] + node.col_offset, lines[node.end_lineno - 1] + node.end_col_offset


def _without_examples(docstring: bytes) -> bytes:
    """Empties each example, from its prompt to the blank line or the quotes that end it."""
    opened = _OPENING.match(docstring)
    start = opened.end() if opened else len(docstring)
    end = len(docstring) - (3 if docstring.endswith((b'"""', b"'''")) else 1)
    lines = docstring[start:end].splitlines(keepends=True)
    kept, inside = docstring[:start], False
    for line in lines:
        # On one line, escapes may hide where an example begins.
        begins = line.lstrip().startswith(b">>>") or (len(lines) == 1 and b">>>" in line)
        inside = bool(line.strip()) and (inside or begins)
        kept += line[len(line.rstrip(b"\r\n")):] if inside else line
    return kept + docstring[end:]


_OPENING = re.compile(rb"[A-Za-z]*(\"\"\"|'''|\"|')")


def _instead(node: ast.stmt) -> bytes:
    match node:
        case ast.ClassDef(name=name):
            return f"class {name}: pass".encode()
        case ast.AsyncFunctionDef(name=name):
            return f"async def {name}(*_, **__): pass".encode()
        case ast.FunctionDef(name=name):
            return f"def {name}(*_, **__): pass".encode()
        case _:
            return b"pass"
