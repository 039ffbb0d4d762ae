"""Applies a remembered fix that passes all tests, with the competing patches it left open."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agent.core.domain import Behaviour, CompetingPatches, Report, Solution, TestCase, Value
from agent.core.events import Ambiguous, Judged
from agent.core.state import State
from agent.iteration.context import Context, log_patch
from agent.memory import Fix, RememberedEdit, is_small_edit, reapply_edit
from agent.search.ranking.question import choices, describe_behaviours
from agent.target.program import keeps_own_tests

OTHERS_PASSED = "other repairs passed these tests too when it was learned, and no one has chosen"
OTHERS_PASSED_BEFORE = (
    "under the tests it was learned with, other repairs passed too, and no one has chosen"
)


class RecalledFix(Value):
    """A program with a remembered fix, its report, and what is known of competing patches."""

    solution: Solution
    report: Report
    transferred: str = ""
    """The change in words, if the fix was made for another failure."""
    caveat: str = ""
    """See `RememberedEdit.caveat`."""
    left_open: bool = False
    """Other repairs passed too when the fix was learned, and nobody chose one."""
    other_tests: bool = False
    """The fix was learned with other tests."""
    refuted: bool = False
    """All of these other repairs fail the tests now."""
    competing: CompetingPatches | None = None
    """Those that still pass, if a call distinguishes them."""


async def with_competing(
    ctx: Context, base: Solution, tests: Sequence[TestCase], candidate: Solution, report: Report,
    offer: RememberedEdit,
) -> RecalledFix:
    """Returns the remembered fix `offer` with those of its competing patches that pass `tests` now.
    `candidate` is `base` with the fix, and `report` is its report."""
    known = _applied(offer.stored.fix, base, candidate.text) if offer.left_open else None
    distinguished = None
    if known is not None:
        first, *others = known.behaviours
        reports = await asyncio.gather(*(ctx.judge(one.solution, tests) for one in others))
        passing = [one for one, seen in zip(others, reports, strict=True) if seen.passed]
        distinguished = _distinguishing(known.model_copy(update={"behaviours": (first, *passing)}))
    return RecalledFix(
        solution=candidate, report=report, caveat=offer.caveat, left_open=offer.left_open,
        competing=distinguished, refuted=known is not None and distinguished is None,
        other_tests=offer.other_failure,
        transferred=offer.change_words if offer.other_failure else "",
    )


def apply_recalled_fix(ctx: Context, base: Solution, found: RecalledFix, iteration: int) -> State:
    """The state update that makes a judged program with a remembered fix the current one."""
    solution = found.solution
    log_patch(ctx.emit, iteration, "memory", solution, base)
    if found.competing is not None:
        ctx.emit(Ambiguous(iteration=iteration, competing=found.competing))
    # The next step need not judge the program again.
    ctx.emit(Judged(iteration=iteration, report=found.report))
    choices = f": {describe_behaviours(found.competing)}" if found.competing is not None else ""
    passed = OTHERS_PASSED_BEFORE if found.other_tests else OTHERS_PASSED
    return {
        "solution_id": ctx.store.put(solution), "report_id": ctx.store.put(found.report),
        "iteration": iteration, "strategy": "memory", "note": solution.note,
        "transferred": found.transferred, "alternatives_id": "",
        "caveat": f"{passed}{choices}" if found.left_open else found.caveat,
        "other_repairs_fit": found.left_open and not (found.other_tests or found.refuted),
        "competing_id": ctx.store.put(found.competing) if found.competing is not None else "",
    }


def _applied(fix: Fix, base: Solution, chosen: str) -> CompetingPatches | None:
    """The competing patches of a fix as edits of `base`, with `chosen` first.

    `None` if they are not known. `base` differs from the program of the fix only in comments and
    layout.
    """
    if fix.competing is None:
        return None
    found = [
        (one, made) for one in fix.competing.behaviours
        if (made := _edited(fix, base.text, one.solution.text)) is not None
    ]
    if not found or found[0][1] != chosen:
        return None
    return _distinguishing(CompetingPatches(
        call=fix.competing.call, behaviours=tuple(_rebased(base, *one) for one in found)
    ))


def _distinguishing(patches: CompetingPatches) -> CompetingPatches | None:
    """The patches labelled A, B and C; `None` if all give the same result for `patches.call`."""
    if len(choices(patches)) < 2:
        return None
    labelled = zip("ABC", patches.behaviours, strict=False)
    return patches.model_copy(update={
        "behaviours": tuple(one.model_copy(update={"label": label}) for label, one in labelled)
    })


def _edited(fix: Fix, text: str, after: str) -> str | None:
    made = reapply_edit(fix.before, after, text)
    is_usable = made is not None and is_small_edit(text, made) and keeps_own_tests(text, made)
    return made if is_usable else None


def _rebased(base: Solution, one: Behaviour, made: str) -> Behaviour:
    solution = base.with_text(made, origin="memory", note=one.note)
    return one.model_copy(update={"solution": solution, "diff": solution.diff(base)})
