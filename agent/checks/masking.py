"""Blanks the user's own top-level asserts: they are tests, and no solution may hold its tests."""

from __future__ import annotations

import ast


def mask(text: str) -> str:
    """`text` with each top-level `assert` replaced by `pass`, all line numbers kept.

    Asserts inside functions, classes and blocks stay. Text that does not parse is returned
    as it is, so that the error is reported where it belongs.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return text
    asserts = [node for node in tree.body if isinstance(node, ast.Assert)]
    if not asserts:
        return text
    lines = _lines(text)
    for node in reversed(asserts):
        _blank(lines, node)
    return "".join(lines)


def _lines(text: str) -> list[str]:
    """Lines as the parser counts them: a form feed or a Unicode separator ends none."""
    lines: list[str] = []
    start = 0
    for index, char in enumerate(text):
        if char == "\n" or (char == "\r" and text[index + 1 : index + 2] != "\n"):
            lines.append(text[start : index + 1])
            start = index + 1
    return [*lines, text[start:]] if start < len(text) else lines


def _blank(lines: list[str], node: ast.Assert) -> None:
    """Replaces one statement; columns of the tree count UTF-8 bytes."""
    assert node.end_lineno is not None and node.end_col_offset is not None
    first, last = node.lineno - 1, node.end_lineno - 1
    before = lines[first].encode("utf-8", "surrogatepass")[: node.col_offset]
    after = lines[last].encode("utf-8", "surrogatepass")[node.end_col_offset :]
    ending = after.decode("utf-8", "surrogatepass")
    head = before.decode("utf-8", "surrogatepass") + "pass"
    if first == last:
        lines[first] = head + ending
        return
    # What follows on the last line must stay on its line and still be a statement.
    rest = ending.lstrip(" \t")
    lines[last] = rest[1:].lstrip(" \t") if rest.startswith(";") else ending.lstrip(" \t")
    for index in range(first + 1, last):
        lines[index] = "\n"
    lines[first] = head + "\n"
