"""Removes a held-out test from a pytest file, so that the repair cannot see it.

Tables, fixtures, helpers and comments that only this test uses are removed too. All other lines
keep their numbers. A test that cannot be separated cleanly is not held out, because a shared table
would reveal what it expects.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Sequence

from agent.core.trees import is_parsable, parse, tree_of
from agent.target.parsing import Definition, FunctionNode, lines_of, name_usage

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
"""A line with its end, as Python counts lines; `str.splitlines` knows more line ends."""
_CALLED_BY_PYTEST = re.compile(
    r"__|pytestmark$|pytest_|(?:setup|teardown)(?:_module|_function|_class|_method)?$|"
    r"(?:setUp|tearDown)(?:Class|Module)?$"
)


def file_without_test(code: str, node: str) -> str | None:
    """The file without a test; `None` if the test cannot be separated from the others.

    `node` is a pytest node id without the file name.
    """
    body = _parsed(code)
    place = _locate_test(body, node.split("::"))
    removed = None if place is None else _with_its_helpers(body, *place)
    return None if removed is None else _blanked(code, removed)


def contains_test(code: str, node: str, text: str) -> bool:
    """Whether a text contains the test of a node, ignoring white space.

    Without such a test it must contain the whole code.
    """
    return "".join(text_of_test(code, node).split()) in "".join(text.split())


def text_of_test(code: str, node: str) -> str:
    """The text of the test of a node, or the whole code if there is no such test."""
    place = _locate_test(_parsed(code), node.split("::"))
    if place is None:
        return code
    lines = _LINE.findall(code)
    return "".join(lines[_first_line(place[0], lines, comments=False) : place[0].end_lineno])


def _parsed(code: str) -> list[ast.stmt]:
    """The shared statements of a text; empty if it does not parse."""
    return tree_of(code).body if is_parsable(code) else []


def _locate_test(
    body: Sequence[ast.stmt], path: Sequence[str]
) -> tuple[Definition, Sequence[ast.ClassDef]] | None:
    """A test, or its class if it has no other test, and the enclosing classes that stay."""
    owners: list[ast.ClassDef] = []
    scope = body
    found: Definition | None = None
    for name in path:
        named = [one for one in scope if isinstance(one, Definition) and one.name == name]
        if len(named) != 1:
            return None  # inherited, defined under a condition, or defined twice
        found = named[0]
        if isinstance(found, ast.ClassDef):
            owners.append(found)
            scope = found.body
    if not isinstance(found, FunctionNode):
        return None
    test: Definition = found
    classes = {one.name for one in body if isinstance(one, ast.ClassDef)}
    while owners:
        others = [one for one in owners[-1].body if one is not test]
        if any(map(_is_test, others)) or _words(owners[-1].bases) & classes:
            break
        test = owners.pop()
    return test, owners


def _with_its_helpers(
    body: Sequence[ast.stmt], test: Definition, owners: Sequence[ast.ClassDef]
) -> list[ast.stmt] | None:
    """The test and the definitions that only it uses; `None` if that is not clear."""
    units = [
        _Unit(one) for scope in (body, *(owner.body for owner in owners)) for one in scope
        if one not in (test, *owners)
    ]
    heads = _words(
        part for owner in owners
        for part in (*owner.bases, *owner.keywords, *owner.decorator_list)
    )
    used = _closure(units, _words([test]))
    removed = [one for one in used if one.is_removable]
    while True:
        rest = heads.union(*(one.words for one in units if one not in removed))
        if not any(one.binds & rest for one in removed):
            break
        removed = [one for one in removed if not one.binds & rest]
    if {test.name, *(one.name for one in owners)} & rest:
        return None
    if any(one.holds_values for one in used if one not in removed):
        return None
    return [test, *(one.node for one in removed)]


class _Unit:
    """A statement, the names that it defines, and the words that it uses."""

    def __init__(self, node: ast.stmt) -> None:
        self.node = node
        self.binds = _bound(node)
        self.words = _words([node])

    @property
    def is_removable(self) -> bool:
        """Whether the statement has no effect except to define its names."""
        return not (
            any(map(_CALLED_BY_PYTEST.match, self.binds)) or _is_test(self.node)
            or "autouse" in self.words
        )

    @property
    def holds_values(self) -> bool:
        """Whether it is a table of values, which may contain expected results."""
        if not isinstance(self.node, ast.Assign | ast.AnnAssign):
            return False
        return any(
            isinstance(one, ast.List | ast.Tuple | ast.Set | ast.Dict)
            and any(isinstance(part, ast.Constant) for part in ast.walk(one))
            for one in ast.walk(self.node)
        )


def _words(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """All words by which nodes may refer to definitions.

    These are names, parameters (fixtures) and words in strings (fixtures and patched names).
    """
    found: set[str] = set()
    for node in (inner for one in nodes for inner in ast.walk(one)):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name) | ast.keyword(
                arg=str(name)
            ):
                found.add(name)
            case ast.Global(names=several) | ast.Nonlocal(names=several):
                found.update(several)
            case ast.Constant(value=str(text)):
                found.update(re.findall(r"\w+", text))
    return frozenset(found)


def _closure(units: Sequence[_Unit], wanted: frozenset[str]) -> list[_Unit]:
    """The definitions of these names and, transitively, of the names that they use."""
    found: list[_Unit] = []
    while True:
        more = [one for one in units if one not in found and one.binds & wanted]
        if not more:
            return found
        found += more
        wanted = wanted.union(*(one.words for one in more))


def _bound(node: ast.stmt) -> frozenset[str]:
    """The names that a statement defines, if it does nothing else."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return frozenset({name})
        case ast.Assign() | ast.AnnAssign() if not any(
            isinstance(one, ast.Attribute | ast.Subscript) and isinstance(one.ctx, ast.Store)
            for one in ast.walk(node)
        ):
            return name_usage(node).binds
    return frozenset()


def _is_test(node: ast.stmt) -> bool:
    """Whether pytest may collect a test from a definition."""
    if isinstance(node, ast.ClassDef):
        return node.name.startswith("Test") or any(map(_is_test, node.body))
    return isinstance(node, FunctionNode) and node.name.startswith("test")


def _blanked(code: str, removed: Sequence[ast.stmt]) -> str | None:
    """The text with these statements blanked; `None` if that changes anything else."""
    lines = _LINE.findall(code)
    for node in removed:
        for number in range(_first_line(node, lines), node.end_lineno or node.lineno):
            lines[number] = lines[number][len(lines[number].rstrip("\r\n")) :]
    text = "".join(lines)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = _Without(removed).visit(parse(code))  # a new tree, because it is changed
    try:
        return text if ast.dump(tree_of(text)) == ast.dump(wanted) else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _Without(ast.NodeTransformer):
    """Removes statements from another tree of the same text."""

    def __init__(self, removed: Iterable[ast.stmt]) -> None:
        self._places = {(one.lineno, one.col_offset) for one in removed}

    def generic_visit(self, node: ast.AST) -> ast.AST | None:  # type: ignore[override]
        is_removed = isinstance(node, ast.stmt) and (node.lineno, node.col_offset) in self._places
        return None if is_removed else super().generic_visit(node)


def _first_line(node: ast.stmt, lines: Sequence[str], *, comments: bool = True) -> int:
    """The index of the first line of a statement, its decorators and the comments above it."""
    first = lines_of(node).start - 1
    while comments and first and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return first
