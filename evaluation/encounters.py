"""Broken programs that are met again: what the memory alone makes of them.

Each row is remembered as if it had been healed into its right program. It comes again as it was, in
another layout, under other names, and as if for the first time, when only the fixes of other rows
can help. The id of a row says which of these it is.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.core.domain import Report, Solution, Task
from agent.intake import BadInput, NotFixable
from agent.judge import check
from agent.memory import Fix, Memory, failure_of, is_local, offers
from evaluation.healing import brought
from evaluation.suite import Broken, Row, Truth
from evaluation.truth import right
from sandbox import Sandbox


@dataclass(frozen=True)
class Healed:
    """What came of a row."""

    plausible: bool = False
    """Its tests pass."""
    right: bool = False
    """The truth holds for the repair that came first; never where no truth is known."""
    candidates: int = 0
    operators: tuple[str, ...] = ()


async def remembered(rows: Sequence[Row], sandbox: Sandbox) -> Memory:
    """A memory of these rows; its fixes are noted by the rows' ids."""
    memory = Memory(None)
    for row in rows:
        if not row.truth.fixed or not is_local(row.broken.program, row.truth.fixed):
            continue
        found = await judged(row, sandbox)
        if found is not None:
            task, base, report = found
            failure = failure_of(base, task.tests, report)
            fix = Fix.made(failure, row.broken.program, row.truth.fixed, "E1", row.id)
            if fix is not None:
                memory.remember(fix)
    return memory


def repeated_rows(rows: Sequence[Row]) -> list[Row]:
    """Each row as it is met again, in each of the ways that it can be."""
    found = []
    for row in rows:
        known = replace(row, id=f"{row.id} again")
        found += [known, replace(row, id=f"{row.id} first")]
        try:
            text = ast.unparse(ast.parse(row.broken.program)) + "\n"
            found.append(replace(
                row, id=f"{row.id} layout", broken=replace(row.broken, program=text)
            ))
            found.append(_renamed(row))
        except SyntaxError:
            pass  # what does not compile has no other layout
    return found


async def recalled(row: Row, memory: Memory, sandbox: Sandbox) -> Healed:
    """What the memory makes of a row, judged by its tests and then by its truth."""
    found = await judged(row, sandbox)
    if found is None:
        return Healed()
    task, base, report = found
    tried = 0
    for offer in offers(memory, failure_of(base, task.tests, report), base.text):
        if row.id == f"{offer.known.fix.note} first":
            continue
        for text in offer.texts:
            tried += 1
            candidate = base.with_text(text)
            report = await check(candidate, task.tests, task, sandbox, observe=False)
            if report.passed:
                known = await right(row.truth, [candidate], task.sites, sandbox)
                return Healed(True, bool(known and known[0]), tried)
    return Healed(candidates=tried)


async def judged(row: Row, sandbox: Sandbox) -> tuple[Task, Solution, Report] | None:
    """The task of a row, its program and the verdict on it; `None` where it is refused."""
    try:
        task = brought(row.broken)
    except (BadInput, NotFixable):
        return None
    base = task.solution
    assert base is not None  # a row has a program
    return task, base, await check(base, task.tests, task, sandbox, observe=False)


def _renamed(row: Row) -> Row:
    """The row with other names, as another program with the same mistake would have them."""
    tree, fixed = ast.parse(row.broken.program), ast.parse(row.truth.fixed)
    names = {name: f"{name}_here" for name in _bound(tree) | _bound(fixed)}

    def other(code: str) -> str:
        return ast.unparse(_Renaming(names).visit(ast.parse(code))) + "\n"

    return replace(
        row, id=f"{row.id} renamed",
        broken=Broken(other(row.broken.program), tuple(map(other, row.broken.tests))),
        truth=Truth(tuple(map(other, row.truth.held_out))),
    )


def _bound(tree: ast.AST) -> set[str]:
    """Names that a program binds, but for those that are called by keyword or as methods."""
    bound, kept = set(), {"self", "cls"}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                bound.add(name)
            case ast.FunctionDef(name=name):
                bound.add(name)
            case ast.ClassDef(name=name, body=body):
                bound.add(name)
                kept |= {one.name for one in body if isinstance(one, ast.FunctionDef)}
            case ast.keyword(arg=str(name)):
                kept.add(name)
    return bound - kept


class _Renaming(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]) -> None:
        self._names = names

    def visit(self, node: ast.AST) -> ast.AST:
        for name in ("id", "arg", "name"):
            word = getattr(node, name, None)
            if isinstance(word, str) and not isinstance(node, ast.keyword | ast.alias):
                setattr(node, name, self._names.get(word, word))
        return self.generic_visit(node)
