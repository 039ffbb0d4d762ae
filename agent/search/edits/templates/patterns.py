"""Patterns: Python code with holes that is matched against syntax trees, and replacements.

`$name` matches one expression or name. `$$name` matches the remaining arguments of a call or
elements of a display, or, alone on a line, one or more statements; `$$before` and `$$after` may
match none. Equal names match equal text. Lines of a replacement that are also lines of the pattern
keep their layout and comments.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from agent.search.program import Program, Splice
from agent.search.program.blocks import block_of, indented, is_elif
from agent.search.program.source import Precedence, Source, min_precedence

_HOLE_SYNTAX = re.compile(r"\$(\$?)([a-z]+)")
_ONE, _MANY = "one_hole_", "many_holes_"
_HOLE = re.compile(f"({_ONE}|{_MANY})([a-z]+)")
OPTIONAL = frozenset({"before", "after"})
"""Names of holes that may match no statement."""
_ONLY = -1
"""Marks the only argument of a call, instead of a precedence."""
_LAYOUT = frozenset({"ctx", "kind", "type_comment", "type_params"})

Bound = ast.AST | str | list[ast.AST]
Bindings = Mapping[str, Bound]
"""What each hole matched: a node, a name, or several nodes."""


def _plain(text: str) -> str:
    return _HOLE_SYNTAX.sub(lambda found: (_MANY if found[1] else _ONE) + found[2], text)


class Pattern:
    """An expression, or consecutive statements of a block, to search for."""

    def __init__(self, text: str, *, statement: bool = False) -> None:
        self._source = Source(_plain(text))
        body: list[ast.stmt] = self._source.tree.body
        first = body[0]
        self._root: list[ast.stmt] | ast.expr = body
        if isinstance(first, ast.Expr) and not statement:
            self._root = first.value
        anything = isinstance(self._root, ast.Name) and self._root.id.startswith(_ONE)
        self.kind: type[ast.AST] = (
            ast.expr if anything
            else type(first) if isinstance(self._root, list) else type(self._root)
        )
        """The kind of node at which a match can begin."""

    def match(self, program: Program, node: ast.AST, known: Bindings) -> Match | None:
        """Matches the pattern at a node; `known` are holes that are filled already."""
        found = Match(program, dict(known))
        if isinstance(self._root, ast.expr):
            found.nodes = [node]
            return found if self._match(self._root, node, found) else None
        if not isinstance(node, ast.stmt) or is_elif(program, node):
            return None
        block = block_of(program, node)
        first = block.index(node)
        last = None if _many_hole_name(self._root[-1]) is not None else first + len(self._root)
        found.nodes = [*block[first:last]]
        is_match = self._match_all(self._root, found.nodes, found, least=1) and all(
            program.has_own_lines(one) for one in found.nodes if isinstance(one, ast.stmt)
        )
        return found if is_match else None

    def _match(self, pattern: object, node: object, found: Match) -> bool:
        if isinstance(pattern, ast.Name) and (hole := _HOLE.fullmatch(pattern.id)):
            return isinstance(node, ast.expr) and found.bind(hole[2], node)
        if isinstance(pattern, str) and (hole := _HOLE.search(pattern)):
            start, end = hole.span()
            if not isinstance(node, str) or len(node) < len(pattern) - (end - start):
                return False
            head, tail = pattern[:start], pattern[end:]
            name = node[len(head) : len(node) - len(tail)]
            return node == head + name + tail and found.bind(hole[2], name)
        if isinstance(pattern, ast.Call):
            return isinstance(node, ast.Call) and self._match_call(pattern, node, found)
        if isinstance(pattern, ast.AST):
            if type(pattern) is not type(node):
                return False
            if isinstance(pattern, ast.stmt) and isinstance(node, ast.stmt):
                found.statements.append((self._source.lines[pattern.lineno - 1].strip(), node))
            return all(
                self._match(value, getattr(node, name, None), found)
                for name, value in ast.iter_fields(pattern) if name not in _LAYOUT
            )
        if isinstance(pattern, list):
            least = int(bool(pattern) and isinstance(pattern[0], ast.stmt))
            return isinstance(node, list) and self._match_all(pattern, node, found, least)
        return type(pattern) is type(node) and pattern == node

    def _match_call(self, pattern: ast.Call, node: ast.Call, found: Match) -> bool:
        """Matches keywords in any order; those the pattern does not name go to its `$$name`."""
        given = {one.arg: one for one in node.keywords}
        if not self._match(pattern.func, node.func, found):
            return False
        for one in pattern.keywords:
            if one.arg not in given or not self._match(one.value, given.pop(one.arg).value, found):
                return False
        further = [one for one in node.keywords if one.arg in given]
        return self._match_all(pattern.args, [*node.args, *further], found, least=0)

    def _match_all(
        self, patterns: Sequence[object], nodes: Sequence[ast.AST], found: Match, least: int
    ) -> bool:
        if not patterns:
            return not nodes
        first, rest = patterns[0], patterns[1:]
        name = _many_hole_name(first)
        if name is None:
            return bool(nodes) and self._match(first, nodes[0], found) and (
                self._match_all(rest, nodes[1:], found, least)
            )
        before = dict(found.holes)
        for count in range(len(nodes), least * (name not in OPTIONAL) - 1, -1):
            if found.bind(name, [*nodes[:count]]) and (
                self._match_all(rest, nodes[count:], found, least)
            ):
                return True
            found.holes = dict(before)
        return False


class Match:
    """The nodes that a pattern matched, and the values of its holes."""

    def __init__(self, program: Program, holes: dict[str, Bound]) -> None:
        self._program = program
        self.holes = holes
        self.nodes: list[ast.AST] = []
        self.statements: list[tuple[str, ast.stmt]] = []
        """Lines of the pattern with the statements of the program that they matched."""

    def bind(self, name: str, value: Bound) -> bool:
        """Fills a hole; a filled one accepts only a value with the same text."""
        if name in self.holes:
            return self.code(name) == _code(self._program, value)
        self.holes[name] = value
        return True

    def code(self, name: str) -> str:
        """The source text of a hole."""
        return _code(self._program, self.holes[name])

    @cached_property
    def original_lines(self) -> dict[str, str]:
        """Lines of the pattern with their text in the program."""
        program, lines = self._program, {}
        for line, node in self.statements:
            start, end = program.whole_lines(node)
            body = getattr(node, "body", None)
            lines[line] = program.between(start, program.whole_lines(body[0])[0] if body else end)
        return lines


class Replacement:
    """The code that replaces a match."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._source = Source(_plain(text))

    @cached_property
    def _needs(self) -> dict[int, int]:
        """The least precedence of a hole's value, by the offset of the hole in the plain text."""
        source = self._source
        found = {}
        for node in source.nodes:
            if isinstance(node, ast.Name):
                parent = source.parents.get(node)
                is_only = isinstance(parent, ast.Call) and (
                    parent.args == [node] and not parent.keywords
                )
                found[source.start(node)] = _ONLY if is_only else min_precedence(node, parent)
        return found

    def splice(self, program: Program, found: Match, cost: float) -> Splice:
        """The edit that replaces a match."""
        first, last = found.nodes[0], found.nodes[-1]
        if isinstance(first, ast.expr):
            written = self._written(program, found, 0, len(self._source.data))
            return program.replace(first, written, cost)
        assert isinstance(first, ast.stmt) and isinstance(last, ast.stmt)
        indent, text = program.indent(first), ""
        for number, line in enumerate(self._source.lines, 1):
            deeper = indent + program.indent_unit * ((len(line) - len(line.lstrip())) // 4)
            many = _HOLE.fullmatch(line.strip())
            if many is not None and many[1] == _MANY:
                lines = _lines(program, found.holes[many[2]])
            elif line.strip() in found.original_lines:
                lines = found.original_lines[line.strip()]
            else:
                start = self._source.line_start(number)
                text += deeper + self._written(
                    program, found, start + len(line) - len(line.lstrip()), start + len(line)
                ) + program.newline
                continue
            if lines and not lines.endswith(("\n", "\r")):
                lines += program.newline
            text += indented(lines, deeper)
        start, end = program.whole_lines(first)[0], program.whole_lines(last)[1]
        return Splice(start, end, text, cost, _line(program, first, last))

    def _written(self, program: Program, found: Match, start: int, end: int) -> str:
        plain, text, at = self._source.between(start, end), "", 0
        for hole in _HOLE.finditer(plain):
            before = plain[at : hole.start()]
            inner = self._filled(program, found.holes[hole[2]], start + hole.start())
            at = hole.end()
            if not inner:  # `$$name` matched no arguments
                before = before.removesuffix(", ")
                at += 2 * (before.endswith("(") and plain.startswith(", ", at))
            text += before + inner
        return text + plain[at:]

    def _filled(self, program: Program, value: Bound, place: int) -> str:
        if isinstance(value, list):
            return ", ".join(program.code(one) for one in value)  # type: ignore[arg-type]
        need = self._needs.get(place)
        if isinstance(value, str) or need is None:
            return _code(program, value)
        assert isinstance(value, ast.expr)
        if isinstance(value, ast.GeneratorExp) and need == _ONLY:
            return program.code(value)[1:-1]  # the call's parentheses are enough
        return program.parenthesized(value, Precedence.CONDITIONAL if need == _ONLY else need)


def _many_hole_name(pattern: object) -> str | None:
    """The name of a `$$name` hole, or `None` for any other pattern."""
    one = pattern.value if isinstance(pattern, ast.Expr) else pattern
    hole = _HOLE.fullmatch(one.id) if isinstance(one, ast.Name) else None
    return hole[2] if hole is not None and hole[1] == _MANY else None


def _code(program: Program, value: Bound) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return _lines(program, value) if value and isinstance(value[0], ast.stmt) else ", ".join(
            program.code(one) for one in value  # type: ignore[arg-type]
        )
    return program.code(value)  # type: ignore[arg-type]


def _lines(program: Program, statements: Bound) -> str:
    """The whole lines of consecutive statements."""
    assert isinstance(statements, list)
    if not statements:
        return ""
    first, last = statements[0], statements[-1]
    assert isinstance(first, ast.stmt) and isinstance(last, ast.stmt)
    return program.between(program.whole_lines(first)[0], program.whole_lines(last)[1])


def _line(program: Program, first: ast.stmt, last: ast.stmt) -> int:
    """The line that raised if it is within the statements, else their first line."""
    raised = program.crash.line if program.crash else None
    if raised is not None and first.lineno <= raised <= (last.end_lineno or 0):
        return raised
    return first.lineno
