"""What a run asks of a person, as HTML; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent.core.domain import CompetingPatches
from agent.core.events import Waiting
from agent.search.ranking.question import Answer, choice_in_words
from demo.views.diff import diff
from demo.views.escape import escaped


def question(rivals: CompetingPatches | None, *, waits: bool = False, own: bool = True) -> str:
    """What is asked above the buttons that answer it, by a run that waits for it or has ended."""
    if rivals is None:
        return ""
    then = "The run waits for the answer and goes on with it." if waits else (
        f"You need not answer: the run has kept {escaped(rivals.behaviours[0].label, 10)}. An "
        "answer heals the program again"
        f"{'' if own else ', in a run of your own: this is one of somebody else'}."
    )
    return (
        f'<div class="question"><h2>Which is right?</h2><p>More than one repair fits your tests. '
        f"What should <code>{escaped(rivals.call, 400)}</code> give? {then} The answer becomes a "
        "test, which “Save tests” has too; it joins your tests on the left, unless they were "
        "changed.</p></div>"
    )


def choice(labels: Sequence[str], answer: Answer, notes: Iterable[str] = ()) -> str:
    """The face of a button that answers a question: what is given, and by which edits; plain text,
    cut where it is long."""
    said = choice_in_words(labels, Answer(*map(_cut, answer)))
    edits = "; ".join(_cut(note.replace("`", ""), 200) for note in notes if note)
    return f"{said}\n{edits}" if edits else said


def _cut(text: str, most: int = 60) -> str:
    return text if len(text) <= most else f"{text[:most - 1]}…"


def paused(waiting: Waiting, *, own: bool) -> str:
    """What a run waits for that has reached a cap or lacks a key, above its buttons."""
    title = "A cap is reached." if waiting.needs == "budget" else "A key is needed."
    if not own:
        how = "Only whoever started this run can let it go on."
    elif waiting.needs == "budget":
        how = "Nothing more is spent unless you add to it." if waiting.more else (
            "More than that is not allowed here."
        )
    else:
        how = "Give it under “Models and keys”, then let the run go on."
    return (
        f'<div class="question"><h2>{title}</h2><p>{escaped(waiting.question)}</p>'
        f"<p>{how}</p></div>"
    )


def asked(question: str, patch: str) -> str:
    """What a review asks, and the patch that it is about, above its buttons."""
    shown = f'<div class="proposed" tabindex="0">{diff(patch)}</div>' if patch else ""
    return f'<div class="question"><p>{escaped(question)}</p>{shown}</div>'
