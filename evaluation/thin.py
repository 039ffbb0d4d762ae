"""Heals programs whose tests leave something open, and says at which level wrong repairs stand.

    python -m evaluation.thin                the project's own rows
    python -m evaluation.thin --cases FILE   {"id", "program", "tests", "truth"} a line

`truth` is code that a reasonable reader of the program would expect to pass: a healed program is
right if it ends well with that code behind it, as one script in the jail. The repair never sees it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from agent.checks import check
from agent.domain import PROOF_ORDER, File, Solution, Task
from agent.exits import HEALED, USAGE
from agent.intake import BadInput, NotFixable
from agent.result import Result, fold
from agent.session import Session, Settings, open_session
from evaluation.healing import brought
from evaluation.run_benchmark import settings_for
from evaluation.suite import Broken

OWN = Path(__file__).parent / "bench" / "thin.jsonl"
AT_ONCE = 2
LATE = 3.0
"""After so many of its own budgets a row is given up."""
FIELDS = ("id", "program", "tests", "truth")


class BadCases(Exception):
    """A file that cannot be used; the message names the line."""


@dataclass(frozen=True)
class Case:
    """A program with thin tests, and what tells right repairs of it from wrong ones."""

    id: str
    program: str
    tests: str
    truth: str


@dataclass(frozen=True)
class Fate:
    """What became of one row."""

    id: str
    outcome: str
    proof: str = ""
    right: bool = False
    why: str = ""
    diff: str = ""

    @property
    def healed(self) -> bool:
        return self.outcome in ("healed", "healthy")

    @property
    def overclaims(self) -> bool:
        """Whether a wrong repair stands at E2 or above."""
        return self.healed and not self.right and self.proof >= "E2"


def read_cases(path: Path) -> tuple[Case, ...]:
    """The rows of a file; raises `BadCases` for a line that is none."""
    found: dict[str, Case] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            row = json.loads(line)
            case = Case(**{name: str(row[name]) for name in FIELDS})
        except (ValueError, KeyError, TypeError) as error:
            raise BadCases(f"{path}, line {number}: {error!r}") from error
        if case.id in found:
            raise BadCases(f"{path}, line {number}: the id {case.id!r} was there before")
        found[case.id] = case
    return tuple(found.values())


async def fates(
    cases: Sequence[Case], settings: Settings, at_once: int = AT_ONCE
) -> tuple[Fate, ...]:
    """What becomes of each row, `at_once` at a time, in the rows' order."""
    seats = asyncio.Semaphore(at_once)

    async def one(case: Case) -> Fate:
        async with seats:
            try:
                async with asyncio.timeout(LATE * settings.budget_s):
                    fate = await _fate(case, settings)
            except TimeoutError:
                fate = Fate(case.id, "given up")
            said = "" if not fate.healed else " right" if fate.right else " wrong"
            print(f"{fate.id}: {fate.outcome} {fate.proof}{said}", file=sys.stderr, flush=True)
            return fate

    return tuple(await asyncio.gather(*map(one, cases)))


async def _fate(case: Case, settings: Settings) -> Fate:
    try:
        task = brought(Broken(case.program, (case.tests,)))
    except (BadInput, NotFixable) as error:
        return Fate(case.id, "refused", why=str(error))
    with tempfile.TemporaryDirectory(prefix="thin-") as folder:
        async with open_session(settings.model_copy(update={"data_dir": Path(folder)})) as session:
            run = await session.start(task, ask=False)
            async for _ in session.follow(run):
                pass
            result = fold(session.log(run))
            fate = Fate(
                case.id, result.outcome or "failed", result.proof or "",
                why=result.proof_why, diff=result.diff,
            )
            if not fate.healed:
                return fate
            return replace(fate, right=await _is_right(case, result, session))


async def _is_right(case: Case, result: Result, session: Session) -> bool:
    """Whether the healed program and then the truth, as one script, end well."""
    # A bare `assert` of a program is taken for a test of it, and left out of its run.
    text = f"{result.code.rstrip()}\n\n\nexec({case.truth!r}, globals())\n"
    script = Solution(files=(File(path="thin.py", text=text),), entry="thin.py")
    report = await check(script, [], Task(), session.sandbox)
    return report.ending is not None and report.ending.kind == "completed"


def table(found: Sequence[Fate]) -> Iterator[str]:
    """The figures, and the rows that claim too much, as lines of text."""
    healed = [fate for fate in found if fate.healed]
    right = sum(fate.right for fate in healed)
    yield f"rows {len(found)}, healed {len(healed)}, right {right}, wrong {len(healed) - right}"
    for level in PROOF_ORDER:
        standing = [fate for fate in healed if fate.proof == level]
        if standing:
            right = sum(fate.right for fate in standing)
            yield f"{level}: {right} right, {len(standing) - right} wrong"
    claimed = [fate for fate in healed if fate.proof >= "E2"]
    wrong = [fate for fate in claimed if fate.overclaims]
    share = len(wrong) / len(claimed) if claimed else 0.0
    yield f"E2 or above: {len(claimed)}, wrong {len(wrong)} ({share:.1%})"
    for fate in wrong:
        yield f"  {fate.id} at {fate.proof}: {fate.why}"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m evaluation.thin",
        description="Heal programs with thin tests, and say where wrong repairs stand.",
    )
    parser.add_argument("--cases", type=Path, default=OWN, metavar="FILE", help="JSON lines")
    parser.add_argument("--budget-s", type=float, default=10.0, metavar="S", help="of one row")
    parser.add_argument("--out", type=Path, metavar="FILE", help="a JSON line for each row")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose id has this")
    wanted = parser.parse_args(arguments)
    try:
        cases = [case for case in read_cases(wanted.cases) if wanted.only in case.id]
    except (OSError, BadCases) as error:
        print(error, file=sys.stderr)
        return USAGE
    found = asyncio.run(fates(cases, settings_for("mock", wanted.budget_s, None)))
    if wanted.out is not None:
        lines = "".join(json.dumps(asdict(fate)) + "\n" for fate in found)
        wanted.out.write_text(lines, encoding="utf-8")
    for line in table(found):
        print(line)
    return HEALED


if __name__ == "__main__":
    raise SystemExit(main())
