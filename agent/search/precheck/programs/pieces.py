"""Compiles a candidate by compiling only the top-level statement that was edited.

Running a module's statements one after the other is running the module. So the base is cut before
each statement, its pieces are compiled once, and a candidate shares all of them except the edited
one: in a long program that saves nearly all of the time. Step counters are inserted into each piece
separately, see `ticks`.
"""

from __future__ import annotations
import __future__

import ast
import re
from bisect import bisect_left, bisect_right
from types import CodeType

from agent.core.common_ends import common_ends
from agent.search.precheck.programs.ticks import CounterInserter, with_counters


class Pieces:
    """The compiled pieces of one base text; raises what `ast.parse` raises for a broken one."""

    def __init__(self, base: str, path: str) -> None:
        self._path = path
        self._base = base.encode("utf-8", "surrogatepass")
        tree = ast.parse(with_counters(base))  # on the same lines
        lines = [0, *(match.end() for match in re.finditer(rb"\r\n|\r|\n", self._base))]
        self._flags = _future_flags(tree)
        # The text before the first statement is a piece without statements.
        bodies: dict[int, list[ast.stmt]] = {0: []}
        last_line, start = 0, 0
        for node in tree.body:
            decorators = getattr(node, "decorator_list", None)
            line = decorators[0].lineno if decorators else node.lineno
            if line > last_line:
                start = lines[line - 1]
                bodies.setdefault(start, [])
            bodies[start].append(node)
            last_line = node.end_lineno or line
        self._cuts = sorted({*bodies, len(self._base)})
        self._lines = [bisect_right(lines, cut) - 1 for cut in self._cuts]
        # Compiling a part of the tree keeps its line numbers and parses nothing again.
        self._codes = [self._compiled(ast.Module(body, [])) for body in bodies.values()]
        self._elsewhere: dict[tuple[int, int], CodeType] = {}
        self._spliced: dict[int, CounterInserter] = {}

    def compiled(self, text: str) -> list[CodeType]:
        """The text's code in the order it runs; raises what `compile` raises."""
        data = text.encode("utf-8", "surrogatepass")
        start, tail = common_ends(self._base, data)
        end, shift = len(self._base) - tail, len(data) - len(self._base)
        first = bisect_right(self._cuts, start, 0, len(self._cuts) - 1) - 1
        after = bisect_left(self._cuts, end)
        last = len(self._cuts) - 1
        if data[: self._cuts[after] + shift][-1:] not in (b"\n", b"") and after < last:
            after += 1
        middle = data[self._cuts[first] : self._cuts[after] + shift]
        before = self._codes[:first]
        text = middle.decode("utf-8", "surrogatepass")
        changed = self._code(
            self._piece(first).text(text) if after == first + 1 else with_counters(text),
            self._lines[first],
        )
        moved = middle.count(b"\n") - (self._lines[after] - self._lines[first])
        if not moved or after == last:
            return [*before, changed, *self._codes[after:last]]
        return [*before, changed, *(self._moved(index, moved) for index in range(after, last))]

    def _moved(self, index: int, lines: int) -> CodeType:
        """A piece of the base, moved down by some lines."""
        code = self._elsewhere.get((index, lines))
        if code is None:
            text = with_counters(self._text(index))
            code = self._elsewhere[index, lines] = self._code(text, self._lines[index] + lines)
        return code

    def _piece(self, index: int) -> CounterInserter:
        """A piece of the base, for candidates with an edit in it."""
        if index not in self._spliced:
            self._spliced[index] = CounterInserter(self._text(index))
        return self._spliced[index]

    def _text(self, index: int) -> str:
        data = self._base[self._cuts[index] : self._cuts[index + 1]]
        return data.decode("utf-8", "surrogatepass")

    def _code(self, text: str, line: int) -> CodeType:
        return self._compiled("\n" * line + text)

    def _compiled(self, source: str | ast.Module) -> CodeType:
        code: CodeType = compile(source, self._path, "exec", flags=self._flags, dont_inherit=True)
        return code


def _future_flags(tree: ast.Module) -> int:
    """The compiler flags of `from __future__` imports, which apply to every piece."""
    flags = 0
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for alias in node.names:
                flags |= getattr(__future__, alias.name).compiler_flag
    return flags
