from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core import domain as d
from agent.core import events as e
from agent.core.domain import JailLayer, JailStatus, Report, Verdict
from agent.core.events import Event, Judged, LogEntry, RunFinished, RunStarted, from_jsonl
from agent.report.result import fold
from agent.report.words import INTEGRITY_MEANING, STATUS_SYMBOLS
from agent.search.ranking.question import Answer
from demo.layout.output import EXAMPLE
from demo.models.plans import banner, plan_html
from demo.views.bench import workbench
from demo.views.cards import choice, question
from demo.views.escape import sentence
from tests.demo.recorded import Log, recorded

ROOT = Path(__file__).parents[2]
CANARIES = [
    "<script>window.pwned=1</script>", '"><img src=x onerror=window.pwned=1>',
    "`${window.pwned=1}`", "{{value}} {{#each x}}", "' onmouseover='window.pwned=1",
    "</div></section>", r"\d+\n", "&lt;", "</textarea><svg/onload=1>",
]
OUR_TAGS = {
    "a", "b", "button", "caption", "code", "col", "colgroup", "datalist", "dd", "details", "div",
    "dl", "dt", "h2", "header", "i", "input", "label", "li", "mark", "ol", "option", "p", "pre",
    "section", "select", "small", "span", "strong", "summary", "sup", "table", "tbody", "td", "th",
    "thead", "time", "tr", "ul",
}
ALONE = {"col", "input"}
OUR_ATTRIBUTES = {
    "aria-controls", "aria-expanded", "aria-hidden", "aria-label", "aria-labelledby",
    "aria-selected", "aria-valuetext", "class", "colspan", "data-act", "data-against",
    "data-announce", "data-at", "data-call", "data-cell", "data-elapsed", "data-final",
    "data-key", "data-opens", "data-phase", "data-row", "data-run", "data-seen", "data-shown",
    "data-step", "data-waits", "download", "hidden", "href", "id", "list", "max", "min", "open",
    "role", "scope", "tabindex", "title", "type", "value",
}


class Reader(HTMLParser):
    """Reads what a browser would: tags, attribute names, links, and the text."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: set[str] = set()
        self.text = ""
        self.open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links |= {value or "" for name, value in attrs if name in ("href", "src")}
        self.open += [tag] if tag not in ALONE else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def everywhere(text: str, *, resolved: bool) -> Log:
    """A log with `text` in every place where untrusted text may stand."""
    diff = f"--- a/{text}\n+++ b/x\n@@ -1 +1 @@\n-{text}\n+{text}!\n"
    solution = d.Solution(files=(d.File(path="x", text=text),), entry="x", note=text)
    verdicts = tuple(
        Verdict(
            name=f"{text}{status}", test=text, origin="user", status=status, reason=text, call=text,
            integrity="in-process", expected=text, got=text, message=text, type_differs=True,
        )
        for status in ("passed", "failed", "error", "timeout")
    )
    rivals = d.CompetingPatches(call=text, behaviours=(
        d.Behaviour(label=text, gives=text, solution=solution, note=text, diff=diff),
    ))
    ending = d.Ending(kind="raised", exception=text, message=text, line=1, traceback=text)
    end: Event = e.RunFailed(error=text)
    if resolved:
        end = RunFinished(
            outcome="unresolved", proof="E0", strategy="search", reason=text, diff=diff, code=text,
            stdout=text, iterations=1, candidates=1, tokens=1, cost_usd=None, seconds=1.0,
        )
    events: list[Event] = [
        RunStarted(title=text, code=text, provider=text, provider_why=text, sandbox=text,
                   level=text, layers=(JailLayer(name=text, holds=False, observed=text),),
                   roles=(e.RoleChoice(role=text, provider=text, model=text, why=text),)),
        e.StepStarted(step="execute", iteration=1),
        e.TestsFrozen(tests=(e.TestInfo(name=text, origin="user", code=text),)),
        e.CodeWritten(iteration=0, solution=solution),
        Judged(iteration=0, report=Report(solution="s", verdicts=verdicts, ending=ending)),
        e.Diagnosed(iteration=0, diagnosis=d.Diagnosis(
            category="crash", fixable=False, cause=text, evidence=(text,),
            suspicious_lines=(
                d.SuspiciousLine(line=1, suspicion=0.5, text=text, values=((text, text),)),
            ),
        )),
        e.Searched(candidates=1, plausible=0, best_passed=0, total=1, wall_s=1.0, note=text),
        e.Recalled(hit=True, note=text),
        e.PatchProposed(iteration=1, strategy="search", note=text, diff=diff),
        e.PartialFound(diff=diff, passed=0, total=1, note=text),
        e.Critiqued(verdict="reject", note=text), e.Ambiguous(iteration=1, competing=rivals),
        e.Proved(level="E2", why=text, evidence=d.Evidence(
            probes=1, new_failures=(text,), inconsistent=(text,), competing_patches=1, mutants=2,
            killed=1,
            survivors=(text,), equivalent=1, reruns=5, disagreeing=(text,), inconclusive=text,
            cut=text,
        )),
        e.LessonLearned(text=text, category=text),
        e.ModelAsked(call=0, role=text, provider=text, model=text, tokens=1, cost_usd=1.0,
                   asked=((text, text),)),
        e.ModelCalled(call=0, role=text, provider=text, model=text, tokens=1, cost_usd=1.0,
                    wall_s=1.0, answer=text),
        e.ModelFailed(call=1, role=text, provider=text, model=text, error=text, why=text, tokens=1,
                    cost_usd=None, wall_s=1.0, answer=text),
        e.FellBack(role=text, provider=text, to=text, why=text), e.Notice(level="error", text=text),
        e.Waiting(interrupt=text, question=text, diff=diff), end,
    ]
    return tuple(
        LogEntry(run=text, seq=n, task="t", attempt=1, ordinal=n, at=n, event=event)
        for n, event in enumerate(events, start=1)
    )


@pytest.mark.parametrize("canary", CANARIES)
@pytest.mark.parametrize("resolved", [True, False])
def test_untrusted_text_stays_text_in_every_place(canary: str, resolved: bool) -> None:
    log = everywhere(canary, resolved=resolved)
    shortest = 0 if canary == CANARIES[0] else len(log)  # each prefix once, for time
    for length in range(shortest, len(log) + 1):
        view = fold(log[:length])
        read = Reader(workbench(view) + question(view.competing))
        assert read.tags <= OUR_TAGS
        assert read.attributes <= OUR_ATTRIBUTES
        assert all(link.startswith("gradio_api/heal/") for link in read.links)
        assert read.open == []
    assert read.text.count(canary) > 8


@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_any_text_at_all_renders_as_text_that_can_be_sent(text: str) -> None:
    page = workbench(fold(everywhere(text, resolved=True)))
    page.encode("utf-8")
    read = Reader(page)
    assert read.tags <= OUR_TAGS
    assert read.attributes <= OUR_ATTRIBUTES


@pytest.mark.parametrize("name", ["healed", "unresolved", "crash_stopped", "waiting"])
def test_every_prefix_of_a_run_renders(name: str) -> None:
    log = recorded(name)
    for length in range(len(log) + 1):
        assert Reader(workbench(fold(log[:length]))).open == []


def test_text_that_turns_the_reading_order_is_escaped_and_long_text_cut() -> None:
    assert 'class="sentence info" role="note">' in sentence("x", "info")
    page = sentence("safe\u202eelbisreve\u200b \u061c\u00ad\u2060\U000e0041\u3164")
    assert "\\u202e" in page and "\\U000e0041" in page and "\\u061c" in page
    assert not {*"\u202e\u200b\u061c\u00ad\u2060\U000e0041\u3164"} & {*page}
    assert "96,000" in (cut := sentence("a" * 100_000)) and len(cut) < 5_000


@pytest.mark.parametrize(("name", "classes", "smallest"), [
    ("healed", "is-healed at-E2", False), ("unresolved", "is-unresolved", True),
    ("crash_stopped", "is-crash-stopped at-E0", False),
])
def test_an_end_shows_what_was_reached_and_no_more(name: str, classes: str, smallest: bool) -> None:
    log = recorded(name)
    page = workbench(fold(log))
    assert f'class="bench {classes}' in page
    assert ('class="pane smallest"' in page, 'class="partial"' in page) == (smallest, smallest)
    assert 'class="download"' in page and 'class="download"' not in workbench(fold(log[:-1]))


def test_a_patch_can_be_read_and_taken_along() -> None:
    page = workbench(fold(recorded("healed")))
    assert re.findall("<mark>(.*?)</mark>", page) == ["="]
    assert Reader(page).links == {
        f"gradio_api/heal/recorded/{file}" for file in ("patch", "tests", "bundle")
    }


def a_run_of(*verdicts: Verdict) -> str:
    """The page of a healthy run with these verdicts."""
    end = RunFinished(
        outcome="healthy", proof="E1", strategy=None, reason="", diff="", iterations=0,
        candidates=0, tokens=0, cost_usd=0.0, seconds=1.0,
    )
    report = Report(solution="s", verdicts=verdicts)
    events = e.StepStarted(step="recall", iteration=0), Judged(iteration=0, report=report), end
    return workbench(fold(
        LogEntry(run="r", seq=seq, task="t", attempt=1, ordinal=seq, at=seq, event=event)
        for seq, event in enumerate(events, start=1)
    ))


def one(status: str = "passed", **fields: object) -> Verdict:
    return Verdict.model_validate({
        "name": "t", "test": "t", "origin": "user", "status": status,
        "integrity": "isolated" if status == "passed" else None, **fields,
    })


@pytest.mark.parametrize(("verdict", "cell", "integrity"), [
    (one(), "passed", "isolated"),
    (one(integrity="in-process", reason="uses caplog"), "passed", "in-process"),
    (one("skipped"), "skipped", ""), (one("xfailed"), "xfailed", ""),
    (one("xpassed"), "xpassed", ""), (one(vacuous=True), "vacuous", "isolated"),
    (one(integrity=None, doubt="it looks"), "not-believed", ""), (one("failed"), "failed", ""),
    (one("timeout"), "timeout", ""),
])
def test_a_cell_says_what_a_verdict_comes_to(verdict: Verdict, cell: str, integrity: str) -> None:
    page = a_run_of(verdict)
    assert f'class="cell {cell}"' in page
    sign = STATUS_SYMBOLS[verdict.evidence_status]
    face = "i" * (integrity == "in-process") + sign.meaning + (integrity and f"; {integrity}")
    assert f"{sign.glyph}{face}" in Reader(page).text


def test_every_mark_of_the_page_has_its_colour() -> None:
    style = (ROOT / "demo/assets/page.css").read_text("utf-8")
    for standing in STATUS_SYMBOLS:
        name = standing.replace(" ", "-")
        assert re.search(rf"\.cell\.{name}\b", style), standing
        assert re.search(rf"\.seen\.{name} p b\b", style), standing


@pytest.mark.parametrize(("verdicts", "fact"), [
    ([one(integrity=None, doubt="it looks into frames", message="m")], "it looks into frames"),
    ([one(), one(name="u", test="u", integrity="in-process", reason="uses caplog <b>")],
     "uses caplog <b>"),
    ([one(integrity="in-process")], INTEGRITY_MEANING["in-process"]),
])
def test_how_far_a_pass_is_believed_is_said_with_why(verdicts: list[Verdict], fact: str) -> None:
    assert fact in Reader(a_run_of(*verdicts)).text


@pytest.mark.parametrize(("level", "badge"), [
    ("L4", "level fit"), ("L2", "level fit"), ("R", "level fit"), ("L1", "level weak"),
])
def test_the_sandbox_level_is_a_badge_with_its_layers(level: str, badge: str) -> None:
    layers = (
        JailLayer(name="seccomp", holds=True, observed="open a socket: EACCES"),
        JailLayer(name="namespaces", holds=False, observed='see "the" parent: possible'),
    )
    shown = plan_html(
        "mock", "no model", JailStatus(words="jail: seen", level=level, layers=layers)
    )
    assert f'<span class="badge {badge}">{level}</span>' in shown
    tip = shown.partition('<summary title="')[2].partition('">')[0]
    for fact in ("seccomp", "open a socket: EACCES", "namespaces", 'see "the" parent: possible'):
        assert fact in Reader(shown).text and fact in unescape(tip)
    assert len(tip.split("\n")) == 2 and "jail: seen" in Reader(shown).text
    without = plan_html(
        "mock", "no model", JailStatus(words="s")
    )  # a log from before there were levels
    assert 'class="badge level' not in without


def test_banners_and_buttons_are_short() -> None:
    assert banner("", "") == ""
    assert 'class="banner weak"' in banner("<b>", "")
    assert "<b>" not in banner("<b>", "") + banner("", "<b>")

    assert [fact for fact in ("B", "C", "KeyError") if fact not in choice(
        "BC", Answer(raises="KeyError")
    )] == []
    assert "'" + "x" * 198 + "…" in choice("A", Answer("'" + "x" * 300 + "'"))


def test_behaviours_that_fit_the_tests_stand_side_by_side_with_the_question() -> None:
    view = fold(recorded("rivals"))
    read = Reader(workbench(view))
    for fact in ("price(11)", "A returns 22", "B returns 33", "E2", "128"):
        assert fact in read.text
    assert view.question is view.competing is not None
    own, b, other = map(read.text.index, ("if n >= 10", "B returns", "if n == 10"))
    assert own < b < other
    assert "price(11)" in Reader(question(view.question)).text
    assert question(None) == ""


def test_a_question_is_open_only_where_a_run_has_healed() -> None:
    log = recorded("rivals")
    assert fold(log[:-1]).question is None
    end = log[-1]
    assert isinstance(end.event, RunFinished)
    cancelled = end.model_copy(update={"event": end.event.model_copy(
        update={"outcome": "cancelled"}
    )})
    assert fold((*log[:-1], cancelled)).question is None


@pytest.mark.parametrize("level", ["E0", "E1", "E2", "E3", "E4"])
def test_each_level_of_proof_has_a_look_of_its_own(level: d.ProofLevel) -> None:
    log = from_jsonl(EXAMPLE.read_text(encoding="utf-8"))
    shown = workbench(replace(fold(log), proof=level))
    assert f'class="bench is-healed at-{level}"' in shown
    assert re.search(rf'<b class="level-{level}" title="[^"]+">', shown)


def test_suspicion_is_shown_where_lines_differ() -> None:
    def marked(*suspicion: float) -> list[str]:
        lines = tuple(
            d.SuspiciousLine(line=n, suspicion=one) for n, one in enumerate(suspicion, 1)
        )
        found = d.Diagnosis(category="crash", cause="it is", suspicious_lines=lines, confidence=0.6)
        one, *rest = recorded("healed")
        log = [entry.model_copy(update={"event": entry.event.model_copy(
            update={"diagnosis": found}
        )}) if isinstance(entry.event, e.Diagnosed) else entry for entry in rest]
        page = workbench(fold((one, *log)))
        assert "60%" not in page
        return re.findall(r'class="line (s[1-5])"', page)

    assert marked(1.0, 0.5, 0.4) == ["s5", "s3", "s2"] * 2  # of that program, and after it
    assert "s5" not in marked(1.0, 1.0, 1.0, 0.99)
