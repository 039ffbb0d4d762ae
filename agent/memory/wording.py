"""What an edit puts in, in the words of the program that it is put into."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from agent.memory.patterns import PLACEHOLDER, Match
from agent.repair.program import Program
from agent.trees import parse

MOST_NAMES_TRIED = 4
"""Names of the new place that are tried where the edit brings one in from elsewhere."""

_STEPS = re.compile(r"^(?: {4})+", re.MULTILINE)
_KEPT = re.compile(r"__kept_(\d+)__")


def filled(
    program: Program, new: str, match: Match, place: ast.stmt
) -> Iterator[tuple[ast.Module, Match]]:
    """What is put in, in this program's words. A name that the edit brought in from elsewhere
    is tried as each of the nearest names of the place."""
    pattern = parse(new)
    free = [
        word for word in dict.fromkeys(_words(pattern)) if word not in match.words
    ]
    if not free:
        yield pattern, match
        return
    if len(free) > 1 or not free[0].startswith("NAME"):
        return
    taken = set(match.words.values())
    names = [name for name in program.variables(place) if name not in taken]
    for name in names[:MOST_NAMES_TRIED]:
        words = {**match.words, free[0]: name}
        yield parse(new), Match(words, match.edited, match.seen)


def _words(pattern: ast.AST) -> Iterator[str]:
    for node in ast.walk(pattern):
        for name, value in ast.iter_fields(node):
            if isinstance(value, str) and name != "value" and PLACEHOLDER.match(value):
                yield value


class _Worded(ast.NodeTransformer):
    """Puts a program's own words, and its own text where an expression is the same."""

    def __init__(self, program: Program, match: Match) -> None:
        self._program = program
        self._match = match
        self.kept: list[str] = []

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.Name | ast.Constant | ast.Call | ast.Subscript | ast.List
                      | ast.Dict | ast.JoinedStr):
            own = self._match.seen.get(ast.dump(node))
            code = self._program.code(own) if own is not None else ""
            if code and "\n" not in code:
                self.kept.append(code)
                return ast.Name(f"__kept_{len(self.kept) - 1}__", ast.Load())
        for name, value in ast.iter_fields(node):
            if isinstance(value, str) and name != "value" and value in self._match.words:
                word = self._match.words[value]
                if isinstance(word, ast.Constant):
                    return word
                setattr(node, name, word)
        return self.generic_visit(node)


def rendered(program: Program, node: ast.AST, match: Match) -> str:
    """The text of one pattern's node in this program."""
    worded = _Worded(program, match)
    text = ast.unparse(ast.fix_missing_locations(worded.visit(node)))
    return _KEPT.sub(lambda found: worded.kept[int(found[1])], text)


def block_text(program: Program, new: ast.Module, match: Match) -> str:
    """Statements of a pattern in this program, not yet indented."""
    text = "\n".join(rendered(program, one, match) for one in new.body)
    return _STEPS.sub(lambda found: program.step * (len(found[0]) // 4), text)
