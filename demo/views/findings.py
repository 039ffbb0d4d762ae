"""What was found out about a program, as HTML; pure."""

from __future__ import annotations

from agent.core.domain import PROOF_ORDER, Behaviour, CompetingPatches, Evidence, Verdict
from agent.report.result import Result
from agent.report.words import (
    advice_words,
    confidence_meaning,
    confidence_words,
    doubt_words,
    integrity_words,
    meaning,
)
from demo.views.diff import diff
from demo.views.escape import escaped, prose
from demo.views.panes import fact_list, leading, named, pane, small


def behaviours(rivals: CompetingPatches) -> str:
    """Repairs that the tests do not tell apart, the patch first, with the call that does."""
    shown = "".join(_rival(one, diff(one.diff)) for one in rivals.behaviours)
    call = f'<p class="call"><code>{escaped(rivals.call, 400)}</code></p>' if rivals.call else ""
    return pane(
        "rivals", "Behaviours that fit the tests" if call else "Repairs that do as well",
        call + shown,
        " <small>A is the patch</small>",
    )


def _rival(one: Behaviour, shown: str) -> str:
    gives = escaped(one.raises or one.gives, 400)
    told = f'{"raises" if one.raises else "gives"} <code>{gives}</code>' if gives else ""
    by = small(one.note and f"by {one.note}")
    return (
        f'<div class="rival"><p><b>{escaped(one.label, 10)}</b> {told}{by}</p>'
        f"{shown}</div>"
    )


def verdict_facts(verdict: Verdict) -> tuple[tuple[str, str], ...]:
    """What was expected and what came; a message only where it says more."""
    if verdict.passed:
        return (("got", "as the test expects"),)
    told = verdict.doubt or (verdict.expected and verdict.got)
    return (
        ("expected", verdict.expected), ("got", verdict.got),
        ("message", "" if told else verdict.message),
    )


def smallest(result: Result) -> str:
    verdict = result.smallest_failure
    if verdict is None or result.outcome in (None, "healed", "proposed", "healthy"):
        return ""
    facts, columns = fact_list(*verdict_facts(verdict)), result.columns
    whose = f" of “{columns[leading(result)].label}”" if len(columns) > 1 else ""
    return pane(
        "smallest", f"The smallest failing test{escaped(whose)}",
        f'<p class="call"><code>{escaped(named(verdict.name, verdict.call))}</code></p>{facts}',
    )


def proof(result: Result, *, whole: bool = False) -> str:
    """How far a repair is shown to be right, step by step, and by what; from E0 on where that is
    to explain the `whole` ladder."""
    if result.proof is None:
        return ""
    reached = PROOF_ORDER.index(result.proof)
    steps = "".join(
        f'<li class="{"reached" if index <= reached else "open"}">'
        f"<b>{step}</b><span>{meaning(step, result)}"
        f"{small(result.lacks) if reached and index == reached + 1 else ''}</span></li>"
        for index, step in enumerate(PROOF_ORDER)
        if index > 0 or reached == 0 or whole
    )
    more = advice_words(result)
    advice = f'<p class="note">To prove more, {more[0].lower()}{more[1:]}</p>' if more else ""
    told = result.proof_why in result.reason  # beside the verdict
    why = "" if told else f'<p class="note">{prose(result.proof_why, 1_000)}</p>'
    if likely := confidence_words(result):
        why = f'<p class="note">{prose(f"{likely}: {confidence_meaning(result)}.", 1_000)}</p>{why}'
    seen = _evidence(result.evidence, result.lacks) if result.evidence is not None else ""
    if far := integrity_words(result):
        why += f'<p class="note">{prose(f"{far[0].upper()}{far[1:]}.", 1_000)}</p>'
    return f'{why}<ol class="ladder level-{result.proof}">{steps}</ol>{advice}{seen}'


def _evidence(seen: Evidence, told: str) -> str:
    """What was looked at for a proof above E2, in figures, and what speaks against it beside what
    is `told` above."""
    figures = fact_list(
        ("changed inputs", f"{seen.probes:,} raise nothing new" if seen.probes else ""),
        ("variations", f"{seen.siblings} tried in its place" if seen.siblings else ""),
        ("slips put in", f"{seen.killed} of {seen.mutants} noticed" if seen.mutants else ""),
        ("slips of no effect", f"{seen.equivalent} left out" if seen.equivalent else ""),
        ("re-runs", f"{seen.reruns} with other seeds" if seen.reruns else ""),
    )
    listed = "".join(
        f"<li>{prose(line, 400)}</li>" for line in doubt_words(seen)
        if line.partition(": ")[2] not in told
    )
    return figures + (f'<ul class="against">{listed}</ul>' if listed else "")


def learned(result: Result) -> str:
    """What was known of failures like this one, and what is kept."""
    items = [
        f"<li>{prose(lesson.text, 1_000)}"
        f"{' <small>the edit was stored</small>' if lesson.stored_fix else ''}</li>"
        for lesson in result.learned
    ]
    if result.recalled is not None and result.recalled.replayed:
        items.insert(0, f"<li>{prose(result.recalled.note, 600)}</li>")
    if result.recalled is not None:
        items += [
            f"<li>seen before: {prose(lesson, 1_000)}</li>" for lesson in result.recalled.lessons
        ]
    return f"<ul>{''.join(items)}</ul>" if items else '<p class="note">Nothing was learned.</p>'
