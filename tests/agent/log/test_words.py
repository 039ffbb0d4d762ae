"""What is said of runs, alike in every interface: which facts it holds, and in which tone."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from agent.core import events as e
from agent.core.domain import (
    Behaviour,
    CompetingPatches,
    Diagnosis,
    Ending,
    Evidence,
    Integrity,
    Origin,
    ProofLevel,
    Report,
    RunOutcome,
    Verdict,
)
from agent.report import words as w
from agent.report.result import Result, fold
from agent.report.timeline import ORIGIN_ORDER
from agent.verify.project.suite_double_check import DOUBLE_CHECKED
from tests.agent.log.test_result import log_of, solution
from tests.agent.values import verdict


def judged(*verdicts: Verdict, ending: Ending | None = None) -> e.Judged:
    return e.Judged(iteration=2, report=Report(solution="s", verdicts=verdicts, ending=ending))


def fitting(*gives: str) -> CompetingPatches:
    """Repairs that all fit, of which each gives another value."""
    return CompetingPatches(call="f()", behaviours=tuple(
        Behaviour(label=label, gives=one, solution=solution("x"))
        for label, one in zip("ABC", gives, strict=False)
    ))


@pytest.mark.parametrize(("table", "keys"), [
    (w.OUTCOME_WORDS, RunOutcome), (w.PROOF_MEANING, ProofLevel), (w.INTEGRITY_MEANING, Integrity),
    (w.STEP_WORDS, e.Step), (w.ORIGIN_WORDS, get_args(Origin)[0]),
    (dict.fromkeys(ORIGIN_ORDER), get_args(Origin)[0]),
])
def test_there_are_words_for_everything(table: dict[str, str], keys: object) -> None:
    assert table.keys() == set(get_args(keys))


CALLED = e.ModelCalled(call=0, role="critic", provider="anthropic", model="m", tokens=300,
                       cost_usd=0.02, wall_s=1.0)
FAILED = e.ModelFailed(call=1, role="critic", provider="anthropic", model="m", error="TimedOut",
                       why="no answer within 9 seconds", tokens=200, cost_usd=0.01, wall_s=9.0)
SEARCHED = e.Searched(candidates=9, plausible=1, best_passed=2, total=3, wall_s=8.2)


@pytest.mark.parametrize(("event", "marks", "facts"), [
    (e.RunStarted(title="", provider="ollama", provider_why="it runs here", sandbox="jail"), "..",
     "ollama / it runs here / jail"),
    (e.TestsFrozen(tests=tuple(
        e.TestInfo(name=origin, origin=origin, code="") for origin in ("user", "doctest")
    )), ".", "2 / 1 user / 1 doctest"),
    (judged(verdict("passed"), verdict()), "!", "2 / 1 of 2"),
    (judged(), "?", "2"), (judged(ending=Ending(kind="completed")), "+", "2"),
    (e.Diagnosed(iteration=0, diagnosis=Diagnosis(category="crash", cause="why")), ".", "why"),
    (
        e.ToolCalled(tool="read", arguments='{"a":\n1}', result="b\nc"), ".((",
        'read {"a": 1} / b / c',
    ),
    (SEARCHED, "(", "9 / 1 / 2 of 3"),
    (SEARCHED.model_copy(update={"cut_after": 8.04, "note": "n"}), ".", "9 / 2 of 3 / 8.0 s / n"),
    (e.Recalled(hit=True, replayed=True, note="the note", lessons=("l",)), "+.", "the note / l"),
    (e.PatchProposed(iteration=1, strategy="search", note="n", diff=""), ".", "search / n"),
    (e.NotChosen(iteration=3, by="m", diff="", passed=1, total=2), "(", "m / 1 of 2"),
    (e.PartialFound(diff="", passed=1, total=2, note="n"), "(?", "1 of 2 / n"),
    (e.Ambiguous(iteration=1, competing=fitting("0", "1")), "(?", "2 / `f()` / A / 0 / B / 1"),
    (e.Critiqued(verdict="approve", note=""), "(+", "approve"),
    (e.Critiqued(verdict="reject", note="n."), "(!", "reject / n."),
    (e.Proved(level="E2", why="w"), "(+", "E2 / isolated / w"),
    (e.LessonLearned(text="t"), ".", "t"),
    (CALLED, ".", "critic / anthropic/m / 300 / $0.02 / 1.0 s"),
    (FAILED, "?", "critic / anthropic/m / no answer within 9 seconds / 200 / $0.01"),
    (e.FellBack(role="critic", provider="anthropic/m", to="groq/n", why="overloaded"), "?",
     "critic / groq/n / anthropic/m / overloaded"),
    (e.Extended(usd=0.5, calls=1, seconds=60.0), ".", "$0.50 / 1 call / 60"),
    (e.Notice(level="info", text="t"), ".", "t"), (e.Notice(level="error", text="t"), "!", "t"),
    (e.Waiting(interrupt="i", question="q?"), "?", "q?"),
    (e.Answered(interrupt="i", answer="A"), "(", "A"), (e.Resumed(note="n"), "?", "n"),
    (e.StepStarted(step="repair", iteration=1), "", ""),
])
def test_the_lines_of_every_event_hold_its_facts(event: e.Event, marks: str, facts: str) -> None:
    """A detail is `(`, a tone `+`, `!` or `?`, and a line without either `.`."""
    tones = {"plain": "", "good": "+", "bad": "!", "warning": "?"}
    lines = [*w.event_lines(event, judged(verdict("passed")).report)]
    seen = [f"{'(' if line.detail else ''}{tones[line.tone]}" or "." for line in lines]
    assert "".join(seen) == marks
    said = "\n".join(line.text for line in lines)
    assert [fact for fact in facts.split(" / ") if fact not in said] == []


@pytest.mark.parametrize(("events", "facts"), [
    ([], ()),
    ([e.StepStarted(step="repair", iteration=1),
      SEARCHED.model_copy(update={"candidates": 1_200})], ("1,200", "146", "2 of 3")),
    ([e.StepStarted(step="critique", iteration=1), FAILED, CALLED], ("500", "$0.03")),
    ([CALLED, CALLED.model_copy(update={"cost_usd": None})], ("600",)),
    ([e.Waiting(interrupt="i", question="q?")], ("q?",)),
    ([CALLED, e.Waiting(interrupt="i", question="q?", needs="budget")], ("300", "$0.02")),
    ([e.RunFailed(error="KeyError: x")], ("KeyError: x",)),
])
def test_a_headline_holds_how_far_a_run_is(events: list[e.Event], facts: tuple[str, ...]) -> None:
    word, said = w.headline(fold(log_of(*events)))
    assert word.isupper()
    assert [fact for fact in facts if fact not in "\n".join(said)] == []
    assert "$" not in "\n".join(said) or "$" in "".join(facts)


def test_the_headline_of_an_end_names_outcome_proof_means_cost_and_time() -> None:
    """The one test of the whole text of a headline."""
    ended = Result(outcome="healed", proof="E1", strategy="search", iterations=1, candidates=9,
                   seconds=1.24)
    assert w.headline(ended) == ("HEALED", (
        "proof E1", "your tests pass", "by search, no model, $0.00", "1 iteration",
        "9 candidates", "1.2 s",
    ))


def test_a_headline_claims_no_more_than_was_shown() -> None:
    ended = Result(outcome="budget")
    assert w.headline(replace(ended, stopped="time"))[0] != w.headline(ended)[0]

    facts = w.headline(Result(outcome="unresolved", proof="E1"))[1]
    assert not any("E1" in fact for fact in facts)

    several = Result(outcome="healed", competing=fitting("1", "1"))
    word = w.headline(several)[0]
    assert "2" in word and word.startswith("HEALED")


@pytest.mark.parametrize("outcome", get_args(RunOutcome))
def test_the_words_healed_and_fixed_are_kept_for_what_was_shown(outcome: RunOutcome) -> None:
    said = " ".join(w.headline(Result(outcome=outcome, proof="E0"))[0].lower().split())
    assert "fixed" not in said
    assert ("healed" in said.replace("not healed", "")) == (outcome == "healed")


def test_of_a_crash_that_is_gone_no_more_is_said_and_the_other_repairs_are_counted() -> None:
    crash, rivals = Result(outcome="crash_stopped", proof="E0"), fitting("", "", "")
    one, several = (w.headline(replace(crash, competing=each))[1] for each in (None, rivals))
    assert [fact for fact in several if fact not in one] == [w.others_words(rivals)]
    assert "2" in w.others_words(rivals)
    assert not w.confidence_words(replace(crash, confidence=0.91))
    assert w.meaning("E0", crash) != w.meaning("E0", Result(outcome="healed", proof="E0"))


@pytest.mark.parametrize(("result", "advised"), [
    (Result(outcome="healed", proof="E1"), True),
    (Result(outcome="healed", proof="E1", evidence=Evidence(competing_patches=1)), True),
    (Result(outcome="crash_stopped", proof="E0"), True),
    (Result(outcome="healed", proof="E2"), False), (Result(outcome="unresolved"), False),
])
def test_what_would_prove_more_is_said_where_it_is_known(result: Result, advised: bool) -> None:
    report = Report(solution="s", verdicts=(verdict("passed"), verdict("passed")))
    assert bool(w.advice_words(replace(result, report=report))) == advised


@pytest.mark.parametrize(("result", "facts", "free"), [
    (Result(), (), True), (Result(calls=1), (), True),
    (Result(tokens=1_500, cost_usd=None), ("1,500",), False),
    (Result(tokens=10, cost_usd=0.0004), ("10", "$0.0004"), False),
])
def test_an_unknown_price_is_not_free(result: Result, facts: tuple[str, ...], free: bool) -> None:
    said = w.cost_words(result)
    assert [fact for fact in facts if fact not in said] == []
    assert ("$0.00" in said and "$0.000" not in said) == free


@pytest.mark.parametrize("why", [f"{w.NO_MODEL} (nothing is set)", "nothing is set", ""])
def test_that_there_is_no_model_is_said_once_and_first(why: str) -> None:
    said = w.provider_words("mock", why)
    assert said.startswith(w.NO_MODEL) and said.count(w.NO_MODEL) == 1
    assert ("nothing is set" in said) == bool(why)


@pytest.mark.parametrize(("fields", "facts"), [
    ({"kind": "completed"}, ""), ({"kind": "raised"}, ""),
    ({"kind": "exited", "exit_code": 3}, "3"),
    ({"kind": "exited", "exit_code": 1, "message": "Missing:"}, "1 / Missing:"),
    ({"kind": "raised", "exception": "KeyError", "message": "'x'", "line": 7},
     "KeyError / 7 / 'x'"),
    ({"kind": "raised", "exception": "OSError", "refused": ("no network", "no fork")},
     "OSError / no network / no fork"),
    ({"kind": "timeout", "limit": "wall time 2.0 s"}, "wall time 2.0 s"),
    ({"kind": "killed", "limit": "cpu time"}, "cpu time"),
])
def test_the_end_of_a_program_is_said_with_its_facts(fields: dict[str, object], facts: str) -> None:
    said = w.ending_words(Ending(**fields))
    assert said and [fact for fact in facts.split(" / ") if fact not in said] == []


@pytest.mark.parametrize(("found", "facts"), [
    (verdict(), []), (verdict("passed"), []), (verdict("skipped", integrity=None), []),
    (verdict("passed", integrity=None, doubt="it looks into frames"), ["it looks into frames"]),
    (verdict("error", excluded="no such fixture"), ["no such fixture"]),
    (verdict("passed", vacuous=True), [""]),
    (verdict("passed", type_differs=True, integrity="in-process", reason="patches it"),
     ["", "in-process: patches it"]),
])
def test_what_limits_the_worth_of_a_verdict_is_said(found: Verdict, facts: list[str]) -> None:
    said = w.verdict_words(found)
    assert len(said) == len(facts)
    assert all(fact in one for fact, one in zip(facts, said, strict=True))


def test_the_integrity_is_explained_once() -> None:
    one = Verdict(
        test="a", name="a", origin="user", status="passed", integrity="in-process",
        reason=DOUBLE_CHECKED,
    )
    report = Report(solution="s", verdicts=(one,))
    found = Result(outcome="healed", proof="E1", report=report)
    said = w.integrity_words(found)
    assert said.count("share a process") == 1 and DOUBLE_CHECKED.split("; ")[1] in said


def test_passing_tests_are_counted_in_linear_time() -> None:
    class Asked(Report):
        @property
        def trusted(self) -> tuple[Verdict, ...]:
            asked.append(self.solution)
            return super().trusted

    asked: list[str] = []
    one = Verdict(test="a", name="a", origin="user", status="passed")
    verdicts = tuple(one.model_copy(update={"name": f"{number}"}) for number in range(50))
    assert "50 of 50" in w.passing_words(Asked(solution="x", verdicts=verdicts))
    assert len(asked) < 5


@pytest.mark.parametrize(("confidence", "shown"), [
    (0.8999, "89 %"), (0.9, "90 %"), (0.29, "29 %"), (0.001, "1 %"), (0.9999, "99 %"),
])
def test_a_confidence_below_a_threshold_is_not_rounded_up(confidence: float, shown: str) -> None:
    assert w.confidence_words(Result(confidence=confidence)).startswith(shown)
