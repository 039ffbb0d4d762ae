"""What each part of the search earns: a suite healed with it and without.

    python -m evaluation.ablation --suite FILE.jsonl [--suite …] [--parts KIND …] [--candidates N]
                                  [--without NAME …] [--out FILE]

Parts are the edit operators, the rules that mend what does not compile, and the terms by which
candidates that pass are ranked. Searches are bounded by candidates, so that the figures do not
depend on the machine. Each part is taken out alone; an operator only for the rows whose repair was
made with it, since elsewhere its edits only stood in the way. `--without` takes parts out together:
by their names, by the module of operators, or by their kind.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.core.domain import Report, Solution
from agent.doors.exits import HEALED, USAGE
from agent.healing.searching import search_repair
from agent.intake import BadInput, NotFixable
from agent.judge import check
from agent.repair import edits, syntax
from agent.repair.ranking import rank
from evaluation.healing import brought
from evaluation.suite import BadRow, BadSuite, Row, read_suite
from evaluation.truth import right
from sandbox import Sandbox, SandboxError, open_sandbox

KINDS = ("operator", "syntax", "ranking")
TERMS = ("WRONG_TYPE", "IDLE", "BLIND")
"""What `rank` adds to the cost of a candidate."""
UNBOUNDED_S = 100_000.0
"""Candidates are the bound, not seconds."""


@dataclass(frozen=True)
class Part:
    """One part that can be taken out."""

    kind: str
    name: str
    group: str = field(default="", compare=False)
    """The module of an operator, behind its room where it has one."""

    def called(self, name: str) -> bool:
        """Whether a name is this part's, or that of its group or kind."""
        return name in (self.name, self.kind, *self.group.split("."))


@dataclass(frozen=True)
class Earned:
    """What a part earns: rows that are healed, or healed rightly, only with it; and those only
    without it."""

    part: Part
    rows: int
    plausible: tuple[str, ...]
    right: tuple[str, ...]
    hindered: tuple[str, ...]

    @property
    def nothing(self) -> bool:
        """Whether no row is better for it."""
        return not (self.plausible or self.right)


@dataclass(frozen=True)
class Healed:
    """What came of a row."""

    plausible: bool = False
    """Its tests pass."""
    right: bool = False
    """The truth holds for the repair that came first; never where no truth is known."""
    candidates: int = 0
    operators: tuple[str, ...] = ()


def parts(kinds: Sequence[str] = KINDS) -> tuple[Part, ...]:
    """All parts of these kinds."""
    found = {
        "operator": [
            Part("operator", one.name, one.propose.__module__.removeprefix(f"{edits.__name__}."))
            for one in edits.EDITS
        ],
        "syntax": [Part("syntax", rule.__name__) for rule in syntax.RULES],
        "ranking": [Part("ranking", name) for name in TERMS],
    }
    return tuple(part for kind in kinds for part in found[kind])


@contextmanager
def taken_out(*gone: Part) -> Iterator[None]:
    """Everything but these parts, until the end of the block."""
    names = {kind: {part.name for part in gone if part.kind == kind} for kind in KINDS}
    wanted: list[tuple[Any, str, object]] = [
        (edits, "EDITS", tuple(one for one in edits.EDITS if one.name not in names["operator"])),
        (syntax, "RULES", tuple(
            rule for rule in syntax.RULES if rule.__name__ not in names["syntax"]
        )),
        *((rank, name, 0.0) for name in names["ranking"]),
    ]
    before = [(module, name, getattr(module, name)) for module, name, _ in wanted]
    try:
        for module, name, value in wanted:
            setattr(module, name, value)
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


async def searched(row: Row, sandbox: Sandbox, candidates: int) -> Healed:
    """Searches for a repair of one row, and asks the truth of the first."""
    try:
        task = brought(row.broken)
    except (BadInput, NotFixable):
        return Healed()
    base = task.solution
    assert base is not None  # a row has a program
    report = await check(base, task.tests, task, sandbox, observe=False)

    async def verify(solution: Solution) -> Report:
        return await check(solution, task.tests, task, sandbox, observe=False)

    found = await search_repair(
        task, base, task.tests, report, sandbox, budget_s=UNBOUNDED_S, wall_s=UNBOUNDED_S,
        max_candidates=candidates, progress=lambda seen: None, verify=verify,
    )
    if found.solution is None:
        return Healed(candidates=found.candidates)
    known = await right(row.truth, [found.solution], task.sites, sandbox)
    return Healed(True, bool(known and known[0]), found.candidates, found.operators)


async def healed(
    rows: Sequence[Row], sandbox: Sandbox, candidates: int, *gone: Part
) -> dict[str, Healed]:
    """What comes of rows without these parts."""
    with taken_out(*gone):
        return {row.id: await searched(row, sandbox, candidates) for row in rows}


def earned(part: Part, whole: Mapping[str, Healed], without: Mapping[str, Healed]) -> Earned:
    """What a part earns by the rows that were healed without it; pure."""
    both = [(key, whole[key], row) for key, row in without.items()]
    return Earned(
        part, len(both),
        tuple(key for key, has, lacks in both if has.plausible and not lacks.plausible),
        tuple(key for key, has, lacks in both if has.right and not lacks.right),
        tuple(key for key, has, lacks in both if lacks.right and not has.right),
    )


def concerned(part: Part, rows: Sequence[Row], whole: Mapping[str, Healed]) -> list[Row]:
    """The rows in which a part may have a say; pure."""
    if part.kind == "operator":
        return [row for row in rows if part.name in whole[row.id].operators]
    if part.kind == "syntax":
        return [row for row in rows if not syntax.compiles(row.broken.program)]
    return [row for row in rows if whole[row.id].plausible]


async def ablation(
    rows: Sequence[Row], kinds: Sequence[str], candidates: int, tell: Callable[[str], None]
) -> tuple[dict[str, Healed], list[Earned]]:
    """The rows healed with everything, and what each part earns."""
    sandbox, found = open_sandbox(), []
    whole = await healed(rows, sandbox, candidates)
    tell(_summary("with everything", whole))
    for part in parts(kinds):
        few = concerned(part, rows, whole)
        found.append(earned(part, whole, await healed(few, sandbox, candidates, part)))
        tell(line(found[-1]))
    return whole, found


async def together(
    rows: Sequence[Row], gone: Sequence[Part], candidates: int, tell: Callable[[str], None]
) -> dict[str, Healed]:
    """The rows healed without any of these parts."""
    found = await healed(rows, open_sandbox(), candidates, *gone)
    tell(_summary(f"without {len(gone)} parts", found))
    return found


def _summary(words: str, found: Mapping[str, Healed]) -> str:
    rows = found.values()
    return (
        f"{words}: {sum(one.plausible for one in rows)} of {len(rows)} pass their tests, "
        f"{sum(one.right for one in rows)} right, "
        f"{sum(one.candidates for one in rows)} candidates"
    )


def line(one: Earned) -> str:
    """One part in words."""
    return (
        f"{one.part.kind} {one.part.name!r}: in {one.rows} repairs; "
        f"earns {len(one.plausible)} plausible, {len(one.right)} right, "
        f"costs {len(one.hindered)} right"
    )


def _say(text: str) -> None:
    print(text, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {__package__}.ablation",
        description="Heal suites with and without each part of the search.",
    )
    parser.add_argument("--suite", type=Path, action="append", required=True, metavar="FILE")
    parser.add_argument("--parts", nargs="+", choices=KINDS, default=KINDS, metavar="KIND")
    parser.add_argument("--candidates", type=int, default=20_000, metavar="N", help="for a row")
    parser.add_argument("--out", type=Path, metavar="FILE", help="all figures as JSON")
    parser.add_argument(
        "--without", nargs="+", default=[], metavar="NAME",
        help="take these out together, and heal every row without them: parts, modules of "
        "operators, or kinds",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    wanted = _parser().parse_args(arguments)
    gone = [part for part in parts() if any(map(part.called, wanted.without))]
    unknown = [name for name in wanted.without if not any(part.called(name) for part in gone)]
    if unknown:
        print(f"there is no part called {', '.join(unknown)}", file=sys.stderr)
        return USAGE
    try:
        rows = [row for path in wanted.suite for row in read_suite(path)]
        usable = [row for row in rows if not isinstance(row, BadRow)]
        earnings: list[Earned] = []
        if gone:
            whole = asyncio.run(together(usable, gone, wanted.candidates, _say))
        else:
            whole, earnings = asyncio.run(
                ablation(usable, wanted.parts, wanted.candidates, _say)
            )
    except (BadSuite, SandboxError) as error:
        print(error, file=sys.stderr)
        return USAGE
    idle = [one.part.name for one in earnings if one.nothing]
    if idle:
        print(f"earning nothing here: {', '.join(idle)}")
    if wanted.out is not None:
        wanted.out.write_text(json.dumps({
            "rows": {key: vars(row) for key, row in whole.items()},
            "parts": [{**vars(one), **vars(one.part), "part": one.part.name} for one in earnings],
        }, indent=1), encoding="utf-8")
    return HEALED


if __name__ == "__main__":
    sys.exit(main())
