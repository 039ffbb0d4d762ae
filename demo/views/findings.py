"""Renders findings about a program as HTML: competing patches, the smallest failing test, the proof
and lessons. Pure functions."""

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
from demo.views.panes import fact_list, initially_shown, named, pane, small


def behaviours(patches: CompetingPatches) -> str:
    """Renders competing patches, the chosen one first, with the call whose result differs."""
    shown = "".join(_behaviour(one, diff(one.diff)) for one in patches.behaviours)
    call = f'<p class="call"><code>{escaped(patches.call, 400)}</code></p>' if patches.call else ""
    return pane(
        "rivals", "Different behaviours that pass the tests" if call
        else "Other repairs that pass the tests",
        call + shown,
        " <small>A is the patch</small>",
    )


def _behaviour(one: Behaviour, shown: str) -> str:
    value = escaped(one.raises or one.gives, 400)
    gives = f'{"raises" if one.raises else "returns"} <code>{value}</code>' if value else ""
    by = small(one.note and f"by {one.note}")
    return (
        f'<div class="rival"><p><b>{escaped(one.label, 10)}</b> {gives}{by}</p>'
        f"{shown}</div>"
    )


def verdict_facts(verdict: Verdict) -> tuple[tuple[str, str], ...]:
    """Returns the expected and the actual value, or else the message of a failure."""
    if verdict.passed:
        return (("got", "as the test expects"),)
    is_complete = verdict.disbelieved or (verdict.expected and verdict.got)
    return (
        ("expected", verdict.expected), ("got", verdict.got),
        ("message", "" if is_complete else verdict.message),
    )


def smallest(result: Result) -> str:
    verdict = result.smallest_failure
    if verdict is None or result.outcome in (None, "healed", "proposed", "healthy"):
        return ""
    facts, tested = fact_list(*verdict_facts(verdict)), result.tested_programs
    whose = f" of “{tested[initially_shown(result)].label}”" if len(tested) > 1 else ""
    return pane(
        "smallest", f"The smallest failing test{escaped(whose)}",
        f'<p class="call"><code>{escaped(named(verdict.name, verdict.call))}</code></p>{facts}',
    )


def proof(result: Result) -> str:
    """Renders the proof of a repair, level by level; E0 only if no higher one is reached."""
    if result.proof is None:
        return ""
    reached = PROOF_ORDER.index(result.proof)
    steps = "".join(
        f'<li class="{"reached" if index <= reached else "open"}">'
        f"<b>{step}</b><span>{meaning(step, result)}"
        f"{small(result.missing) if reached and index == reached + 1 else ''}</span></li>"
        for index, step in enumerate(PROOF_ORDER)
        if index > 0 or reached == 0
    )
    more = advice_words(result)
    advice = f'<p class="note">To prove more, {more[0].lower()}{more[1:]}</p>' if more else ""
    is_shown = result.proof_why in result.reason  # next to the verdict
    why = "" if is_shown else f'<p class="note">{prose(result.proof_why, 1_000)}</p>'
    if likely := confidence_words(result):
        why = f'<p class="note">{prose(f"{likely}: {confidence_meaning(result)}.", 1_000)}</p>{why}'
    evidence = _evidence(result.evidence, result.missing) if result.evidence is not None else ""
    if integrity := integrity_words(result):
        why += f'<p class="note">{prose(f"{integrity[0].upper()}{integrity[1:]}.", 1_000)}</p>'
    return f'{why}<ol class="ladder level-{result.proof}">{steps}</ol>{advice}{evidence}'


def _evidence(found: Evidence, missing: str) -> str:
    """Renders the evidence for a proof above E2 in figures, and doubts that `missing` does not
    contain."""
    figures = fact_list(
        ("changed inputs", f"{found.probes:,} cause no new error" if found.probes else ""),
        ("patch variants", f"{found.variants_tried} tried instead" if found.variants_tried else ""),
        ("mutations", f"{found.killed} of {found.mutants} detected" if found.mutants else ""),
        ("without effect", f"{found.equivalent} mutations left out" if found.equivalent else ""),
        ("re-runs", f"{found.reruns} with other seeds" if found.reruns else ""),
    )
    listed = "".join(
        f"<li>{prose(line, 400)}</li>" for line in doubt_words(found)
        if line.partition(": ")[2] not in missing
    )
    return figures + (f'<ul class="against">{listed}</ul>' if listed else "")


def learned(result: Result) -> str:
    """Renders lessons known from similar failures, and lessons saved by this run."""
    items = [
        f"<li>{prose(lesson.text, 1_000)}"
        f"{' <small>the patch was saved too</small>' if lesson.stored_fix else ''}</li>"
        for lesson in result.learned
    ]
    if result.recalled is not None and result.recalled.replayed:
        items.insert(0, f"<li>{prose(result.recalled.note, 600)}</li>")
    if result.recalled is not None:
        items += [
            f"<li>from an earlier run: {prose(lesson, 1_000)}</li>"
            for lesson in result.recalled.lessons
        ]
    return f"<ul>{''.join(items)}</ul>" if items else '<p class="note">There are no lessons.</p>'
