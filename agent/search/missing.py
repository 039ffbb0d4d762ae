"""Repairs missing names, and mistakes that the exception reports, one after another.

Such a mistake hides all later faults, and the search would need one edit for each. So each is
repaired alone, and the resulting text is another base of the search.
"""

from __future__ import annotations

import re
from collections.abc import Generator

from agent.search.edits import Edit
from agent.search.edits.crashes import crash
from agent.search.edits.templates import reported
from agent.search.localisation import WRONG_ANSWERS, crash_of
from agent.search.program import Program, Splice, spliced
from agent.search.state import SearchState, ask_trace, record
from agent.search.trials import repeated
from agent.search.values import (
    Candidate,
    Crash,
    PrecheckRequest,
    PrecheckResult,
    SearchReply,
    SearchRequest,
    Trace,
)

MISSING = frozenset({"NameError", "AttributeError", "ImportError", "ModuleNotFoundError"})
MISSING_NAME, REPORTED_MISTAKE = "missing name", "reported mistake"
MAX_STEPS = 8
GUESSES = 12
"""Edits of one missing name that are tried."""
STEP = 1.0
"""Added to the cost of each edit, which may be slightly negative."""


def repair_missing_names(
    state: SearchState, base: Candidate, trace: Trace
) -> Generator[SearchRequest, SearchReply, Candidate | None]:
    """Returns a text that gets further than `base`, whose trace is `trace`, or `None`.

    A text that passes every test after several edits is recorded as plausible. After one edit it is
    left to the search, which also tries the other single edits.
    """
    current = base
    for step in range(MAX_STEPS):
        crashed = crash_of(trace)
        if crashed is None or state.is_budget_spent:
            break
        guesses = _guesses(current, trace, crashed)
        if not guesses:
            break
        texts = tuple(one.text for one, _ in guesses)
        answers = yield PrecheckRequest(texts, "full", state.progress())
        assert isinstance(answers, tuple)
        state.tried += sum(answer is not None for answer in answers)
        further = [
            (-answer.score, one.cost, one.text, one, edit, answer)
            for (one, edit), answer in zip(guesses, answers, strict=True)
            if answer is not None
            and _makes_progress(state, answer, edit, one.text, crashed, current.text)
        ]
        if not further:
            break
        *_, current, edit, answer = min(further, key=lambda one: one[:3])
        if answer.outcome == "ok":
            if step:
                record(state, current, edit, answer)
            break
        trace = yield from ask_trace(state, current.text)
    return None if current is base else current


def _guesses(base: Candidate, trace: Trace, crashed: Crash) -> list[tuple[Candidate, Edit]]:
    """The likeliest texts in which a missing name is replaced or defined."""
    try:
        program = Program(base.text, types=trace.types, crash=crashed, moments=trace.snapshots)
    except (SyntaxError, ValueError, RecursionError):
        return []
    splices = [(one, REPORTED_MISTAKE) for one in reported(program, program.tree)]
    if crashed.exception in MISSING:
        splices += sorted(
            ((one, MISSING_NAME) for one in crash(program, program.tree)),
            key=lambda one: (one[0].cost, one[0].start, one[0].text),
        )
    texts: dict[str, tuple[Splice, str]] = {}
    for splice, operator in splices:
        if len(texts) < GUESSES:
            texts.setdefault(spliced(program.data, [splice]), (splice, operator))
    texts.pop(base.text, None)
    guesses = [
        (Candidate(text, cost, (*base.operators, operator)), Edit(splice, operator, cost))
        for text, (splice, operator) in texts.items()
        for cost in [base.cost + STEP + splice.cost]
    ]
    everywhere = [
        (Candidate(spliced(one.data, one.splices), one.cost, (*base.operators, *one.operators)),
         one.edit)
        for one in repeated(program, base, [edit for _, edit in guesses])
    ]
    return [*guesses, *everywhere[:GUESSES]]


def _makes_progress(
    state: SearchState, answer: PrecheckResult, edit: Edit, text: str, crashed: Crash, before: str
) -> bool:
    """Whether a candidate fails at another place than the previous text, or lacks another name.

    It must not break a test that passes with the base, nor lack a name that the edit put there.
    """
    passed = dict(enumerate(answer.passed))
    if answer.outcome not in ("ok", "failed") or any(
        passed.get(index) is False for index in state.passing
    ):
        return False
    if any(passed.get(index) for index in state.failing) or answer.exception in WRONG_ANSWERS:
        return True
    missing = _missing(answer.message)
    is_missing = answer.exception in MISSING and missing
    if is_missing and re.search(rf"\b{missing}\b", edit.splice.text) and not re.search(
        rf"\b{missing}\b", before
    ):
        return False
    if answer.line != crashed.line and _line(text, answer.line) != _line(before, crashed.line):
        return True
    other = missing != _missing(crashed.message)
    return bool(crashed.exception in MISSING and is_missing and other)


def _missing(message: str) -> str:
    """The name that the message of an exception reports as missing."""
    return "".join(re.findall(r"'(\w+)'", message)[-1:])


def _line(text: str, line: int | None) -> str:
    return "" if line is None else text.splitlines()[line - 1].strip()
