"""A pytest file without one of its tests, for whoever must not see that test.

What only that test uses goes with it: tables, fixtures and helpers, comments right above. Every
other line keeps its number. Where the test cannot be parted cleanly from the others there is no
such file, and the test is not held out: a table that others use too would tell what it expects.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from agent.core.trees import is_legible, parse, tree_of

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
"""A line as Python counts them, with its end; `str.splitlines` knows more ends."""
_CALLED_BY_PYTEST = frozenset({
    "pytestmark", "pytest_plugins", "pytest_generate_tests",
    *(f"{when}{of}" for when in ("setup", "teardown")
      for of in ("", "_module", "_function", "_class", "_method")),
    *(f"{when}{of}" for when in ("setUp", "tearDown") for of in ("", "Class", "Module")),
})


def file_without_test(code: str, node: str) -> str | None:
    """The file without the test of this node, a pytest node id without the file's name; `None`
    where it cannot be parted from the others."""
    body = _parsed(code)
    place = _place(body, node.split("::"))
    gone = None if place is None else _with_what_it_uses(body, place)
    return None if gone is None else _blanked(code, gone)


def contains_test(code: str, node: str, text: str) -> bool:
    """Whether the test of this node stands in a text, however it is spaced. Without a node, or
    where there is no such test, all of the code must."""
    place = _place(_parsed(code), node.split("::"))
    if place is not None:
        lines = _LINE.findall(code)
        test = place.test
        code = "".join(lines[_first_line(test, lines, comments=False) : test.end_lineno])
    return "".join(code.split()) in "".join(text.split())


def _parsed(code: str) -> list[ast.stmt]:
    """Its statements, shared with other readers; none where it is no Python."""
    return tree_of(code).body if is_legible(code) else []


@dataclass(frozen=True)
class _Place:
    """A test to take out: alone, or with its class where nothing else is tested there."""

    test: Definition
    beside: Sequence[ast.stmt] = ()
    """What else stands in its class, and can be of use to it alone."""
    owners: Sequence[ast.ClassDef] = ()
    """Classes that stay, from the outermost."""


def _place(body: Sequence[ast.stmt], path: Sequence[str]) -> _Place | None:
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
    if not isinstance(found, Function):
        return None
    test: Definition = found
    classes = {one.name for one in body if isinstance(one, ast.ClassDef)}
    while owners:
        others = [one for one in owners[-1].body if one is not test]
        if any(map(_is_test, others)) or _Uses.of(owners[-1].bases).names & classes:
            return _Place(test, others, owners)
        test = owners.pop()
    return _Place(test)


def _with_what_it_uses(body: Sequence[ast.stmt], place: _Place) -> list[ast.stmt] | None:
    """The test and the definitions that serve it alone; `None` where that is not clear."""
    units = [_Unit(one) for one in body if one not in (place.test, *place.owners)]
    units += [_Unit(one, inside=True) for one in place.beside]
    frame = _Uses.of([
        part for owner in place.owners
        for part in (*owner.bases, *owner.keywords, *owner.decorator_list)
    ] + [
        one for owner, inner in zip(place.owners, place.owners[1:], strict=False)
        for one in owner.body if one is not inner
    ])
    serving = _closure(units, _Uses.of([place.test]).mentioned)
    alone = [one for one in serving if one.can_go]
    while True:
        rest = _Uses.all([frame, *(one.uses for one in units if one not in alone)])
        stays = [one for one in alone if one.binds & rest.by_name(inside=one.inside)]
        if not stays:
            break
        alone = [one for one in alone if one not in stays]
    owners = {one.name for one in place.owners}
    told = {place.test.name, *(name for one in alone for name in one.binds)}
    if (told | owners) & rest.mentioned:
        return None
    if any(one.holds_values for one in serving if one not in alone):
        return None
    return [place.test, *(one.node for one in alone)]


@dataclass(frozen=True)
class _Uses:
    """Names that code uses."""

    names: frozenset[str] = frozenset()
    """As names, or as parameters, by which pytest gives fixtures."""
    attributes: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    """In strings, by which fixtures are asked for and names are patched."""

    @classmethod
    def of(cls, nodes: Iterable[ast.AST]) -> _Uses:
        """What these use."""
        names, attributes, words = set[str](), set[str](), set[str]()
        for node in (inner for one in nodes for inner in ast.walk(one)):
            match node:
                case ast.Name(id=name) | ast.arg(arg=name):
                    names.add(name)
                case ast.Global(names=several) | ast.Nonlocal(names=several):
                    names.update(several)
                case ast.Attribute(attr=name):
                    attributes.add(name)
                case ast.Constant(value=str(text)):
                    words.update(re.findall(r"\w+", text))
        return cls(frozenset(names), frozenset(attributes), frozenset(words))

    @classmethod
    def all(cls, several: Iterable[_Uses]) -> _Uses:
        """What any of them uses."""
        found = list(several)
        return cls(
            frozenset().union(*(one.names for one in found)),
            frozenset().union(*(one.attributes for one in found)),
            frozenset().union(*(one.words for one in found)),
        )

    @property
    def mentioned(self) -> frozenset[str]:
        return self.names | self.attributes | self.words

    def by_name(self, *, inside: bool) -> frozenset[str]:
        """What is surely meant: of what stands in a class, an attribute too."""
        return self.names | self.attributes if inside else self.names


@dataclass(frozen=True, eq=False)
class _Unit:
    """A statement of the file, or of the class that holds the test."""

    node: ast.stmt
    inside: bool = False
    binds: frozenset[str] = field(init=False)
    uses: _Uses = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "binds", _bound(self.node))
        targets = {id(one) for one in _targets(self.node)}
        parts = [one for one in ast.iter_child_nodes(self.node) if id(one) not in targets]
        object.__setattr__(self, "uses", _Uses.of(parts))

    @property
    def can_go(self) -> bool:
        """Whether nothing but its names is of use to anyone."""
        return not (
            self.binds & _CALLED_BY_PYTEST
            or any(name.startswith("__") for name in self.binds)
            or _is_test(self.node)
            or "autouse" in {one.arg for one in ast.walk(self.node) if isinstance(one, ast.keyword)}
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


def _closure(units: Sequence[_Unit], wanted: frozenset[str]) -> list[_Unit]:
    """Definitions of these names, and of those that they use."""
    found: list[_Unit] = []
    while True:
        more = [one for one in units if one not in found and one.binds & wanted]
        if not more:
            return found
        found += more
        wanted = wanted.union(*(one.uses.mentioned for one in more))


def _targets(node: ast.stmt) -> Iterator[ast.expr]:
    match node:
        case ast.Assign(targets=targets):
            yield from targets
        case ast.AnnAssign(target=target, value=ast.expr()):
            yield target


def _bound(node: ast.stmt) -> frozenset[str]:
    """Names that a statement defines, where it does nothing else."""
    if isinstance(node, Definition):
        return frozenset({node.name})
    names: set[str] = set()
    for target in _targets(node):
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        if not all(isinstance(one, ast.Name) for one in parts):
            return frozenset()
        names |= {one.id for one in parts if isinstance(one, ast.Name)}
    return frozenset(names)


def _is_test(node: ast.stmt) -> bool:
    """Whether pytest may find a test in a definition."""
    if isinstance(node, ast.ClassDef):
        return node.name.startswith("Test") or any(map(_is_test, node.body))
    return isinstance(node, Function) and node.name.startswith("test")


def _blanked(code: str, gone: Sequence[ast.stmt]) -> str | None:
    """The text with these statements taken out; `None` where anything else would change."""
    lines = _LINE.findall(code)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = parse(code)  # a tree of its own, as it is changed
    for node in gone:
        first, last = _first_line(node, lines), node.end_lineno or node.lineno
        indent = re.match(r"\s*", lines[node.lineno - 1])
        for number in range(first, last):
            lines[number] = lines[number][len(lines[number].rstrip("\r\n")) :]
        if _removed(expected, node):
            # Its class would be empty.
            end = lines[node.lineno - 1]
            lines[node.lineno - 1] = f"{indent.group() if indent else ''}pass{end}"
    text = "".join(lines)
    try:
        return text if _told(tree_of(text)) == _told(expected) else None
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _told(tree: ast.Module) -> tuple[str, list[tuple[object, object]]]:
    """All that a tree says, and where it says it; where a class ends may differ."""
    places = [
        (getattr(node, "lineno", None), getattr(node, "col_offset", None))
        for node in ast.walk(tree)
    ]
    return ast.dump(tree), places


def _first_line(node: ast.stmt, lines: Sequence[str], *, comments: bool = True) -> int:
    """Where a statement begins, with its decorators, and the comments right above."""
    decorators = node.decorator_list if isinstance(node, Definition) else []
    first = min([node.lineno, *(one.lineno for one in decorators)]) - 1
    while decorators and first and not lines[first].lstrip().startswith("@"):
        first -= 1
    while comments and first and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return first


def _removed(tree: ast.Module, node: ast.stmt) -> bool:
    """Takes a statement out of a tree of the same text; whether `pass` had to take its place."""
    for parent in ast.walk(tree):
        body = getattr(parent, "body", None)
        if not isinstance(body, list):
            continue
        for place, one in enumerate(body):
            if (one.lineno, one.col_offset) == (node.lineno, node.col_offset):
                stand_in = ast.Pass(lineno=one.lineno, col_offset=one.col_offset)
                alone = len(body) == 1 and not isinstance(parent, ast.Module)
                body[place : place + 1] = [stand_in] if alone else []
                return alone
    return False
