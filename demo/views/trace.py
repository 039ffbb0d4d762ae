"""The conversations with models as HTML; pure."""

from __future__ import annotations

from collections.abc import Mapping

from agent.core.events import FellBack, ModelCalled
from agent.log.spending import role_words
from agent.report.result import Result
from agent.report.timeline import ModelQuestion, Talk
from agent.report.words import model_words, outdone_words
from demo.views.diff import diff
from demo.views.escape import escaped
from llm.provider import named

LONGEST_SHOWN = 8_000
"""Characters of one text that are shown; the run's log holds more."""
LONGEST_SO_FAR = 3_000
MAX_AT_ONCE = 8
"""Calls under way whose texts are shown, and characters of each."""
TEXTS_WHILE_RUNNING = 1
"""Calls whose texts are shown while a run goes on: the page is sent anew at each step."""


def trace(result: Result) -> str:
    """Each question to a model, what it said, and what that cost."""
    if not result.talk:
        return '<p class="note">No model was asked.</p>'
    going = result.phase == "running"
    told = len(result.talk) - TEXTS_WHILE_RUNNING if going else 0
    items = "".join(
        f'<li class="tone-warning"><b>!</b> {escaped(model_words(one), 600)}</li>'
        if isinstance(one, FellBack) else _call(one, place, texts=place >= told)
        for place, one in enumerate(result.talk)
    )
    lost = "".join(
        f'<li><details data-key="outdone-{place}"><summary>Try {one.iteration}: '
        f"{escaped(outdone_words(one), 600)}</summary>{diff(one.diff)}</details></li>"
        for place, one in enumerate(result.outdone)
    )
    tries = f'<h3>Tries that were not taken</h3><ol class="calls">{lost}</ol>' if lost else ""
    return f'<ol class="calls">{items}</ol>{tries}'


def _call(call: ModelQuestion, place: int, *, texts: bool) -> str:
    asked, ended = call.asked, call.ended
    failed = ended is not None and not isinstance(ended, ModelCalled)
    if ended is not None:
        words = model_words(ended)
    else:
        assert asked is not None, "a call has one end at least"
        words = f"{role_words(asked.role)}: {named(asked.provider, asked.model)} is being asked"
    mark = "!" if failed else "✓" if ended is not None else "●"
    tone = "tone-bad" if failed else "tone-good" if ended is not None else "now"
    said = (*(asked.asked if asked is not None else ()), ("answer", ended.answer if ended else ""))
    turns = "".join(_turn(who, text) for who, text in said if text) if texts else ""
    head = f"<b>{mark}</b> {escaped(words, 600)}"
    now = (
        f'<pre class="writing" tabindex="0" data-call="{asked.call}"></pre>'
        if asked is not None and ended is None else ""
    )
    if not turns:
        return f'<li class="{tone}">{head}{now}</li>'
    return (
        f'<li class="{tone}"><details data-key="call-{place}"><summary>{head}</summary>'
        f"{turns}</details>{now}</li>"
    )


def writing_now(talk: Talk) -> str:
    """Where the last lines of what a model is writing are seen without looking for them."""
    last = talk[-1] if talk else None
    if not isinstance(last, ModelQuestion) or last.asked is None or last.ended is not None:
        return ""
    return f'<pre class="writing last" aria-hidden="true" data-call="{last.asked.call}"></pre>'


def writing(said: Mapping[int, str]) -> str:
    """What models are saying, by the numbers of their calls, the ends of long texts: `page.js` puts
    each where its call stands in the trace."""
    return "".join(
        f'<pre data-call="{call}">{"… " if len(text) > LONGEST_SO_FAR else ""}'
        f"{escaped(text[-LONGEST_SO_FAR:])}</pre>"
        for call, text in sorted(said.items())[-MAX_AT_ONCE:] if text
    )


def _turn(who: str, text: str) -> str:
    return (
        f'<p class="speaker">{escaped(who, 40)}</p>'
        f'<pre tabindex="0">{escaped(text, LONGEST_SHOWN)}</pre>'
    )
