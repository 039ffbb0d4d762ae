"""An edit that another program can take over: small, local, and without its author's words.

A hunk is the smallest region that was changed and the statement it stands in, as patterns
(see `patterns`). It is applied wherever that statement's pattern fits; every byte outside of
the region stays. No constant but those every program uses is ever carried over: an edit
brings a way to mend, never an answer.
"""

from __future__ import annotations

import ast
import sys
from typing import Annotated

from pydantic import Field

from agent.domain import Value
from agent.memory.differences import MOST_REGIONS, Kind, Region, TooDifferent, differences
from agent.memory.patterns import Abstraction, header, is_common, standard_imports
from agent.trees import nodes_of, tree_of

LONGEST_HUNK = 600
"""Characters of a region, old or new."""
MOST_STATEMENTS = 3_000
"""A longer program is not searched for places."""
IMPORTED = "import"
"""The context of an edit that imports."""

_Text = Annotated[str, Field(max_length=LONGEST_HUNK)]


class Hunk(Value):
    """One changed region: `new` stands for `old` inside `context`."""

    kind: Kind
    context: _Text = ""
    old: _Text = ""
    new: _Text = ""


class Edit(Value):
    """The hunks of one repair; placeholders mean the same in all of them."""

    hunks: Annotated[tuple[Hunk, ...], Field(min_length=1, max_length=MOST_REGIONS)]
    context: _Text
    """The pattern of the first edited statement, by which the edit is found again."""


class _NotTransferable(Exception):
    pass


def edit_between(before: str, after: str, *, literal: bool = False) -> Edit | None:
    """The edit in a form another program can take over; `None` where it has none.

    A `literal` one keeps every word, for the same program in another layout.
    """
    try:
        regions = differences(before, after)
        if not regions:
            return None
        modules = standard_imports(tree_of(before)) | standard_imports(tree_of(after))
        words = Abstraction(modules, literal=literal)
        first = regions[0].statement
        context = IMPORTED if first is None else words.source(header(first))
        # What is put in may use only words that some region has seen before.
        shown = [_shown(region, words) for region in regions]
        hunks = tuple(
            hunk.model_copy(update={"new": _brought(region, words, literal=literal)})
            for hunk, region in zip(shown, regions, strict=True)
        )
        return Edit.model_validate({"hunks": [one.model_dump() for one in hunks],
                                    "context": context})
    except (SyntaxError, ValueError, RecursionError, MemoryError, TooDifferent, _NotTransferable):
        return None  # a `ValueError` is also a hunk that is too long


def contexts(text: str) -> tuple[str, ...]:
    """The patterns of all statements of a program, in its order: where an edit could fit."""
    try:
        statements = [node for node in nodes_of(text) if isinstance(node, ast.stmt)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    if len(statements) > MOST_STATEMENTS:
        return ()
    modules = standard_imports(tree_of(text))
    patterns = (Abstraction(modules).source(header(one)) for one in statements)
    return tuple(dict.fromkeys((IMPORTED, *(one for one in patterns if len(one) <= LONGEST_HUNK))))


def _shown(region: Region, words: Abstraction) -> Hunk:
    if region.kind == "import":
        return Hunk(kind="import")
    assert region.statement is not None
    if region.kind == "expression":
        (old,) = region.old
        whole = header(region.statement)
        words.source(whole)
        return Hunk(kind="expression", context=words.source(whole, old), old=words.source(old))
    if region.kind == "statements":
        return Hunk(kind="statements", old="\n".join(words.source(one) for one in region.old))
    return Hunk(kind=region.kind, context=words.source(header(region.statement)))


def _brought(region: Region, words: Abstraction, *, literal: bool) -> str:
    if not literal:
        for node in region.new:
            _refuse_foreign(node, region, words)
    return "\n".join(words.source(node) for node in region.new)


def _refuse_foreign(node: ast.AST, region: Region, words: Abstraction) -> None:
    """Refuses what would carry another program's answers or inventions over."""
    own = {ast.dump(one) for old in region.old for one in ast.walk(old)}
    for one in ast.walk(node):
        if isinstance(one, ast.Constant) and not is_common(one.value):
            kind = "TEXT" if isinstance(one.value, str | bytes) else "NUMBER"
            if ast.dump(one) not in own and not words.knows(kind, one.value):
                raise _NotTransferable
        elif isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            if not words.knows("NAME", one.id):
                raise _NotTransferable
        elif isinstance(one, ast.Import | ast.ImportFrom):
            if not _is_standard(one):
                raise _NotTransferable
        elif isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            raise _NotTransferable


def _is_standard(node: ast.Import | ast.ImportFrom) -> bool:
    """Whether a statement imports from the standard library only."""
    modules = (
        [alias.name for alias in node.names] if isinstance(node, ast.Import)
        else [node.module or ""] if node.level == 0 else [""]
    )
    return all(name.partition(".")[0] in sys.stdlib_module_names for name in modules)
