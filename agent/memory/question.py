"""The question that a remembered fix has left open, for the program that it mends now."""

from __future__ import annotations

from agent.domain import Behaviour, Rivals, Solution
from agent.intake import untouched
from agent.memory.fixes import Fix
from agent.memory.locality import is_local
from agent.memory.placing import returned


def in_place(fix: Fix, base: Solution, chosen: str) -> Rivals | None:
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
    return telling(Rivals(
        call=fix.rivals.call, behaviours=tuple(_placed(base, *one) for one in found)
    ))


def telling(rivals: Rivals) -> Rivals | None:
    """The question with its labels in order; `None` where it tells nothing apart any more."""
    if len({one.gives for one in rivals.behaviours}) < 2:
        return None
    labelled = zip("ABC", rivals.behaviours, strict=False)
    return rivals.model_copy(update={
        "behaviours": tuple(one.model_copy(update={"label": label}) for label, one in labelled)
    })


def _made(fix: Fix, text: str, after: str) -> str | None:
    made = after if text == fix.before else returned(fix.before, after, text)
    if made is None or not is_local(text, made) or not untouched(text, made):
        return None
    return made


def _placed(base: Solution, one: Behaviour, made: str) -> Behaviour:
    solution = base.with_text(made, origin="memory", note=one.note)
    return one.model_copy(update={"solution": solution, "diff": solution.diff(base)})
