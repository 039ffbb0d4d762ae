"""Renders the panels next to the workbench as HTML. Pure functions; untrusted text passes through
`escaped`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from agent.core.domain import counted
from agent.core.measures import interval
from agent.interfaces.terminal.memory.tables import facts, patch_of
from agent.log.history import RunSummary
from agent.memory import StoredFix, StoredLesson
from agent.report.iterations import RunComparison
from agent.report.result import Result
from agent.report.words import OUTCOME_WORDS, PROOF_MEANING, fitting_words, headline, outcome_words
from demo.panels.measured import BenchmarkTable, Share
from demo.views.diff import diff
from demo.views.escape import escaped, prose
from demo.views.panes import fact_list, pane

MAX_RUNS = 100
MAX_REMEMBERED = 100
NO_RUNS = "There are no runs yet. Press Heal to start one; it will be listed here with its log."
NONE_LIKE = "No run matches the search. Runs are searched by name and outcome."
NOTHING_KNOWN = (
    "There are no saved fixes or lessons yet. A proven repair is saved as a fix and a lesson, and "
    "is tried first when a similar failure occurs."
)


def status_words(one: RunSummary) -> str:
    """Returns the status of a run, in the words of its verdict."""
    for outcome in OUTCOME_WORDS:
        if outcome == one.status:
            words = outcome_words(outcome, one.proof)
            word = words.partition(",")[0].partition(":")[0].lower()
            return ", ".join(filter(None, (word, fitting_words(one.fitting_repairs))))
    return one.status


def runs(listed: Sequence[RunSummary], search: str) -> str:
    """Renders the list of runs that match a search, each with its buttons."""
    words = search.lower().split()
    found = [
        one for one in listed
        if all(
            word in f"{one.title} {status_words(one)} {one.status} {one.id}".lower()
            for word in words
        )
    ]
    if not found:
        return f'<p class="none">{NONE_LIKE if listed else NO_RUNS}</p>'
    more = f'<p class="none">Only the newest {MAX_RUNS} runs are listed.</p>' \
        if len(listed) >= MAX_RUNS else ""
    titles = {one.id: one.title for one in listed}
    return f'<ol class="kept-runs">{"".join(_run(one, titles) for one in found)}</ol>{more}'


def _run(one: RunSummary, titles: Mapping[str, str]) -> str:
    run, title = escaped(one.id), escaped(one.title or "unnamed run", 200)
    of = one.parent.run if one.parent is not None else ""
    parent = f" · fork of {escaped(titles.get(of) or of[:8], 60)}" if of else ""
    slug = "open" if one.fitting_repairs > 1 else one.status.replace("_", "-")
    level = "" if one.proof is None else \
        f' <i title="{escaped(PROOF_MEANING[one.proof])}">{one.proof}</i>'
    return (
        f'<li class="kept-run"><label class="tick"><input type="checkbox" data-pick="{run}">'
        f'<span class="sr">Compare {title}</span></label>'
        f'<a class="name" href="?run={run}">{title}</a>'
        f'<span class="standing is-{slug} at-{one.proof}">{escaped(status_words(one))}{level}'
        "</span>"
        f"<small>{_when(one.created)}{parent}</small>"
        f'<span class="acts">{_act("replay", run, "Replay")}{_act("again", run, "Run again")}'
        f'<a href="gradio_api/heal/{run}/log" download>Export</a>'
        f'{_act("rename", run, "Rename", ask="New name of this run:", value=one.title)}'
        f'{_act("delete", run, "Delete", sure=f"Delete “{one.title}” and its log permanently?")}'
        "</span></li>"
    )


def _act(act: str, key: str, label: str, *, ask: str = "", value: str = "", sure: str = "") -> str:
    more = "".join(
        f' data-{name}="{escaped(text, 300)}"'
        for name, text in (("ask", ask), ("value", value), ("sure", sure)) if text
    )
    return f'<button type="button" data-act="{act}" data-key="{key}"{more}>{label}</button>'


def _when(seconds: float) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return f'<time datetime="{moment.isoformat()}">{moment:%d %b %Y, %H:%M} UTC</time>'


def title_of(run: str, listed: Iterable[RunSummary]) -> str:
    found = next((one for one in listed if one.id == run), None)
    if found is None:
        return run[:8]
    moment = datetime.fromtimestamp(found.created, UTC)
    return f"{found.title[:200]}, {moment:%d %b %Y, %H:%M:%S} UTC"


def replayed(run: str, count: int) -> str:
    """Renders the frame for a replay; `panels.js` loads and shows the states."""
    return (
        f'<div class="replay" data-run="{escaped(run)}" data-count="{count}">'
        '<p class="moment-shown"></p><div class="bench"><div data-part></div><div data-part></div>'
        f'<div data-part></div>{pane("timeline", "Timeline", "<ol></ol>")}</div></div>'
    )


def comparison(two: RunComparison, names: tuple[str, str]) -> str:
    related = f'<p class="none">{escaped(two.related)}</p>' if two.related else ""
    rows = "".join(
        f"<tr><th scope=row>{escaped(one.name, 200)}</th><td>{one.left}</td>"
        f"<td>{one.right}</td></tr>" for one in two.differences if one.left and one.right
    )
    table = (
        "<table><thead><tr><th scope=col>test</th><th scope=col>first</th>"
        f"<th scope=col>second</th></tr></thead><tbody>{rows}</tbody></table>"
        if rows else '<p class="none">All common tests have the same result in both runs.</p>'
    )
    alone = (
        ("first", sum(not one.right for one in two.differences)),
        ("second", sum(not one.left for one in two.differences)),
    )
    only = "; ".join(f"{counted(n, 'test')} only in the {side} run" for side, n in alone if n)
    more = f'<p class="none">{only}.</p>' if only else ""
    changed = diff(two.diff) if two.diff else '<p class="none">Both end with the same program.</p>'
    return (
        f'<section class="two-runs"><h2>Two runs</h2>{related}<div class="sides">'
        f'{_side(two.left, "First", names[0])}{_side(two.right, "Second", names[1])}</div>'
        f"<h3>Tests with different results</h3>{table}{more}"
        f"<h3>Changes from the first program to the second</h3>{changed}</section>"
    )


def _side(result: Result, place: str, name: str) -> str:
    word, facts = headline(result)
    return (
        f"<div><small>{place}</small> <b>{escaped(name, 300)}</b>"
        f"<p>{escaped(word)}: {prose('; '.join(facts), 400)}</p></div>"
    )


def memory(fixes: Sequence[StoredFix], lessons: Sequence[StoredLesson], search: str) -> str:
    words = search.lower().split()
    rows = [
        shown for shown, text in (*map(_fix, fixes), *map(_lesson, lessons))
        if all(word in text.lower() for word in words)
    ]
    if not rows:
        none = "No fix or lesson matches the search." if fixes or lessons else NOTHING_KNOWN
        return f'<p class="none">{none}</p>'
    total = f"{counted(len(fixes), 'fix', 'fixes')}, {counted(len(lessons), 'lesson')}"
    return (
        f'<p class="none">{total}. '
        f'{_act("forget-all", "all", "Delete all", sure="Delete all your fixes and lessons?")}'
        f'</p><ul class="remembered">{"".join(rows[:MAX_REMEMBERED])}</ul>'
    )


def _fix(known: StoredFix) -> tuple[str, str]:
    text = " ".join(value for _, value in facts(known))
    names = re.findall(r"^(?:async def|def|class) (\w+)", known.fix.before, re.MULTILINE)
    pairs = ("program", ", ".join(names[:3])), *facts(known)
    summary = known.fix.note or known.fix.failure.words
    details = [(name, value.replace("`", "")) for name, value in pairs if value != summary]
    of = f"<code>{escaped(names[0], 60)}</code>: " if names else ""
    return (
        f'<li><details><summary>{of}{prose(summary, 200)} '
        f'<span class="level-{known.fix.proof}" title="{escaped(PROOF_MEANING[known.fix.proof])}">'
        f"{known.fix.proof}</span></summary>"
        f"{fact_list(*details)}{diff(patch_of(known))}"
        f'{_act("forget", str(known.number), "Delete this fix", sure="Delete it permanently?")}'
        "</details></li>", f"{text} {' '.join(names)}",
    )


def _lesson(row: StoredLesson) -> tuple[str, str]:
    button = _act("forget", f"L{row.number}", "Delete this lesson", sure="Delete it permanently?")
    return (
        f"<li><details><summary>{prose(row.lesson.text, 400)}</summary>"
        f"<p><small>a lesson on {escaped(row.lesson.category.replace('_', ' '))}, "
        f"{_when(row.created)}</small></p>{button}</details></li>",
        f"{row.lesson.text} {row.lesson.category}",
    )


def benchmarks(found: Sequence[BenchmarkTable], command: str) -> str:
    """Renders the benchmark results of this machine, with confidence intervals."""
    if not found:
        return (
            '<p class="none">No benchmark was run on this machine yet. This command runs one, '
            "without a model:</p>"
            f'<pre tabindex="0">{escaped(command)}</pre>'
        )
    return "".join(map(_measured, found))


def _measured(one: BenchmarkTable) -> str:
    rows = "".join(
        f"<tr><th scope=row>{escaped(name, 80)}</th>"
        + "".join(f"<td>{_share(share)}</td>" for share in shares)
        + f"<td>{seconds:.1f} s</td></tr>"
        for name, shares, seconds in one.rows
    )
    plots = "".join(
        f'<img alt="plot: {escaped(name)}" src="data:image/png;base64,{image}">'
        for name, image in one.plots
    )
    return (
        f'<section class="measured"><h2>{escaped(one.name, 200)}</h2>'
        f"{fact_list(*one.provenance)}"
        '<table><thead><tr><th scope=col>group</th><th scope=col>pass their tests</th>'
        "<th scope=col>first patch right</th><th scope=col>any shown patch right</th>"
        f"<th scope=col>median</th></tr></thead><tbody>{rows}</tbody></table>{plots}</section>"
    )


def _share(share: Share) -> str:
    hits, of = share
    if not of:
        return "none"
    low, high = interval(hits, of)
    return f"{hits} of {of} <small>{low:.0%} to {high:.0%}</small>"
