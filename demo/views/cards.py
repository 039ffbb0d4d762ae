"""Renders the questions of a run to a user as HTML. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent.core.domain import CompetingPatches
from agent.core.events import Waiting
from agent.search.ranking.question import Answer, describe_choice
from demo.views.diff import diff
from demo.views.escape import escaped


def question(patches: CompetingPatches | None, *, waits: bool = False, own: bool = True) -> str:
    if patches is None:
        return ""
    then = "The run waits for your answer." if waits else (
        f"You need not answer: the result is {escaped(patches.behaviours[0].label, 10)}. An answer "
        f"starts a new run{'' if own else ' of your own, since another visitor started this one'}."
    )
    return (
        f'<div class="question"><h2>Which result is right?</h2><p>Several repairs pass your tests. '
        f"What should <code>{escaped(patches.call, 400)}</code> return? {then} Your answer becomes "
        "a test. It is included in “Save tests”, and added to your tests on the left unless you "
        "changed them.</p></div>"
    )


def choice(labels: Sequence[str], answer: Answer, notes: Iterable[str] = ()) -> str:
    """Returns the label of an answer button: the result and the edits that give it, as plain text
    of limited length."""
    label = describe_choice(labels, Answer(*map(_cut, answer)))
    edits = "; ".join(_cut(note.replace("`", ""), 200) for note in notes if note)
    return f"{label}\n{edits}" if edits else label


def _cut(text: str, most: int = 200) -> str:
    return text if len(text) <= most else f"{text[:most - 1]}…"


def paused(waiting: Waiting, *, own: bool) -> str:
    """Renders why a run is paused: it has reached a limit or lacks a key."""
    title = "A limit is reached." if waiting.needs == "budget" else "A key is needed."
    if not own:
        how = "Only the visitor who started this run can continue it."
    elif waiting.needs == "budget":
        how = "Nothing more is spent unless you raise the limit." if waiting.budget_extension else (
            "The limit cannot be raised on this page. End the run."
        )
    else:
        how = "Enter it under “Models and keys”, then continue the run."
    return (
        f'<div class="question"><h2>{title}</h2><p>{escaped(waiting.question)}</p>'
        f"<p>{how}</p></div>"
    )


def asked(question: str, patch: str) -> str:
    shown = f'<div class="proposed" tabindex="0">{diff(patch)}</div>' if patch else ""
    return f'<div class="question"><p>{escaped(question)}</p>{shown}</div>'
