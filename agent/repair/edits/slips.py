"""Edits of slips of the pen: a comma too many or too few, a forgotten prefix, a wrong handler."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from agent.repair.edits.blocks import SIMPLE, in_loop, indented, is_docstring, lines_of
from agent.repair.program import Program, Splice

_FIELD = re.compile(r"\{(\w+)[^{}]*\}")
_DIRECTIVE = re.compile(r"%[A-Za-z]")
_SWAPPED_CASE = {"m": "M", "M": "m", "d": "D", "y": "Y", "Y": "y", "h": "H", "H": "I", "I": "H",
                 "s": "S", "S": "s", "b": "B", "B": "b", "a": "A", "A": "a"}

HANDLED = {
    "ValueError": ("TypeError",), "TypeError": ("ValueError",), "KeyError": ("IndexError",),
    "IndexError": ("KeyError", "ValueError"), "ZeroDivisionError": (), "AttributeError": (),
    "StopIteration": (), "FileNotFoundError": (), "UnicodeDecodeError": (), "OverflowError": (),
}
"""Exceptions that programs expect, and those they are mistaken for."""


def comma(program: Program, node: ast.Constant) -> Iterator[Splice]:
    """A comma between two strings that stand side by side."""
    if not isinstance(node.value, str) or node in program.hidden:
        return
    parent = program.parents.get(node)
    if not isinstance(parent, ast.List | ast.Tuple | ast.Set | ast.Call):
        return
    text = program.code(node)
    if text.count("'") + text.count('"') < 4:
        return
    try:
        tokens = [*tokenize.generate_tokens(io.StringIO(f"({text})").readline)]
    except (tokenize.TokenError, SyntaxError):
        return
    offset = 0
    rows = [0]
    for row in f"({text})".splitlines(keepends=True):
        offset += len(row.encode())
        rows.append(offset)
    strings = [one for one in tokens if one.type == tokenize.STRING]
    shown = f"({text})".splitlines()
    for one in strings[:-1]:
        line, column = one.end
        at = program.start(node) + rows[line - 1] + len(shown[line - 1][:column].encode()) - 1
        yield Splice(at, at, ",", 1.6, node.lineno)


def single(program: Program, node: ast.Return | ast.Assign) -> Iterator[Splice]:
    """`(x)` where `(x,)` was meant."""
    value = node.value
    if value is None or isinstance(value, ast.Tuple):
        return
    start, end = program.start(value), program.end(value)
    before, after = program.data[:start].rstrip(), program.data[end:]
    if before.endswith(b"(") and after.lstrip().startswith(b")"):
        yield Splice(end, end, ",", 2.4, node.lineno)


def formatted(program: Program, node: ast.Constant) -> Iterator[Splice]:
    """An `f` forgotten before a string with a variable in braces."""
    if not isinstance(node.value, str) or node in program.hidden or "{" not in node.value:
        return
    names = {match[1] for match in _FIELD.finditer(node.value)}
    text = program.code(node)
    if names & {*program.variables(node)} and text[:1] in "'\"":
        at = program.start(node)
        yield Splice(at, at, "f", 1.2, node.lineno)


def directives(program: Program, node: ast.Constant) -> Iterator[Splice]:
    """Parts of a format for dates exchanged, or in the other case."""
    value = node.value
    if not isinstance(value, str) or node in program.hidden:
        return
    found = [*_DIRECTIVE.finditer(value)]
    text = program.code(node)
    inner = [*_DIRECTIVE.finditer(text)]
    if not found or len(found) != len(inner):
        return

    def put(first: int, last: int, new: str, cost: float) -> Splice:
        return program.replace(node, text[:first] + new + text[last:], cost)

    for place, one in enumerate(inner):
        other = _SWAPPED_CASE.get(one[0][1:])
        if other:
            yield put(one.start(), one.end(), f"%{other}", 2.6)
        for later in inner[place + 1 :]:
            between = text[one.end() : later.start()]
            yield put(one.start(), later.end(), later[0] + between + one[0], 2.6)


def handler(program: Program, node: ast.ExceptHandler) -> Iterator[Splice]:
    """Another exception to expect, and first the one that was raised."""
    if not isinstance(node.type, ast.Name | ast.Tuple):
        return
    raised = program.crash.exception if program.crash else ""
    text = program.code(node.type)
    if raised in HANDLED and raised not in text:
        yield program.replace(node.type, raised, 1.4)
        parts = text[1:-1] if isinstance(node.type, ast.Tuple) else text
        yield program.replace(node.type, f"({parts.rstrip(', ')}, {raised})", 1.6)
    if isinstance(node.type, ast.Name):
        for other in HANDLED.get(node.type.id, ()):
            yield program.replace(node.type, other, 3.4)
            yield program.replace(node.type, f"({text}, {other})", 3.6)


def attempted(program: Program, node: ast.stmt) -> Iterator[Splice]:
    """The statement that raised what programs expect, with an answer for that case."""
    crash = program.crash
    if crash is None or crash.exception not in HANDLED or crash.line is None:
        return
    if not isinstance(node, SIMPLE) or is_docstring(node) or not program.alone(node):
        return
    assert node.end_lineno is not None
    if not node.lineno <= crash.line <= node.end_lineno or program.scope(node) is program.tree:
        return
    indent, end = program.indent(node), program.newline
    start, stop = program.whole_lines(node)
    body = indented(program, lines_of(program, node), indent + program.step)
    leaves = ["continue", "pass"] if in_loop(program, node) else ["pass"]
    leaves += [f"return {value}" for value in ("None", "0", "False", "[]", "''", "-1", "True")]
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        leaves += [f"{node.targets[0].id} = {value}" for value in ("None", "0", "''", "[]")]
    for place, leave in enumerate(leaves):
        text = (
            f"{indent}try:{end}{body}{indent}except {crash.exception}:{end}"
            f"{indent}{program.step}{leave}{end}"
        )
        yield Splice(start, stop, text, 3.0 + 0.05 * place, node.lineno)
