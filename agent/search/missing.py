"""Names that do not exist, and mistakes that the exception reports, repaired one after another.

They are wrong whatever else is wrong, and nothing behind them is seen before they are repaired. Two
of them, or one and another fault, are two edits for a search that goes by tests; here each is a
step of its own, and the text in which none is left is one more to search from.
"""

from __future__ import annotations

import re
from collections.abc import Generator

from agent.search.edits import Edit
from agent.search.edits.crashes import crash
from agent.search.edits.templates import reported
from agent.search.localisation import WRONG_ANSWERS, crash_of
from agent.search.program import Program, Splice, spliced
from agent.search.state import SearchState, examined, note
from agent.search.values import Answer, Candidate, Crash, Question, Screen, Screened, Trace

MISSING = frozenset({"NameError", "AttributeError", "ImportError", "ModuleNotFoundError"})
OPERATOR, REPORTED = "missing name", "reported mistake"
MAX_STEPS = 8
GUESSES = 12
"""Edits of one missing name that are tried."""
STEP = 1.0
"""What a step adds to the cost of its edit, which may be a little below zero."""


def repaired_names(
    state: SearchState, base: Candidate, trace: Trace
) -> Generator[Question, Answer, Candidate | None]:
    """A text that comes further than its base, since names that it lacks were found; `None`
    where no name is missing or none was found. `trace` is of the base.

    One that passes every test after several steps is plausible. After one step it is an edit like
    any other, and left to the search, which knows others.
    """
    found: Candidate | None = None
    at = base
    for step in range(MAX_STEPS):
        ended = crash_of(trace)
        if ended is None or state.spent:
            break
        guesses = _guesses(at, trace, ended)
        if not guesses:
            break
        texts = tuple(one.text for one, _ in guesses)
        answers = yield Screen(texts, "full", state.progress())
        assert isinstance(answers, tuple)
        state.tried += sum(answer is not None for answer in answers)
        further = [
            (-answer.score, one.cost, one.text, one, edit, answer)
            for (one, edit), answer in zip(guesses, answers, strict=True)
            if answer is not None and _is_further(answer, one.text, ended, at.text)
        ]
        if not further:
            break
        *_, at, edit, answer = min(further, key=lambda one: one[:3])
        found = at
        if answer.ended == "ok":
            if step:
                note(state, at, edit, answer)
            break
        trace = yield from examined(state, at.text)
    return found


def _guesses(at: Candidate, trace: Trace, ended: Crash) -> list[tuple[Candidate, Edit]]:
    """The likeliest texts in which a missing name is another, or exists."""
    try:
        program = Program(at.text, types=trace.types, crash=ended, moments=trace.moments)
    except (SyntaxError, ValueError, RecursionError):
        return []
    splices = [(one, REPORTED) for one in reported(program, program.tree)]
    if ended.exception in MISSING:
        splices += sorted(
            ((one, OPERATOR) for one in crash(program, program.tree)),
            key=lambda one: (one[0].cost, one[0].start, one[0].text),
        )
    texts: dict[str, tuple[Splice, str]] = {}
    for splice, operator in splices:
        if len(texts) < GUESSES:
            texts.setdefault(spliced(program.data, [splice]), (splice, operator))
    texts.pop(at.text, None)
    return [
        (Candidate(text, cost, (*at.operators, operator)), Edit(splice, operator, cost))
        for text, (splice, operator) in texts.items()
        for cost in [at.cost + STEP + splice.cost]
    ]


def _is_further(answer: Screened, text: str, ended: Crash, before: str) -> bool:
    """Whether a candidate ended elsewhere than the text before, or for want of another name."""
    if answer.ended not in ("ok", "failed"):
        return False
    if answer.score or answer.exception in WRONG_ANSWERS:
        return True
    if answer.line != ended.line and _line(text, answer.line) != _line(before, ended.line):
        return True
    missing = re.findall(r"'(\w+)'", ended.message)[-1:]
    return ended.exception in MISSING and answer.exception in MISSING and (
        f"'{''.join(missing)}'" not in answer.message
    )


def _line(text: str, line: int | None) -> str:
    return "" if line is None else text.splitlines()[line - 1].strip()
