"""Renders the conversations with models as HTML. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping

from agent.core.events import FellBack, ModelCalled
from agent.log.spending import role_words
from agent.report.result import Result
from agent.report.timeline import ModelExchange, ModelExchanges
from agent.report.words import model_words, not_chosen_words
from demo.views.diff import diff
from demo.views.escape import escaped
from llm.provider import named

LONGEST_SHOWN = 8_000
"""Maximum shown characters of one text; the run's log has more."""
LONGEST_SO_FAR = 3_000
"""Maximum shown characters of a reply that is still being written."""
MAX_AT_ONCE = 8
"""Maximum number of shown replies that are still being written."""
TEXTS_WHILE_RUNNING = 1
"""Newest calls with texts while a run is in progress; the page is sent again at each step."""


def trace(result: Result) -> str:
    if not result.model_calls:
        return '<p class="note">No model was used.</p>'
    running = result.phase == "running"
    first = len(result.model_calls) - TEXTS_WHILE_RUNNING if running else 0
    items = "".join(
        f'<li class="tone-warning"><b>!</b> {escaped(model_words(one), 600)}</li>'
        if isinstance(one, FellBack) else _call(one, place, texts=place >= first)
        for place, one in enumerate(result.model_calls)
    )
    rejected = "".join(
        f'<li><details data-key="outdone-{place}"><summary>Iteration {one.iteration}: '
        f"{escaped(not_chosen_words(one), 600)}</summary>{diff(one.diff)}</details></li>"
        for place, one in enumerate(result.repairs_not_chosen)
    )
    if rejected:
        rejected = f'<h3>Rejected repairs</h3><ol class="calls">{rejected}</ol>'
    return f'<ol class="calls">{items}</ol>{rejected}'


def _call(call: ModelExchange, place: int, *, texts: bool) -> str:
    asked, ended = call.request, call.result
    failed = ended is not None and not isinstance(ended, ModelCalled)
    if ended is not None:
        words = model_words(ended)
    else:
        assert asked is not None, "a call has started or ended"
        words = f"{role_words(asked.role)}: waiting for {named(asked.provider, asked.model)}"
    mark = "!" if failed else "✓" if ended is not None else "●"
    tone = "tone-bad" if failed else "tone-good" if ended is not None else "now"
    talk = (*(asked.asked if asked is not None else ()), ("answer", ended.answer if ended else ""))
    turns = "".join(_turn(who, text) for who, text in talk if text) if texts else ""
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


def writing_now(calls: ModelExchanges) -> str:
    """Renders the place for the reply that a model is writing, next to the verdict."""
    last = calls[-1] if calls else None
    if not isinstance(last, ModelExchange) or last.request is None or last.result is not None:
        return ""
    return f'<pre class="writing last" aria-hidden="true" data-call="{last.request.call}"></pre>'


def writing(replies: Mapping[int, str]) -> str:
    """Renders unfinished replies by the number of their call; `page.js` copies each to its place in
    the trace."""
    return "".join(
        f'<pre data-call="{call}">{"… " if len(text) > LONGEST_SO_FAR else ""}'
        f"{escaped(text[-LONGEST_SO_FAR:])}</pre>"
        for call, text in sorted(replies.items())[-MAX_AT_ONCE:] if text
    )


def _turn(who: str, text: str) -> str:
    return (
        f'<p class="speaker">{escaped(who, 40)}</p>'
        f'<pre tabindex="0">{escaped(text, LONGEST_SHOWN)}</pre>'
    )
