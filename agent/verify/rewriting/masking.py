"""Blanks the tests and doctests in a program, so that it cannot read expected values there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import accumulate
from operator import itemgetter

from agent.core.trees import nodes_or_empty
from agent.target.program import own_tests


@lru_cache(maxsize=16)
def mask(text: str, doctests: bool = True) -> str:
    """`text` without its own asserts and test functions, with the same line numbers.

    An assert, or a block that asserts, becomes `pass`; a test function or class becomes an empty
    one, since the program may call it. Text that does not parse is returned unchanged, so that its
    error is reported by the run.

    Args:
        doctests: Whether doctests are blanked too; not for tests that read documentation.
    """
    every = nodes_or_empty(text)
    if not every:
        return text
    tests = own_tests(text)
    # Escapes in a docstring may hide a prompt.
    may_hold = doctests and (">>>" in text or "\\" in text)
    docstrings = [doc for doc in _docstrings(every) if ">>>" in str(doc.value)] if may_hold else []
    if not tests and not docstrings:
        return text
    # Columns of the tree count UTF-8 bytes, and `bytes.splitlines` agrees with the parser.
    data = text.encode("utf-8", "surrogatepass")
    lines = [0, *accumulate(map(len, data.splitlines(keepends=True)))]
    spans: dict[tuple[int, int], ast.stmt | ast.Constant] = {}
    blanked: list[ast.stmt | ast.Constant] = [*tests, *docstrings]
    for node in blanked:
        span = _span(node, lines)
        if not any(start <= span[0] < end for start, end in spans):
            spans[span] = node
    for (start, end), node in sorted(spans.items(), key=itemgetter(0), reverse=True):
        blank, rest = data[start:end], data[end:]
        if isinstance(node, ast.Constant):
            data = data[:start] + _without_examples(blank) + rest
            continue
        if breaks := len(blank.splitlines()) - 1:
            # A statement after the node on its last line must remain a statement on that line.
            rest = rest.lstrip(b" \t").removeprefix(b";").lstrip(b" \t")
        data = data[:start] + _replacement(node) + b"\n" * breaks + rest
    return data.decode("utf-8", "surrogatepass")


@lru_cache(maxsize=16)
def names_of_tests(text: str) -> tuple[str, ...]:
    """The names of a program's own test functions and classes; none where it does not parse."""
    tests = own_tests(text) if nodes_or_empty(text) else ()
    return tuple(name for node in tests if (name := getattr(node, "name", "")))


def _docstrings(nodes: Iterable[ast.AST]) -> Iterator[ast.Constant]:
    for node in nodes:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            match node.body:
                case [ast.Expr(value=ast.Constant(value=str()) as doc), *_]:
                    yield doc


def _span(node: ast.stmt | ast.Constant, lines: list[int]) -> tuple[int, int]:
    """The byte range of a node, decorators included."""
    assert node.end_lineno is not None and node.end_col_offset is not None
    above = getattr(node, "decorator_list", None)
    first = above[0].lineno if above else node.lineno
    return lines[first - 1] + node.col_offset, lines[node.end_lineno - 1] + node.end_col_offset


def _without_examples(docstring: bytes) -> bytes:
    """Empties each example of a docstring, keeping line breaks."""
    opened = _OPENING.match(docstring)
    start = opened.end() if opened else len(docstring)
    end = len(docstring) - (3 if docstring.endswith((b'"""', b"'''")) else 1)
    lines = docstring[start:end].splitlines(keepends=True)
    result, inside = docstring[:start], False
    for line in lines:
        # In a single line, escaped line breaks may precede an example.
        begins = line.lstrip().startswith(b">>>") or (len(lines) == 1 and b">>>" in line)
        inside = bool(line.strip()) and (inside or begins)
        result += line[len(line.rstrip(b"\r\n")):] if inside else line
    return result + docstring[end:]


_OPENING = re.compile(rb"[A-Za-z]*(\"\"\"|'''|\"|')")


def _replacement(node: ast.stmt) -> bytes:
    match node:
        case ast.ClassDef(name=name):
            return f"class {name}: pass".encode()
        case ast.AsyncFunctionDef(name=name):
            return f"async def {name}(*_, **__): pass".encode()
        case ast.FunctionDef(name=name):
            return f"def {name}(*_, **__): pass".encode()
        case _:
            return b"pass"
