"""The programs of a run on the page: which are shown, what of them, and what models said."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from agent.core import events as e
from agent.core.domain import Ending, Report, Status, Verdict
from agent.core.events import Judged, ModelAsked, ModelCalled, RunFinished, TestInfo, from_jsonl
from agent.interfaces.bundle import patch, patch_of
from agent.interfaces.project.reports import markdown
from agent.loop.session import Session, open_session
from agent.report.result import Result, fold
from agent.report.timeline import JudgedProgram, ModelExchange
from agent.target.task import from_page
from demo.browser_state import NEW_VISIT, NO_RUN, Visit
from demo.handlers import Page
from demo.layout.theme import ASSETS
from demo.panels.views import runs
from demo.serving.access import Access
from demo.serving.host import SessionHost
from demo.views.bench import workbench
from demo.views.findings import behaviours, proof, smallest
from demo.views.matrix import matrix
from demo.views.panes import initially_shown
from demo.views.programs import NO_OUTPUT, OUTPUT_NOT_SAVED, console
from demo.views.required import next_words
from demo.views.trace import writing
from tests.agent.log.test_result import log_of
from tests.agent.model_runs import followed
from tests.agent.runs import finished, settings
from tests.demo.recorded import RecordedSession, recorded
from tests.demo.test_render import Reader
from tests.demo.test_verbs import CODE, TESTS
from tests.demo.test_web import ran, serving


def panel(page: str, name: str) -> str:
    """The HTML of one tab's panel."""
    return page.partition(f'id="panel-{name}"')[2].partition('role="tabpanel"')[0]


def text(part: str) -> str:
    """The text of a piece of HTML."""
    return unescape(re.sub("<[^>]*>", "", part))


def at(panel: str, place: int) -> str:
    """What of a panel belongs to one program."""
    return panel.partition(f'data-at="{place}"')[2].partition("data-at=")[0]


def test_a_partial_patch_is_marked_and_applies(tmp_path: Path) -> None:
    result = fold(recorded("unresolved"))
    before = result.tested_programs[0].report
    assert result.partial is not None and result.tested_programs[0].solution is not None
    assert "fee.py" in workbench(result).partition('class="downloads"')[2]
    assert 'data-opens="patch"' in workbench(result)
    assert 'data-opens="diagnosis"' in workbench(replace(result, best=None, report=before))
    content = patch(result)
    assert content.startswith(b"# ")
    place = tmp_path / result.tested_programs[0].solution.entry
    place.write_text(result.tested_programs[0].solution.text)
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=content, check=True)
    assert place.read_text() != result.tested_programs[0].solution.text


@pytest.mark.parametrize(("told", "advised"), [
    ({"outcome": "unresolved"}, True), ({"outcome": "budget"}, True),
    ({"outcome": "cancelled"}, False), ({"outcome": "needs_model"}, True),
    ({"outcome": "healthy", "proof": "E0"}, True), ({"outcome": "healthy", "proof": "E1"}, False),
    ({"outcome": "healed", "proof": "E2", "require": "E4"}, True),
    ({"outcome": "healed", "proof": "E1", "require": "E2"}, True),
])
def test_a_run_that_has_ended_says_what_to_do_next(told: dict[str, Any], advised: bool) -> None:
    begin = fold(recorded("healed")).start
    assert begin is not None
    least = {"require_proof": told.pop("require", "E1")}
    result = Result(start=begin.model_copy(update=least), **{"provider": "mock", **told})
    said = next_words(result)
    assert bool(said) == advised
    if told["outcome"] == "unresolved":
        others = {next_words(replace(result, provider="groq")), said}
        assert len({*others, next_words(replace(result, cut_after=9.5))}) == 3
    if told["outcome"] == "budget":
        assert "seconds" in next_words(replace(result, offered_extension=e.Extended(seconds=9)))
        assert "dollars" in next_words(replace(result, offered_extension=e.Extended(usd=0.06)))


async def test_a_program_without_a_test_is_healthy_as_far_as_that_goes(tmp_path: Path) -> None:
    async with open_session(settings(tmp_path)) as session:
        log = await finished(session, from_page("print('42 is here')\n", "").task)
    page = workbench(fold(log))
    assert 'class="bench is-healthy at-E0"' in page and 'class="next"' in page
    assert "42 is here" in page.partition('class="pane printed"')[2].partition("looked pane")[0]


def test_a_run_that_was_not_begun_shows_no_figures_and_no_steps() -> None:
    begin, step = (one.event for one in recorded("healed")[:2])
    end = recorded("unresolved")[-1].event
    assert isinstance(end, RunFinished)
    shown = workbench(fold(log_of(begin, step, end.model_copy(update={"outcome": "needs_model"}))))
    assert 'class="bench is-needs-model' in shown and 'class="next"' in shown
    assert "$0.00" not in shown and "timeline" not in shown


def test_the_console_shows_both_ends_of_what_is_long_and_says_what_is_not_kept() -> None:
    ending = Ending(kind="completed", stdout="first\n" + "x" * 900_000 + "\nlast", truncated=True)
    ran = Result(tested_programs=(JudgedProgram("before", 0, Report(solution="s", ending=ending)),))
    shown = text(console(ran))
    assert "first\n" in shown and "\nlast" in shown and shown.count("900,011") == 2
    silent = JudgedProgram("before", 0, Report(solution="s", ending=Ending(kind="completed")))
    called = JudgedProgram("before", 0, Report(solution="s"))
    assert NO_OUTPUT in console(Result(tested_programs=(silent,)))
    assert OUTPUT_NOT_SAVED in console(Result(tested_programs=(called,)))


def test_tests_that_were_added_are_counted_apart_from_those_of_the_verdict() -> None:
    result = fold(from_jsonl((ASSETS / "example.jsonl").read_text(encoding="utf-8")))
    shown = workbench(result)
    for part in (shown, matrix(result, opens=False), markdown(result, "a.py")):
        assert re.search("4 of 4 .*12 of 12 ", part) and "16 of 16" not in part
    assert "4 of 4" in result.reason


def test_every_judged_program_stands_in_the_page_also_those_of_failed_tries() -> None:
    result = fold(recorded("rounds"))
    page = workbench(result)
    assert len(result.tested_programs) == 4
    for place, column in enumerate(result.tested_programs):
        assert column.solution is not None
        assert column.solution.text in text(at(panel(page, "patch"), place))
    assert initially_shown(fold(recorded("mute"))) == 0  # what a run that kept nothing leaves


def test_the_best_program_of_a_run_that_keeps_none_leads_and_is_called_what_it_is() -> None:
    log = [one for one in recorded("rounds") if not isinstance(one.event, e.Critiqued)]
    first = fold(log).tested_programs[0].solution
    end = log.pop()
    assert first is not None and isinstance(end.event, RunFinished)
    result = fold([*log, end.model_copy(update={"event": end.event.model_copy(update={
        "outcome": "model_failed", "proof": None, "diff": "", "code": first.text,
        "solution": first.id,
    })})])
    assert result.best is not None and result.best.report is not None
    shown = result.tested_programs[initially_shown(result)]
    assert shown.report.solution == result.best.solution.id != first.id
    assert result.best.label in Reader(workbench(result)).text
    assert (result.best.review, patch_of(result)) == ("none", result.best.diff)


def test_a_test_has_its_name_and_its_lines() -> None:
    code = "import re\n\ndef test_a():\n    assert f() == 1\n\ndef test_b():\n    assert f() == 2\n"
    names = {"test_a": code, "test_b": code, "f(3) == 3.5": "assert f(3) == 3.5"}
    report = Report(solution="s", verdicts=tuple(
        Verdict(name=name, test=name, origin="user", status="failed", call="f(3)" if "3" in name
                else "f()", expected="x" * len(name), got="0") for name in names
    ))
    result = Result(
        outcome="unresolved", report=report, tested_programs=(JudgedProgram("before", 0, report),),
        tests=tuple(TestInfo(name=one, origin="user", code=told) for one, told in names.items()),
    )
    shown = unescape(matrix(result))
    assert re.findall(r'<th scope="row">(.*?)</th>', shown) == [
        "test_a: f()", "test_b: f()", "f(3) == 3.5"
    ]
    assert re.findall(r'class="source" tabindex="0">(.*?)</pre>', shown, re.DOTALL) == [
        "def test_a():\n    assert f() == 1", "def test_b():\n    assert f() == 2",
        "assert f(3) == 3.5",
    ]
    assert "<code>test_a: f()</code>" in smallest(result)


@pytest.mark.parametrize("last, folded", [("passed", True), ("error", False)])
def test_added_calls_that_all_pass_are_one_line(last: Status, folded: bool) -> None:
    report = Report(solution="s", verdicts=tuple(
        Verdict(name=f"f({n})", test=f"f({n})", origin="adversarial", integrity="isolated",
                status=last if n == 4 else "passed") for n in range(5)
    ))
    result = Result(
        outcome="healed", report=report, tested_programs=(JudgedProgram("before", 0, report),),
        tests=tuple(TestInfo(name=f"f({n})", origin="adversarial", code="") for n in range(5)),
    )
    shown = matrix(result)
    assert ('class="fold"' in shown, "<tbody hidden>" in shown) == (folded, folded)


def test_a_program_is_held_against_the_original_and_against_the_one_it_was_made_from() -> None:
    result = fold(recorded("rounds"))
    first, second, *rest = result.tested_programs
    rest = [replace(one, parent=1) for one in rest]
    made = replace(result, tested_programs=(first, second, *rest))
    shown = at(panel(workbench(made), "patch"), 3)
    original, parent = shown.split('data-against="parent"')
    assert "return words<" in original
    assert "words.upper()" in text(parent)


def test_each_diagnosis_stands_on_the_code_that_it_is_about() -> None:
    result = fold(recorded("rounds"))
    shown = panel(workbench(result), "diagnosis")
    found = [(n, one) for n, one in enumerate(result.tested_programs) if one.diagnosis is not None]
    assert [place for place, _ in found] == [0]
    for place, column in found:
        assert column.diagnosis is not None
        assert column.diagnosis.cause in text(at(shown, place))
        assert re.search(r'class="line s[1-5]"><span class="number">2</span>', at(shown, place))
    # Of one that passes, the cause before it.
    last = text(at(shown, len(result.tested_programs) - 1))
    assert result.tested_programs[0].diagnosis is not None
    assert "“before”" in last and result.tested_programs[0].diagnosis.cause in last


def test_a_step_of_the_proof_says_what_is_lacking_for_it() -> None:
    lacks = "`f(0)` gave a value before; and fails now"
    result = replace(fold(recorded("healed")), proof="E2", missing=lacks)
    lacking = re.findall(r"<b>(E\d)</b><span>[^<]*<small>(.*?)</small>", proof(result))
    shown = panel(workbench(result), "proof")
    assert ["ladder" in at(shown, place) for place in (0, 1)] == [False, True]
    assert lacking == [("E3", "<code>f(0)</code> gave a value before; and fails now")]


def test_repairs_without_a_call_show_their_edits() -> None:
    rivals = fold(recorded("rivals")).competing
    assert rivals is not None
    shown = behaviours(rivals.model_copy(update={"call": "", "behaviours": tuple(
        one.model_copy(update={"gives": ""}) for one in rivals.behaviours
    )}))
    assert "gives" not in shown and 'class="call"' not in shown and "E0" not in shown


def test_a_trace_holds_what_was_asked_and_said_and_what_failed() -> None:
    log = recorded("mute")
    calls = [one for one in fold(log).model_calls if isinstance(one, ModelExchange)]
    read = Reader(workbench(fold(log)))
    for call in calls:
        assert call.request is not None
        assert isinstance(call.result, ModelCalled)
        assert [who for who, _ in call.request.asked][:2] == ["system", "user"]
        assert call.request.asked[1][1] in read.text
        assert call.result.answer in read.text
    place = max(n for n, one in enumerate(log) if isinstance(one.event, ModelAsked))
    going = workbench(fold(log[: place + 1]))
    assert '<li class="now">' in going
    assert calls[-1].request is not None
    assert calls[-1].request.asked[1][1] in text(going)
    assert going.count(">system<") == 1  # of earlier calls no text, while it goes on
    number = calls[-1].request.call
    assert f'<pre class="writing" tabindex="0" data-call="{number}"></pre>' in going
    assert f'aria-hidden="true" data-call="{number}"></pre>' in going.partition("</header>")[0]
    assert 'class="writing' not in workbench(fold(log))


def test_a_try_that_lost_stands_in_the_trace_with_its_diff() -> None:
    lost = e.NotChosen(iteration=4, by="m<b>", passed=2, total=5,
                     diff="--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n")
    log = recorded("mute")
    place = next(n for n, one in enumerate(log) if isinstance(one.event, ModelCalled)) + 1
    told = log[place - 1].model_copy(update={"event": lost, "ordinal": 99})
    _, found, shown = panel(
        workbench(fold((*log[:place], told, *log[place:]))), "trace"
    ).partition('data-key="outdone-')
    assert found and "m&lt;b&gt;" in shown and "2 of 5" in shown and "added" in shown
    assert found not in panel(workbench(fold(log)), "trace")


def test_what_a_model_is_saying_is_escaped_and_of_a_long_text_the_end() -> None:
    shown = writing({2: "<b>" + "x" * 5_000 + " last word", 3: ""})
    assert shown.startswith('<pre data-call="2">… xxx')
    assert shown.endswith("x last word</pre>")
    assert len(shown) < 3_100
    assert writing({1: "<b>"}) == '<pre data-call="1">&lt;b&gt;</pre>'


def test_while_a_run_goes_on_the_newest_programs_can_be_looked_into() -> None:
    log = recorded("rounds")
    last = max(n for n, one in enumerate(log) if isinstance(one.event, Judged))
    page = workbench(fold(log[: last + 1]))
    assert 'type="range" min="1" max="3" value="3"' in page
    assert 'data-at="0"' not in page


def test_a_regression_is_ringed_and_tabs_name_their_panels() -> None:
    page = workbench(fold(recorded("rounds")))
    assert 'class="cell failed ring"' in page and 'class="legend"' in page
    named = re.findall(r'aria-controls="(panel-\w+)"', page)
    assert named == re.findall(r'role="tabpanel" id="([\w-]+)"', page)
    assert page.count('aria-selected="true"') == 1
    assert page.count("<caption") == 1


@pytest.mark.parametrize("own", [True, False])
def test_only_whoever_started_a_run_is_offered_a_fork(own: bool) -> None:
    assert ('data-act="fork"' in workbench(fold(recorded("rounds")), own=own)) == own


async def test_the_program_looked_at_is_put_into_the_editor() -> None:
    result = fold(recorded("rounds"))
    tried = result.tested_programs[1].solution
    assert tried is not None
    async with serving(RecordedSession()) as page:
        kept = await ran(page, "rounds")
        assert (await page.use(kept, "1"))["code"] == tried.text
        assert (await page.use(kept))["code"] == result.code


@pytest.mark.nightly
async def test_a_link_to_an_own_run_fills_in_its_program_and_tests(tmp_path: Path) -> None:
    asserts, pytests = TESTS.partition("\n")[0], "def test_one():\n    assert area(1, 1) == 1\n"
    for tests in (TESTS, f"{pytests}\n{asserts}"):
        host = SessionHost(lambda: open_session(settings(tmp_path, proof_s=0.0)))
        async with host.serving():
            session, page = await host.session(), Page(host)
            assert isinstance(session, Session)
            run = await session.start(from_page(CODE, tests, "").task, run_id=str(uuid4()))
            healed = await followed(session, run)
            kept = (await page.arrive(run, None, "", "", "", NEW_VISIT))["saved-run"]
            edited = await page.edit(kept, "1", NEW_VISIT)
            stranger = await page.edit({**kept, "tests": ""}, "0", NEW_VISIT)
        assert (kept["code"], kept["tests"]) == (CODE, tests.rstrip())
        assert (edited["code"], edited["tests"]) == (healed.code, tests.rstrip())
        assert stranger["code"] == CODE


async def test_a_fork_starts_from_the_shown_program_for_its_owner(tmp_path: Path) -> None:
    host = SessionHost(lambda: open_session(settings(tmp_path, proof_s=0.0)), Access(public=True))
    async with host.serving():
        session = await host.session()
        assert isinstance(session, Session)
        page = Page(host)
        mine: Visit = {**NEW_VISIT, "visitor": "one-k3mfu0az-wq8"}
        run = await session.start(
            from_page(CODE, TESTS).task, visitor=page.panel.visitor(mine), run_id=str(uuid4()),
            title="area",
        )
        start = fold(session.log(run)).start
        assert start is not None and start.limit_s == session.settings.budget_s
        before = await followed(session, run)
        forked = (await page.begin_fork({**NO_RUN, "run": run}, "0"))["saved-run"]
        other: Visit = {**mine, "visitor": "other-p5ldnb1o-vz7"}
        (refused,) = [one async for one in page.fork(forked, other)]
        assert refused["said"]
        with pytest.raises(KeyError):
            session.log(forked["run"])
        shown = [one async for one in page.fork(forked, mine)]
        assert "said" not in shown[-1], shown[-1]["said"]
        assert "is-healed" in shown[-1]["bench"]
        after = fold(session.log(forked["run"]))
        assert after.parent is not None
        assert (after.parent.run, after.code) == (run, before.code)
        assert f'href="?run={run}"' in shown[-1]["bench"]
        listed = runs(session.history(page.panel.visitor(mine)).runs(), "")
        assert "area" in Reader(listed).text and forked["run"] in listed
