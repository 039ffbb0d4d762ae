"""What is said of runs, alike on every face."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from agent.core.domain import (
    Behaviour,
    Category,
    Diagnosis,
    Ending,
    Evidence,
    Integrity,
    ProofLevel,
    Report,
    Rivals,
    RunOutcome,
    Standing,
    Verdict,
)
from agent.core.events import (
    Ambiguous,
    Answered,
    Critiqued,
    Diagnosed,
    Event,
    Extended,
    FellBack,
    Judged,
    LessonLearned,
    Looked,
    ModelCalled,
    ModelFailed,
    Notice,
    Outdone,
    PartialFound,
    PatchProposed,
    Proved,
    Recalled,
    Resumed,
    RunFailed,
    RunStarted,
    Searched,
    Stamped,
    Step,
    StepStarted,
    TestInfo,
    TestsFrozen,
    Waiting,
)
from agent.core.trust import Origin
from agent.log.result import Result, fold
from agent.log.words import (
    INTEGRITY_MEANING,
    ORIGIN_WORDS,
    OUTCOME_WORDS,
    PROOF_MEANING,
    STANDING_SIGNS,
    STEP_WORDS,
    Line,
    advice_words,
    category_words,
    cost_words,
    ending_words,
    event_lines,
    headline,
    passing_words,
    plan_words,
    verdict_words,
)
from agent.repair.ranking.rivals import MOST
from tests.agent.log.test_result import solution
from tests.agent.values import verdict


def judged(*verdicts: Verdict, ending: Ending | None = None) -> Judged:
    return Judged(iteration=2, report=Report(solution="s", verdicts=verdicts, ending=ending))


@pytest.mark.parametrize(("table", "keys"), [
    (OUTCOME_WORDS, RunOutcome), (PROOF_MEANING, ProofLevel), (INTEGRITY_MEANING, Integrity),
    (STEP_WORDS, Step), (ORIGIN_WORDS, Origin),
])
def test_there_are_words_for_everything(table: dict[str, str], keys: object) -> None:
    assert table.keys() == set(get_args(keys))


@pytest.mark.parametrize("kind", [0, 1])
def test_no_two_standings_share_a_sign_but_in_colour(kind: int) -> None:
    assert STANDING_SIGNS.keys() == set(get_args(Standing))
    signs = [sign[kind] for sign in STANDING_SIGNS.values() if sign[kind] != "!"]
    assert len(signs) == len(set(signs))
    assert all(sign.plain.isascii() for sign in STANDING_SIGNS.values())


CALLED = ModelCalled(call=0, role="critic", provider="anthropic", model="m", tokens=300,
                     cost_usd=0.02, wall_s=1.0)
FAILED = ModelFailed(call=1, role="critic", provider="anthropic", model="m", error="TimedOut",
                     why="no answer within 9 seconds", tokens=200, cost_usd=0.01, wall_s=9.0)
SEARCHED = Searched(candidates=9, plausible=1, best_passed=2, total=3, wall_s=8.2)


@pytest.mark.parametrize(("event", "said"), [
    (RunStarted(title="", provider="ollama", provider_why="it runs here", sandbox="jail"),
     ["ollama: it runs here", "sandbox: jail"]),
    (TestsFrozen(tests=tuple(
        TestInfo(name=origin, origin=origin, code="") for origin in ("user", "doctest")
    )), ["2 tests: 1 user, 1 doctest"]),
    (judged(verdict("passed"), verdict()), ["!try 2: 1 of 2 tests pass"]),
    (judged(), ["?try 2: no tests"]),
    (judged(ending=Ending(kind="completed")),
     ["+try 2: no tests; the program ran to its end"]),
    (Diagnosed(iteration=0, diagnosis=Diagnosis(category="crash", cause="why")),
     ["diagnosis: why"]),
    (Diagnosed(iteration=0, diagnosis=Diagnosis(
        category="crash", cause="why", suggests="rewrite"
    )), ["diagnosis: why (the debugger suggests a function written anew)"]),
    (Looked(tool="read", arguments='{"a":\n1}', seen="b\nc"),
     ['the debugger looks: read {"a": 1}', "(    b", "(    c"]),
    (SEARCHED, ["(search: 9 candidates, 1 plausible, best passes 2 of 3"]),
    (SEARCHED.model_copy(update={"cut_after": 8.04, "note": "n"}),
     ["search: 9 candidates, 1 plausible, best passes 2 of 3; its time was over after 8.0 s of "
      "work; n"]),
    (Recalled(hit=True, replayed=True, note="from memory: n", lessons=("l",)),
     ["+from memory: n", "seen before: l"]),
    (PatchProposed(iteration=1, strategy="search", note="n", diff=""), ["patch by search: n"]),
    (Outdone(iteration=3, by="m", diff="", passed=1, total=2),
     ["(not taken: a repair by m, which passes 1 of 2 tests"]),
    (PartialFound(diff="", passed=1, total=2, note="n"),
     ["(?best partial patch, not a fix: 1 of 2 tests pass with it; n"]),
    (Ambiguous(iteration=1, rivals=Rivals(call="f()", behaviours=tuple(
        Behaviour(label=label, gives=gives, solution=solution("x")) for label, gives in ("A0", "B1")
    ))), ["(?2 behaviours pass the tests: for `f()` A gives 0, B gives 1"]),
    (Critiqued(verdict="approve", note=""), ["(+critic: approve"]),
    (Critiqued(verdict="reject", note="n."), ["(!critic: reject: n."]),
    (Proved(level="E2", why="w"), ["(+proof E2 · isolated; w"]),
    (LessonLearned(text="t"), ["learned: t"]),
    (CALLED, ["critic: anthropic/m, 300 tokens, $0.02, 1.0 s"]),
    (CALLED.model_copy(update={"finish": "length"}),
     ["critic: anthropic/m, 300 tokens, $0.02, 1.0 s, cut at its limit"]),
    (FAILED, ["?critic: anthropic/m gave no answer: no answer within 9 seconds "
              "(200 tokens, $0.01)"]),
    (FellBack(role="critic", provider="anthropic/m", to="groq/n", why="overloaded"),
     ["?critic: groq/n answers instead of anthropic/m: overloaded"]),
    (Extended(usd=0.5, calls=1, seconds=60.0),
     ["the caps were raised by $0.50, 1 call, 60 seconds"]),
    (Notice(level="info", text="t"), ["t"]),
    (Notice(level="error", text="t"), ["!error: t"]),
    (Waiting(interrupt="i", question="q?"), ["?waits for an answer: q?"]),
    (Answered(interrupt="i", answer="A"), ["(answered: A"]),
    (Resumed(note="n"), ["?taken up again: n"]),
    (StepStarted(step="repair", iteration=1), []),
])
def test_every_event_has_its_line(event: Event, said: list[str]) -> None:
    """A detail begins with `(`, and a tone with `+`, `!` or `?`."""
    marks = {"plain": "", "good": "+", "bad": "!", "warning": "?"}
    before = judged(verdict("passed")).report
    assert said == [
        f"{'(' if line.detail else ''}{marks[line.tone]}{line.text}"
        for line in event_lines(event, before)
    ]


def log_of(*events: Event) -> list[Stamped]:
    return [
        Stamped(run="run", seq=seq, task="t", attempt=1, ordinal=seq, at=seq, event=event)
        for seq, event in enumerate(events, start=1)
    ]


@pytest.mark.parametrize(("events", "said"), [
    ([], ("READY",)),
    ([StepStarted(step="repair", iteration=1), SEARCHED.model_copy(update={"candidates": 1_200})],
     ("RUNNING", "Search for a repair", "1,200 candidates, 146 a second", "best passes 2 of 3")),
    ([StepStarted(step="critique", iteration=1), FAILED, CALLED],
     ("RUNNING", "Review the repair", "500 tokens, $0.03")),
    ([CALLED, CALLED.model_copy(update={"cost_usd": None})],
     ("RUNNING", "600 tokens, cost unknown")),
    ([Waiting(interrupt="i", question="q?")], ("WAITING", "q?")),
    ([CALLED, Waiting(interrupt="i", question="q?", needs="budget")],
     ("WAITING", "a cap is reached", "300 tokens, $0.02")),
    ([Waiting(interrupt="i", question="q?", needs="key")], ("WAITING", "a key is needed")),
    ([RunFailed(error="KeyError: x")], ("FAULT OF OURS", "KeyError: x")),
])
def test_a_headline_says_how_a_run_stands(events: list[Event], said: tuple[str, ...]) -> None:
    word, facts = headline(fold(log_of(*events)))
    assert (word, *facts) == said


def test_the_headline_of_an_end_names_outcome_proof_means_cost_and_time() -> None:
    ended = Result(outcome="healed", proof="E1", strategy="search", iterations=1, candidates=9,
                   seconds=1.24)
    assert headline(ended) == ("HEALED", (
        "proof E1", "your tests pass", "by search, no model, $0.00", "1 try", "9 candidates",
        "1.2 s",
    ))


def test_a_proof_stands_beside_how_far_it_is_believed() -> None:
    report = Report(solution="s", verdicts=(
        verdict("passed"), verdict("passed", integrity="in-process", reason="uses caplog"),
    ))
    assert headline(Result(outcome="healed", proof="E2", report=report))[1][:2] == (
        "proof E2 · in-process: uses caplog", PROOF_MEANING["E2"],
    )


def test_a_headline_says_whether_time_or_the_budget_ended_a_run() -> None:
    ended = Result(outcome="budget")
    assert headline(replace(ended, stopped="time"))[0] == "NOT HEALED: TIME IS UP"
    assert headline(ended)[0] == "NOT HEALED: THE BUDGET IS SPENT"


@pytest.mark.parametrize("outcome", get_args(RunOutcome))
def test_the_words_healed_and_fixed_are_kept_for_what_was_shown(outcome: RunOutcome) -> None:
    said = " ".join(headline(Result(outcome=outcome, proof="E0"))[0].lower().split())
    assert "fixed" not in said
    assert ("healed" in said.replace("not healed", "")) == (outcome == "healed")


def test_of_a_crash_that_is_gone_no_more_is_said_and_the_other_repairs_are_counted() -> None:
    rivals = Rivals(call="", behaviours=tuple(
        Behaviour(label=label, gives="", solution=solution("x")) for label in "ABC"
    ))
    facts = headline(Result(outcome="crash_stopped", proof="E0", rivals=rivals))[1]
    assert facts[1] == "only the crash is gone"
    assert "2 other repairs found that stop it too" in facts
    assert "nothing is shown" in headline(Result(outcome="healed", proof="E0"))[1]


def test_candidates_of_several_rounds_are_counted_as_such() -> None:
    said = headline(Result(outcome="unresolved", iterations=2, candidates=9))[1]
    assert said[1:3] == ("2 tries", "9 candidates in all")


@pytest.mark.parametrize(("result", "said"), [
    (Result(outcome="healed", proof="E1"), "Add 2 tests of other inputs: one is then held out"),
    (Result(outcome="healed", proof="E1", evidence=Evidence(others=1)),
     "Add a test that tells the repairs apart."),
    (Result(outcome="crash_stopped", proof="E0"), "Add a test that says what is right."),
    (Result(outcome="healed", proof="E2"), ""), (Result(outcome="unresolved"), ""),
])
def test_what_would_prove_more_is_said_in_a_line(result: Result, said: str) -> None:
    report = Report(solution="s", verdicts=(verdict("passed"), verdict("passed")))
    told = advice_words(replace(result, report=report))
    assert told.startswith(said) and bool(told) == bool(said)


def test_no_proof_is_claimed_of_what_is_not_healed() -> None:
    assert not any("proof" in fact for fact in headline(Result(outcome="unresolved"))[1])


def test_where_others_fit_too_that_is_what_is_said_first() -> None:
    several = Result(outcome="healed", rivals=Rivals(call="f()", behaviours=tuple(
        Behaviour(label=label, gives="1", solution=solution("x")) for label in "ABC"[:MOST]
    )))
    assert headline(several)[0] == f"one of at least {MOST} repairs that fit your tests"


@pytest.mark.parametrize(("result", "said"), [
    (Result(), "no model, $0.00"), (Result(calls=1), "no tokens, $0.00"),
    (Result(tokens=1_500, cost_usd=None), "1,500 tokens, cost unknown"),
    (Result(tokens=10, cost_usd=0.0004), "10 tokens, $0.0004"),
])
def test_a_price_that_is_unknown_is_not_called_free(result: Result, said: str) -> None:
    assert cost_words(result) == said


@pytest.mark.parametrize(("why", "said"), [
    ("no model: memory and search only (nothing is set)",
     "No model: memory and search only (nothing is set)"),
    ("LLM_PROVIDER=mock", "No model: memory and search only (LLM_PROVIDER=mock)"),
    ("", "No model: memory and search only"),
])
def test_that_there_is_no_model_is_said_once_and_first(why: str, said: str) -> None:
    assert plan_words("mock", why) == said


@pytest.mark.parametrize(("fields", "said"), [
    ({"kind": "completed"}, "ran to its end"),
    ({"kind": "exited", "exit_code": 3}, "ended itself with exit code 3"),
    ({"kind": "exited", "exit_code": 1, "message": "Missing:"},
     "ended itself with exit code 1: Missing:"),
    ({"kind": "raised", "exception": "KeyError", "message": "'x'", "line": 7},
     "raised KeyError at line 7: 'x'"),
    ({"kind": "raised", "exception": "ValueError", "message": "in:"}, "raised ValueError: in:"),
    ({"kind": "raised"}, "raised an exception"),
    ({"kind": "raised", "exception": "OSError", "refused": ("no network", "no fork")},
     "raised OSError; no network; no fork"),
    ({"kind": "timeout", "limit": "wall time 2.0 s"}, "did not end in time (wall time 2.0 s)"),
    ({"kind": "killed", "limit": "cpu time"}, "was stopped by a limit (cpu time)"),
])
def test_the_end_of_a_program_is_said_in_words(fields: dict[str, object], said: str) -> None:
    assert ending_words(Ending(**fields)) == f"the program {said}"


@pytest.mark.parametrize(("found", "said"), [
    (verdict(), []), (verdict("passed"), []), (verdict("skipped", integrity=None), []),
    (verdict("passed", integrity=None, doubt="it looks into frames"),
     ["passes, not believed: it looks into frames"]),
    (verdict("error", aside="no such fixture"), ["error, but not the program's: no such fixture"]),
    (verdict("passed", vacuous=True),
     ["no changed answer of the program made it fail: no evidence"]),
    (verdict("passed", type_differs=True, integrity="in-process", reason="patches it"),
     ["equal, but of another type", "in-process: patches it"]),
])
def test_what_limits_the_worth_of_a_verdict_is_said(found: Verdict, said: list[str]) -> None:
    assert verdict_words(found) == said


def test_the_kind_of_a_failure_is_told_in_plain_words() -> None:
    told = [category_words(Diagnosis(category=one, cause="")) for one in get_args(Category)]
    assert "wrong result" in told
    assert not [words for words in told if "_" in words]


def test_added_calls_change_no_count_of_the_tests_that_decide() -> None:
    mine = [Verdict(test=name, name=name, origin="user", status="passed") for name in "ab"]
    added = [
        Verdict(test=str(n), name=str(n), origin="adversarial", status="error") for n in range(12)
    ]
    report = Report(solution="x", verdicts=(*mine, *added))
    (line,) = event_lines(Judged(iteration=1, report=report))
    assert line == Line("try 1: 2 of 2 tests pass, and 0 of 12 added pass", "good")


def test_what_passes_is_told_without_asking_of_each_test_which_decide() -> None:
    class Asked(Report):
        @property
        def trusted(self) -> tuple[Verdict, ...]:
            asked.append(self.solution)
            return super().trusted

    asked: list[str] = []
    one = Verdict(test="a", name="a", origin="user", status="passed")
    verdicts = tuple(one.model_copy(update={"name": f"{number}"}) for number in range(50))

    assert passing_words(Asked(solution="x", verdicts=verdicts)) == "50 of 50 tests pass"
    assert len(asked) < 5
