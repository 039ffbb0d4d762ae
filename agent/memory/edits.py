"""An edit that another program can take over. A hunk is the smallest group of changed statements,
as patterns (see `patterns`), and carries no constants but common ones: a way to mend, never an
answer."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import Field

from agent.core.domain import Value
from agent.core.trees import tree_of
from agent.memory.patterns import (
    BLOCKS,
    Abstraction,
    constant_kind,
    header,
    is_common,
    standard_imports,
)

MOST_CHANGES = 4
LONGEST_HUNK = 600  # characters
Kind = Literal["line", "statements", "before", "after"]
"""What is done: one statement without its blocks, or whole statements, or insertions beside one."""

_UNSEEN = frozenset({"ctx", "type_comment", "kind"})
_Text = Annotated[str, Field(max_length=LONGEST_HUNK)]


class TooDifferent(Exception):
    """The programs differ in more, or elsewhere, than a small edit does."""


@dataclass(frozen=True)
class Change:
    """Statements of one program, and what stands for them in the other, or beside them."""

    kind: Kind
    old: tuple[ast.stmt, ...]
    new: tuple[ast.stmt, ...]


class Hunk(Value):
    """One change: `new` stands for `old`, or is put before or after it."""

    kind: Kind
    context: _Text = ""
    """The pattern of the first changed statement alone, by which places are looked up."""
    old: _Text = ""
    new: _Text = ""


class Edit(Value):
    """The hunks of one repair; placeholders mean the same in all of them."""

    hunks: Annotated[tuple[Hunk, ...], Field(min_length=1, max_length=MOST_CHANGES)]

    @property
    def context(self) -> str:
        """The pattern of the first edited statement, by which the edit is found again."""
        return self.hunks[0].context


def edit_between(before: str, after: str) -> Edit | None:
    """The edit in a form another program can take over; `None` where it has none."""
    try:
        found = changes(tree_of(before).body, before, after)
        modules = standard_imports(tree_of(before)) | standard_imports(tree_of(after))
        words = Abstraction(modules)
        # What is put in may use only words that some statement has shown before.
        shown = [_shown(one.old, whole=one.kind == "statements") for one in found]
        olds = [words.source(*old) for old in shown]
        news = [_shown(one.new, whole=one.kind != "line") for one in found]
        own = {ast.dump(node) for old in shown for one in old for node in ast.walk(one)}
        for one, new in zip(found, news, strict=True):
            _refuse_foreign(new, words, own, defines=one.kind == "line")
        return Edit(hunks=tuple(
            Hunk(
                kind=one.kind, old=old, new=words.source(*new),
                context=Abstraction(modules).source(header(one.old[0])),
            )
            for one, old, new in zip(found, olds, news, strict=True)
        ))
    except (SyntaxError, ValueError, RecursionError, MemoryError, TooDifferent):
        return None  # a `ValueError` is also a hunk that is too long


def changes(statements: Sequence[ast.stmt], before: str, after: str) -> list[Change]:
    """What differs, in the order of the text. Raises: TooDifferent."""
    found = list(_blocks(statements, tree_of(after).body, dumps(before), dumps(after)))
    if not 0 < len(found) <= MOST_CHANGES:
        raise TooDifferent
    return found


@lru_cache(maxsize=8)
def dumps(text: str) -> tuple[str, ...]:
    """A program's statements without comments and layout; raises what parsing raises."""
    return tuple(map(ast.dump, tree_of(text).body))


def differing(old: ast.AST, new: ast.AST) -> list[tuple[ast.expr, ast.expr]] | None:
    """The smallest differing expressions of two nodes, blocks apart; `None` where more differs."""
    if type(old) is type(new):
        pairs: list[tuple[ast.expr, ast.expr]] = []
        for name, value in ast.iter_fields(old):
            if name in _UNSEEN or (name in BLOCKS and isinstance(old, ast.stmt)):
                continue
            found = _in_field(value, getattr(new, name))
            if found is None:
                break
            pairs += found
        else:
            # The places of the parts of an f-string are not told before Python 3.12.
            if not (pairs and isinstance(old, ast.JoinedStr)):
                return pairs
    if _stands_alone(old) and _stands_alone(new):
        return [(old, new)]  # type: ignore[list-item]  # what stands alone is an expression
    return None


def _blocks(
    before: Sequence[ast.stmt], after: Sequence[ast.stmt],
    lines: Sequence[str] = (), others: Sequence[str] = (),
) -> Iterator[Change]:
    matcher = SequenceMatcher(
        None, lines or [*map(ast.dump, before)], others or [*map(ast.dump, after)], autojunk=False
    )
    for tag, i, j, k, end in matcher.get_opcodes():
        old, new = tuple(before[i:j]), tuple(after[k:end])
        if tag == "insert":
            if not before:
                raise TooDifferent
            at_end = i == len(before)
            yield Change("after" if at_end else "before", (before[i - at_end],), new)
        elif tag == "replace" and len(old) == len(new):
            for one, other in zip(old, new, strict=True):
                yield from _between(one, other)
        elif tag != "equal":
            yield Change("statements", old, new)


def _between(one: ast.stmt, other: ast.stmt) -> Iterator[Change]:
    if type(one) is not type(other):
        yield Change("statements", (one,), (other,))
        return
    if ast.dump(header(one)) != ast.dump(header(other)):
        if hasattr(one, "body") and differing(one, other) is None:
            raise TooDifferent
        yield Change("line", (one,), (other,))
    for name in BLOCKS:
        if hasattr(one, name):
            yield from _blocks(getattr(one, name), getattr(other, name))


def _in_field(old: object, new: object) -> list[tuple[ast.expr, ast.expr]] | None:
    if isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            return None
        pairs = []
        for one, other in zip(old, new, strict=True):
            found = _in_field(one, other)
            if found is None:
                return None
            pairs += found
        return pairs
    if isinstance(old, ast.AST) and isinstance(new, ast.AST):
        return differing(old, new)
    return [] if type(old) is type(new) and old == new else None


def _stands_alone(node: ast.AST) -> bool:
    if isinstance(node, ast.Tuple):
        return all(_stands_alone(one) for one in node.elts)
    return isinstance(node, ast.expr) and not isinstance(
        node, ast.Slice | ast.Starred | ast.FormattedValue
    )


def _shown(statements: Iterable[ast.stmt], *, whole: bool) -> list[ast.stmt]:
    return [one if whole else header(one) for one in statements]


def _refuse_foreign(
    new: Iterable[ast.stmt], words: Abstraction, own: set[str], *, defines: bool
) -> None:
    for one in (inner for statement in new for inner in ast.walk(statement)):
        match one:
            case ast.Constant(value=value):
                known = is_common(value) or (constant_kind(one), value) in words.given
                foreign = not known and ast.dump(one) not in own  # a text in an f-string is kept
            case ast.Name(id=name, ctx=ast.Store()):
                foreign = ("NAME", name) not in words.given
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                foreign = not defines
            case ast.Import() | ast.ImportFrom():
                foreign = True
            case _:
                foreign = False
        if foreign:
            raise TooDifferent
