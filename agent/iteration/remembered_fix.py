"""A program that a remembered fix has made and all tests pass, on its way into a run, and the
question that the fix has left open, put for the program that it mends now."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agent.core.domain import Behaviour, CompetingPatches, Report, Solution, TestCase, Value
from agent.core.events import Ambiguous, Judged
from agent.core.state import State
from agent.iteration.context import Context, propose
from agent.memory import Fix, RememberedEdit, is_local, remade
from agent.search.ranking.question import choices, in_words
from agent.target.program import untouched

OTHERS_PASSED = "other repairs passed these tests too when it was learned, and no one has chosen"
OTHERS_PASSED_BEFORE = "under the tests it was learned with, other repairs passed too, and no one "\
    "has chosen"


class RecalledFix(Value):
    """Such a program, its verdict, and what is known of other repairs."""

    solution: Solution
    report: Report
    transferred: str = ""
    """What was done, where the fix was made for another failure; else empty."""
    caveat: str = ""
    """See `RememberedEdit.caveat`."""
    left_open: bool = False
    """Other repairs passed too when the fix was learned, and no one chose."""
    other_tests: bool = False
    """It was learned under other tests."""
    refuted: bool = False
    """All of those fail the tests now."""
    rivals: CompetingPatches | None = None
    """Those that pass now as well, if a call tells them apart."""


async def with_competing(
    ctx: Context, base: Solution, tests: Sequence[TestCase], candidate: Solution, report: Report,
    offer: RememberedEdit,
) -> RecalledFix:
    """The program with what is known of others; these are judged again before they are shown."""
    rivals = _in_place(offer.known.fix, base, candidate.text) if offer.left_open else None
    known = rivals is not None
    if rivals is not None:
        own, *others = rivals.behaviours
        reports = await asyncio.gather(*(ctx.judge(one.solution, tests) for one in others))
        passing = [one for one, seen in zip(others, reports, strict=True) if seen.passed]
        rivals = _distinguishing(rivals.model_copy(update={"behaviours": (own, *passing)}))
    return RecalledFix(
        solution=candidate, report=report, caveat=offer.caveat, left_open=offer.left_open,
        rivals=rivals, refuted=known and rivals is None, other_tests=offer.elsewhere,
        transferred=offer.done if offer.elsewhere else "",
    )


def apply_recalled_fix(ctx: Context, base: Solution, found: RecalledFix, iteration: int) -> State:
    """The state with a remembered program as the current one, which has had its verdict."""
    solution = found.solution
    propose(ctx.emit, iteration, "memory", solution, base)
    if found.rivals is not None:
        ctx.emit(Ambiguous(iteration=iteration, rivals=found.rivals))
    # The replay was the full verdict: the next step need not run the same tests again.
    ctx.emit(Judged(iteration=iteration, report=found.report))
    choices = f": {in_words(found.rivals)}" if found.rivals is not None else ""
    passed = OTHERS_PASSED_BEFORE if found.other_tests else OTHERS_PASSED
    return {
        "solution_id": ctx.store.put(solution), "report_id": ctx.store.put(found.report),
        "iteration": iteration, "strategy": "memory", "note": solution.note,
        "transferred": found.transferred, "rivals_id": "",
        "caveat": f"{passed}{choices}" if found.left_open else found.caveat,
        "others_fit": found.left_open and not (found.other_tests or found.refuted),
        "open_id": ctx.store.put(found.rivals) if found.rivals is not None else "",
    }


def _in_place(fix: Fix, base: Solution, chosen: str) -> CompetingPatches | None:
    """The other repairs as edits of `base`, a program that differs from the fix's in comments
    and layout only, and `chosen` before them; `None` where they are not known."""
    if fix.rivals is None:
        return None
    found = [
        (one, made) for one in fix.rivals.behaviours
        if (made := _made(fix, base.text, one.solution.text)) is not None
    ]
    if not found or found[0][1] != chosen:
        return None
    return _distinguishing(CompetingPatches(
        call=fix.rivals.call, behaviours=tuple(_placed(base, *one) for one in found)
    ))


def _distinguishing(rivals: CompetingPatches) -> CompetingPatches | None:
    """The question with its labels in order; `None` where it tells nothing apart any more."""
    if len(choices(rivals)) < 2:
        return None
    labelled = zip("ABC", rivals.behaviours, strict=False)
    return rivals.model_copy(update={
        "behaviours": tuple(one.model_copy(update={"label": label}) for label, one in labelled)
    })


def _made(fix: Fix, text: str, after: str) -> str | None:
    made = remade(fix.before, after, text)
    if made is None or not is_local(text, made) or not untouched(text, made):
        return None
    return made


def _placed(base: Solution, one: Behaviour, made: str) -> Behaviour:
    solution = base.with_text(made, origin="memory", note=one.note)
    return one.model_copy(update={"solution": solution, "diff": solution.diff(base)})
