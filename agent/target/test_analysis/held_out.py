"""A pytest file without one of its tests, for whoever must not see that test.

What only that test uses goes with it: tables, fixtures and helpers, comments right above. Every
other line keeps its number. Where the test cannot be parted cleanly from the others there is no
such file, and the test is not held out: a table that others use too would tell what it expects.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Sequence

from agent.core.trees import is_legible, parse, tree_of
from agent.target.parsing import Definition, FunctionNode, lines_of, names_in

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
"""A line as Python counts them, with its end; `str.splitlines` knows more ends."""
_CALLED_BY_PYTEST = re.compile(
    r"__|pytestmark$|pytest_|(?:setup|teardown)(?:_module|_function|_class|_method)?$|"
    r"(?:setUp|tearDown)(?:Class|Module)?$"
)


def file_without_test(code: str, node: str) -> str | None:
    """The file without the test of this node, a pytest node id without the file's name; `None`
    where it cannot be parted from the others."""
    body = _parsed(code)
    place = _place(body, node.split("::"))
    gone = None if place is None else _with_what_it_uses(body, *place)
    return None if gone is None else _blanked(code, gone)


def contains_test(code: str, node: str, text: str) -> bool:
    """Whether the test of this node stands in a text, however it is spaced. Without a node, or
    where there is no such test, all of the code must."""
    return "".join(text_of_test(code, node).split()) in "".join(text.split())


def text_of_test(code: str, node: str) -> str:
    """The text of the test of this node; all of the code where there is no such test."""
    place = _place(_parsed(code), node.split("::"))
    if place is None:
        return code
    lines = _LINE.findall(code)
    return "".join(lines[_first_line(place[0], lines, comments=False) : place[0].end_lineno])


def _parsed(code: str) -> list[ast.stmt]:
    """Its statements, shared with other readers; none where it is no Python."""
    return tree_of(code).body if is_legible(code) else []


def _place(
    body: Sequence[ast.stmt], path: Sequence[str]
) -> tuple[Definition, Sequence[ast.ClassDef]] | None:
    """A test, or its class where nothing else is tested there, and the classes around that stay."""
    owners: list[ast.ClassDef] = []
    scope = body
    found: Definition | None = None
    for name in path:
        named = [one for one in scope if isinstance(one, Definition) and one.name == name]
        if len(named) != 1:
            return None  # inherited, made under a condition, or made twice
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


def _with_what_it_uses(
    body: Sequence[ast.stmt], test: Definition, owners: Sequence[ast.ClassDef]
) -> list[ast.stmt] | None:
    """The test and the definitions that serve it alone; `None` where that is not clear."""
    units = [
        _Unit(one) for scope in (body, *(owner.body for owner in owners)) for one in scope
        if one not in (test, *owners)
    ]
    heads = _words(
        part for owner in owners
        for part in (*owner.bases, *owner.keywords, *owner.decorator_list)
    )
    serving = _closure(units, _words([test]))
    alone = [one for one in serving if one.can_go]
    while True:
        rest = heads.union(*(one.words for one in units if one not in alone))
        if not any(one.binds & rest for one in alone):
            break
        alone = [one for one in alone if not one.binds & rest]
    if {test.name, *(one.name for one in owners)} & rest:
        return None
    if any(one.holds_values for one in serving if one not in alone):
        return None
    return [test, *(one.node for one in alone)]


class _Unit:
    """A statement, the names it defines, and the words it uses."""

    def __init__(self, node: ast.stmt) -> None:
        self.node = node
        self.binds = _bound(node)
        self.words = _words([node])

    @property
    def can_go(self) -> bool:
        """Whether nothing but its names is of use to anyone."""
        return not (
            any(map(_CALLED_BY_PYTEST.match, self.binds)) or _is_test(self.node)
            or "autouse" in self.words
        )

    @property
    def holds_values(self) -> bool:
        """A table: what stands in it may be what a test expects."""
        if not isinstance(self.node, ast.Assign | ast.AnnAssign):
            return False
        return any(
            isinstance(one, ast.List | ast.Tuple | ast.Set | ast.Dict)
            and any(isinstance(part, ast.Constant) for part in ast.walk(one))
            for one in ast.walk(self.node)
        )


def _words(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """All words by which these may mean something: names, parameters, by which pytest gives
    fixtures, and strings, by which they are asked for and names are patched."""
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
    """Definitions of these names, and of those that they use."""
    found: list[_Unit] = []
    while True:
        more = [one for one in units if one not in found and one.binds & wanted]
        if not more:
            return found
        found += more
        wanted = wanted.union(*(one.words for one in more))


def _bound(node: ast.stmt) -> frozenset[str]:
    """Names that a statement defines, where it does nothing else."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return frozenset({name})
        case ast.Assign() | ast.AnnAssign() if not any(
            isinstance(one, ast.Attribute | ast.Subscript) and isinstance(one.ctx, ast.Store)
            for one in ast.walk(node)
        ):
            return names_in(node).binds
    return frozenset()


def _is_test(node: ast.stmt) -> bool:
    """Whether pytest may find a test in a definition."""
    if isinstance(node, ast.ClassDef):
        return node.name.startswith("Test") or any(map(_is_test, node.body))
    return isinstance(node, FunctionNode) and node.name.startswith("test")


def _blanked(code: str, gone: Sequence[ast.stmt]) -> str | None:
    """The text with these statements taken out; `None` where anything else would change, or a
    class be empty."""
    lines = _LINE.findall(code)
    for node in gone:
        for number in range(_first_line(node, lines), node.end_lineno or node.lineno):
            lines[number] = lines[number][len(lines[number].rstrip("\r\n")) :]
    text = "".join(lines)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = _Without(gone).visit(parse(code))  # a tree of its own, as it is changed
    try:
        return text if ast.dump(tree_of(text)) == ast.dump(wanted) else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _Without(ast.NodeTransformer):
    """Takes statements out of a tree of the same text."""

    def __init__(self, gone: Iterable[ast.stmt]) -> None:
        self._places = {(one.lineno, one.col_offset) for one in gone}

    def generic_visit(self, node: ast.AST) -> ast.AST | None:  # type: ignore[override]
        gone = isinstance(node, ast.stmt) and (node.lineno, node.col_offset) in self._places
        return None if gone else super().generic_visit(node)


def _first_line(node: ast.stmt, lines: Sequence[str], *, comments: bool = True) -> int:
    """Where a statement begins, with its decorators, and the comments right above."""
    first = lines_of(node).start - 1
    while comments and first and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return first
