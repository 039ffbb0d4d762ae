"""Patterns: Python text with holes that is matched against a program's syntax tree and written out
again with what the holes stand for.

`$name` stands for one expression or name. `$$name` stands for the remaining arguments of a call or
elements of a display, or, alone on a line, for one or more statements; `$$before` and `$$after` may
stand for none. Equal names stand for equal text. Lines of a replacement that are also lines of the
pattern keep their layout and comments.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from agent.search.program import Program, Splice
from agent.search.program.blocks import block_of, indented, is_elif
from agent.search.program.source import CONDITIONAL, Source, needed

_WRITTEN = re.compile(r"\$(\$?)([a-z]+)")
_ONE, _MANY = "one_hole_", "many_holes_"
_HOLE = re.compile(f"({_ONE}|{_MANY})([a-z]+)")
OPTIONAL = frozenset({"before", "after"})
"""Names of holes for statements of which there may be none."""
_ONLY = -1
"""In place of how tightly the only argument of a call must bind."""
_LAYOUT = frozenset({"ctx", "kind", "type_comment", "type_params"})

Bound = ast.AST | str | list[ast.AST]
Bindings = Mapping[str, Bound]
"""What each hole stands for: a node, a name, or several nodes."""


def _plain(text: str) -> str:
    return _WRITTEN.sub(lambda found: (_MANY if found[1] else _ONE) + found[2], text)


class Pattern:
    """What is looked for: an expression, or statements that follow each other in a block."""

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
        """Of the node at which it is looked for."""

    def match(self, program: Program, node: ast.AST, known: Bindings) -> Match | None:
        """What the holes stand for at a node; `known` are holes that are filled already."""
        found = Match(program, dict(known))
        if isinstance(self._root, ast.expr):
            found.nodes = [node]
            return found if self._same(self._root, node, found) else None
        if not isinstance(node, ast.stmt) or is_elif(program, node):
            return None
        block = block_of(program, node)
        first = block.index(node)
        last = None if _many(self._root[-1]) is not None else first + len(self._root)
        found.nodes = [*block[first:last]]
        is_own = self._all(self._root, found.nodes, found, least=1) and all(
            program.alone(one) for one in found.nodes if isinstance(one, ast.stmt)
        )
        return found if is_own else None

    def _same(self, pattern: object, node: object, found: Match) -> bool:
        if isinstance(pattern, ast.Name) and (hole := _HOLE.fullmatch(pattern.id)):
            return isinstance(node, ast.expr) and found.bind(hole[2], node)
        if isinstance(pattern, str) and (hole := _HOLE.search(pattern)):
            start, end = hole.span()
            whole = isinstance(node, str) and len(node) >= len(pattern) - (end - start)
            if not whole or not isinstance(node, str):
                return False
            head, tail = pattern[:start], pattern[end:]
            name = node[len(head) : len(node) - len(tail)]
            return node == head + name + tail and found.bind(hole[2], name)
        if isinstance(pattern, ast.Call):
            return isinstance(node, ast.Call) and self._same_call(pattern, node, found)
        if isinstance(pattern, ast.AST):
            if type(pattern) is not type(node):
                return False
            if isinstance(pattern, ast.stmt) and isinstance(node, ast.stmt):
                found.statements.append((self._source.lines[pattern.lineno - 1].strip(), node))
            return all(
                self._same(value, getattr(node, name, None), found)
                for name, value in ast.iter_fields(pattern) if name not in _LAYOUT
            )
        if isinstance(pattern, list):
            least = int(bool(pattern) and isinstance(pattern[0], ast.stmt))
            return isinstance(node, list) and self._all(pattern, node, found, least)
        return type(pattern) is type(node) and pattern == node

    def _same_call(self, pattern: ast.Call, node: ast.Call, found: Match) -> bool:
        """Keywords stand in any order; what the pattern does not name goes to its `$$name`."""
        given = {one.arg: one for one in node.keywords}
        if not self._same(pattern.func, node.func, found):
            return False
        for one in pattern.keywords:
            if one.arg not in given or not self._same(one.value, given.pop(one.arg).value, found):
                return False
        further = [one for one in node.keywords if one.arg in given]
        return self._all(pattern.args, [*node.args, *further], found, least=0)

    def _all(
        self, patterns: Sequence[object], nodes: Sequence[ast.AST], found: Match, least: int
    ) -> bool:
        if not patterns:
            return not nodes
        first, rest = patterns[0], patterns[1:]
        name = _many(first)
        if name is None:
            return bool(nodes) and self._same(first, nodes[0], found) and (
                self._all(rest, nodes[1:], found, least)
            )
        before = dict(found.holes)
        for count in range(len(nodes), least * (name not in OPTIONAL) - 1, -1):
            if found.bind(name, [*nodes[:count]]) and self._all(rest, nodes[count:], found, least):
                return True
            found.holes = dict(before)
        return False


class Match:
    """Where a pattern was found, and what its holes stand for."""

    def __init__(self, program: Program, holes: dict[str, Bound]) -> None:
        self._program = program
        self.holes = holes
        self.nodes: list[ast.AST] = []
        self.statements: list[tuple[str, ast.stmt]] = []
        """Lines of the pattern, with the program's statements that begin so."""

    def bind(self, name: str, value: Bound) -> bool:
        """Whether a hole may stand for a value: one that is filled stands for the same text."""
        if name in self.holes:
            return self.code(name) == _code(self._program, value)
        self.holes[name] = value
        return True

    def code(self, name: str) -> str:
        """The text that a hole stands for."""
        return _code(self._program, self.holes[name])

    @cached_property
    def kept(self) -> dict[str, str]:
        """Lines of the pattern, with the program's own text of them."""
        program, kept = self._program, {}
        for line, node in self.statements:
            start, end = program.whole_lines(node)
            body = getattr(node, "body", None)
            kept[line] = program.between(start, program.whole_lines(body[0])[0] if body else end)
        return kept


class Replacement:
    """What is written in a pattern's place."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._source = Source(_plain(text))

    @cached_property
    def _needs(self) -> dict[int, int]:
        """How tightly what stands for a hole must bind, by the hole's place in the plain text."""
        source = self._source
        found = {}
        for node in source.nodes:
            if isinstance(node, ast.Name):
                parent = source.parents.get(node)
                is_only = isinstance(parent, ast.Call) and (
                    parent.args == [node] and not parent.keywords
                )
                found[source.start(node)] = _ONLY if is_only else needed(node, parent)
        return found

    def splice(self, program: Program, found: Match, cost: float) -> Splice:
        """The edit at the place where a pattern was found."""
        first, last = found.nodes[0], found.nodes[-1]
        if isinstance(first, ast.expr):
            return program.replace(first, self._written(program, found, 0, len(self._source.data)),
                                   cost)
        assert isinstance(first, ast.stmt) and isinstance(last, ast.stmt)
        indent, text = program.indent(first), ""
        for number, line in enumerate(self._source.lines, 1):
            deeper = indent + program.step * ((len(line) - len(line.lstrip())) // 4)
            many = _HOLE.fullmatch(line.strip())
            if many is not None and many[1] == _MANY:
                lines = _lines(program, found.holes[many[2]])
            elif line.strip() in found.kept:
                lines = found.kept[line.strip()]
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
            if not inner:  # no further arguments
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
        return program.grouped(value, CONDITIONAL if need == _ONLY else need)


def _many(pattern: object) -> str | None:
    """The hole that stands for several nodes."""
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
    """The whole lines of statements that follow each other."""
    assert isinstance(statements, list)
    if not statements:
        return ""
    first, last = statements[0], statements[-1]
    assert isinstance(first, ast.stmt) and isinstance(last, ast.stmt)
    return program.between(program.whole_lines(first)[0], program.whole_lines(last)[1])


def _line(program: Program, first: ast.stmt, last: ast.stmt) -> int:
    """The line that raised if it is among them, else the first."""
    raised = program.crash.line if program.crash else None
    inside = raised is not None and first.lineno <= raised <= (last.end_lineno or 0)
    return raised if inside and raised is not None else first.lineno
