"""The smallest regions in which two programs differ, as their trees see it."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from agent.common_ends import common_ends, common_start
from agent.trees import tree_of

MOST_REGIONS = 4

Kind = Literal["expression", "statements", "before", "after", "import"]
"""How a region is changed: an expression or statements are replaced, or statements are put
before or after another, or modules are imported."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_UNSEEN = frozenset({"ctx", "type_comment", "kind"})


class TooDifferent(Exception):
    """The programs differ in more, or elsewhere, than a small edit does."""


@dataclass(frozen=True)
class Region:
    """What stands in the one program, and what stands for it in the other.

    `statement` is the enclosing one, or the neighbour of what is put in.
    """

    kind: Kind
    old: tuple[ast.AST, ...]
    new: tuple[ast.AST, ...]
    statement: ast.stmt | None


def differences(before: str, after: str) -> tuple[Region, ...]:
    """The regions in the order of the text; raises `TooDifferent` and what parsing raises."""
    old, new = tree_of(before).body, tree_of(after).body
    head, tail = _same_ends(_LINE_END.split(before), _LINE_END.split(after), old, new)
    regions = _blocks(old, new, head, tail)
    if len(regions) > MOST_REGIONS:
        raise TooDifferent
    return tuple(regions)


def _same_ends(
    before: Sequence[str], after: Sequence[str], old: Sequence[ast.stmt], new: Sequence[ast.stmt]
) -> tuple[int, int]:
    """How many statements of two texts stand at the same place of the same lines, at their
    beginning and at their end: a small edit leaves most of a long program so."""
    above, below = common_ends(before, after)
    head = common_start(
        [one.end_lineno for one in old if (one.end_lineno or 0) <= above],
        [one.end_lineno for one in new if (one.end_lineno or 0) <= above],
    )
    tail = common_start(
        [place for one in reversed(old) if (place := _from_end(one, before))[0] < below],
        [place for one in reversed(new) if (place := _from_end(one, after))[0] < below],
    )
    return head, min(tail, len(old) - head, len(new) - head)


def _from_end(statement: ast.stmt, lines: Sequence[str]) -> tuple[int, int]:
    """How many lines stand behind the first of a statement, and where in its line it begins."""
    decorators = getattr(statement, "decorator_list", [])
    first = min([statement.lineno, *(one.lineno for one in decorators)])
    return len(lines) - first, statement.col_offset


def _blocks(
    before: Sequence[ast.stmt], after: Sequence[ast.stmt], head: int = 0, tail: int = 0
) -> list[Region]:
    """Two blocks of statements: those that are equal are passed over, in order; `head` and `tail`
    many at their ends are known to be."""
    lines, others = (
        [ast.dump(one) for one in block[head : len(block) - tail]] for block in (before, after)
    )
    regions: list[Region] = []
    for tag, *places in SequenceMatcher(None, lines, others, autojunk=False).get_opcodes():
        i, j, k, end = (head + place for place in places)
        old, new = tuple(before[i:j]), tuple(after[k:end])
        if tag == "equal":
            continue
        if tag == "insert":
            regions.append(_inserted(before, i, new))
        elif len(old) == len(new):
            for one, other in zip(old, new, strict=True):
                inside = _inside(one, other, one)
                if inside is None:
                    inside = [Region("statements", (one,), (other,), one)]
                regions += inside
        else:
            regions.append(Region("statements", old, new, old[0]))
    return regions


def _inserted(block: Sequence[ast.stmt], index: int, new: tuple[ast.stmt, ...]) -> Region:
    if all(isinstance(one, ast.Import | ast.ImportFrom) for one in new):
        return Region("import", (), new, None)
    if index < len(block):
        return Region("before", (), new, block[index])
    if not block:
        raise TooDifferent
    return Region("after", (), new, block[-1])


def _inside(old: ast.AST, new: ast.AST, statement: ast.stmt) -> list[Region] | None:
    """The regions inside two nodes; `None` where what encloses them must be changed."""
    if type(old) is not type(new):
        return None
    if isinstance(old, ast.stmt):
        statement = old
    regions: list[Region] = []
    for name in old._fields:
        if name in _UNSEEN:
            continue
        found = _field(getattr(old, name), getattr(new, name), statement)
        if found is None:
            return _whole(old, new, statement)
        regions += found
    # The places of the parts of an f-string are not told before Python 3.12.
    return _whole(old, new, statement) if regions and isinstance(old, ast.JoinedStr) else regions


def _field(old: object, new: object, statement: ast.stmt) -> list[Region] | None:
    if isinstance(old, list) and isinstance(new, list):
        if any(isinstance(one, ast.stmt) for one in (*old, *new)):
            return _blocks(old, new)
        if len(old) != len(new):
            return None
        regions: list[Region] = []
        for one, other in zip(old, new, strict=True):
            found = _field(one, other, statement)
            if found is None:
                return None
            regions += found
        return regions
    if isinstance(old, ast.AST) and isinstance(new, ast.AST):
        found = _inside(old, new, statement)
        if found is None and _stands_alone(old) and _stands_alone(new):
            return [Region("expression", (old,), (new,), statement)]
        return found
    return [] if type(old) is type(new) and old == new else None


def _whole(old: ast.AST, new: ast.AST, statement: ast.stmt) -> list[Region] | None:
    """The node itself as the region, where it is one that can be put in another's place."""
    if _stands_alone(old) and _stands_alone(new):
        return [Region("expression", (old,), (new,), statement)]
    if isinstance(old, ast.stmt) and not hasattr(old, "body"):
        return [Region("statements", (old,), (new,), old)]
    if isinstance(old, ast.stmt):
        raise TooDifferent
    return None


def _stands_alone(node: ast.AST) -> bool:
    """Whether a node is an expression by itself, as a slice or a starred one is not."""
    if isinstance(node, ast.Tuple):
        return all(_stands_alone(one) for one in node.elts)
    return isinstance(node, ast.expr) and not isinstance(
        node, ast.Slice | ast.Starred | ast.FormattedValue
    )
