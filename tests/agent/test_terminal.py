"""What a person reads: honest headlines, plain text, and nothing that steers the terminal."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from agent.domain import (
    OUTCOME_WORDS,
    PROOF_MEANING,
    BlamedLine,
    Diagnosis,
    Ending,
    Report,
    RunOutcome,
    Status,
    Verdict,
)
from agent.events import Diagnosed, Searched, StepStarted, TestInfo, TestsFrozen
from agent.result import Result
from agent.terminal import (
    ADVICE,
    DISBELIEVED,
    GLYPHS,
    STYLES,
    coloured,
    cost_words,
    detail_words,
    ending_words,
    event_words,
    headline,
    next_step,
    plan_words,
    printable,
    seen_words,
    verdict_table,
)


def verdict(status: str = "failed", **fields: object) -> Verdict:
    return Verdict(name="t", test="t", origin="user", status=status,
                   **{"integrity": "outside", **fields})


def shown(renderable: object) -> str:
    console = Console(file=StringIO(), width=100)
    console.print(renderable)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@given(st.text(st.characters()))
def test_printed_text_never_holds_a_control_character(text: str) -> None:
    assert all(
        character in "\n\t" or character.isprintable() for character in printable(text)
    )


@given(st.text(st.characters(categories=("L", "N", "P", "S"))))
def test_ordinary_text_is_printed_as_it_is(text: str) -> None:
    assert printable(text) == text


def test_a_diff_is_shown_line_by_line_as_it_is() -> None:
    diff = "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n\\ No newline at end of file\n"

    assert coloured(diff).plain == diff


def test_every_outcome_has_a_headline_and_an_advice() -> None:
    assert OUTCOME_WORDS.keys() == STYLES.keys() == ADVICE.keys() == set(get_args(RunOutcome))


def test_healed_is_never_said_without_its_proof() -> None:
    for level, meaning in PROOF_MEANING.items():
        line = headline(Result(outcome="healed", proof=level, strategy="search")).plain

        assert line.startswith(f"HEALED · proof {level} · {meaning} · by search")


def test_a_proof_stands_beside_how_far_it_is_believed() -> None:
    report = Report(solution="s", verdicts=(
        verdict("passed"), verdict("passed", integrity="in-process", reason="uses caplog"),
    ))
    line = headline(Result(outcome="healed", proof="E2", report=report)).plain

    assert line.startswith("HEALED · proof E2 · in-process: uses caplog · your tests pass, and")


def test_the_words_healed_and_fixed_are_kept_for_what_was_shown() -> None:
    for outcome in get_args(RunOutcome):
        line = headline(Result(outcome=outcome, proof="E0")).plain.lower()

        assert "fixed" not in line
        assert ("healed" in line.replace("not healed", "")) == (outcome == "healed")


def test_a_price_that_is_unknown_is_not_called_free() -> None:
    assert cost_words(Result(tokens=0)) == "no tokens, $0.00"
    assert cost_words(Result(tokens=9, cost_usd=None)) == "9 tokens, cost unknown"
    assert cost_words(Result(tokens=9, cost_usd=0.5)) == "9 tokens, $0.50"


def test_a_status_is_said_in_words_beside_its_glyph() -> None:
    every = [
        *(verdict(status) for status in get_args(Status)), verdict("passed", vacuous=True),
        verdict("passed", integrity=None, doubt="it looks into frames"),
        verdict("error", aside="no such fixture"),
    ]
    for one in every:
        assert f"{GLYPHS[one.standing][0]} {one.standing}" in shown(verdict_table([one]))
        assert shown(verdict_table([one], ascii_only=True)).isascii()
    assert {one.standing for one in every} == GLYPHS.keys()


@pytest.mark.parametrize("place", [0, 1])
def test_no_two_statuses_share_a_glyph_but_in_colour(place: int) -> None:
    signs = [row[place] for row in GLYPHS.values() if row[place] != "!"]
    assert len(signs) == len(set(signs))


def test_a_pass_that_is_not_believed_looks_like_a_failure() -> None:
    doubted = verdict("passed", integrity=None, doubt="it looks into frames", message="x")

    assert seen_words(doubted) == "passes, not believed: it looks into frames"
    assert "red" in GLYPHS[doubted.standing][2]


def test_a_row_says_what_was_seen_and_what_limits_its_worth() -> None:
    assert seen_words(verdict(expected="3", got="4", message="m")) == "expected 3, got 4"
    assert seen_words(verdict("error", message="ZeroDivisionError")) == "ZeroDivisionError"
    assert seen_words(verdict("error", got="KeyError: 'x'")) == "KeyError: 'x'"
    assert seen_words(verdict("passed", expected="3", got="3")) == ""
    assert seen_words(verdict("passed", type_differs=True)) == "equal, but of another type"
    assert seen_words(verdict("passed", integrity="in-process", reason="patches it")) == (
        "in-process: patches it"
    )
    assert seen_words(verdict("failed", integrity=None, got="3")) == "3"
    assert seen_words(verdict("skipped", integrity=None, message="Skipped: later")) == (
        "Skipped: later"
    )
    assert seen_words(verdict("passed", vacuous=True)) == (
        "passes whatever the program answers: no evidence"
    )


def test_the_end_of_a_program_is_said_in_words() -> None:
    def words(**fields: object) -> str:
        return ending_words(Report(solution="s", ending=Ending(**fields)))

    assert words(kind="completed") == "ran to its end"
    assert words(kind="exited", exit_code=3) == "ended itself with exit code 3"
    assert words(kind="exited", exit_code=1, message="usage: N") == (
        "ended itself with exit code 1: usage: N"
    )
    assert words(kind="raised", exception="KeyError", message="'x'", line=7) == (
        "raised KeyError at line 7: 'x'"
    )
    assert words(kind="exited", exit_code=1, message="Missing:") == (
        "ended itself with exit code 1: Missing:"
    )
    assert words(kind="raised", exception="ValueError", message="in:") == "raised ValueError: in:"
    assert words(kind="raised", exception="ValueError") == "raised ValueError"
    assert words(kind="timeout", limit="wall time 2.0 s") == (
        "did not end in time (wall time 2.0 s)"
    )
    assert words(kind="killed", limit="cpu time") == "was stopped by a limit (cpu time)"


def test_steps_and_search_progress_are_details() -> None:
    step = StepStarted(step="repair", iteration=1)
    search = Searched(candidates=1, plausible=0, best_passed=2, total=3, wall_s=0.1)

    assert event_words(step) == event_words(search) == ""
    assert "repair" in detail_words(step)
    assert "1 candidate, 0 plausible, best passes 2 of 3" in detail_words(search)


def test_that_a_search_was_cut_is_no_detail() -> None:
    search = Searched(
        candidates=9, plausible=1, best_passed=2, total=3, wall_s=8.2, cut_after=8.04
    )

    assert event_words(search) == (
        "search: 9 candidates, 1 plausible, best passes 2 of 3; "
        "its time was over after 8.0 s of work"
    )
    assert detail_words(search) == ""


def test_the_details_of_a_diagnosis_are_the_blamed_lines_with_their_values() -> None:
    blamed = BlamedLine(line=3, suspicion=1, text="return a - b", values=(("a", "2"), ("b", "3")))
    event = Diagnosed(
        iteration=0, diagnosis=Diagnosis(category="wrong_result", cause="why", blamed=(blamed,))
    )

    assert event_words(event) == "diagnosis: why"
    assert detail_words(event) == "  line 3 (1.00): return a - b\n    with a = 2, b = 3"


def test_that_there_is_no_model_is_said_once_and_first() -> None:
    assert plan_words("mock", "no model: memory and search only (nothing is set)") == (
        "No model: memory and search only (nothing is set)"
    )
    assert plan_words("mock", "LLM_PROVIDER=mock") == (
        "No model: memory and search only (LLM_PROVIDER=mock)"
    )
    assert plan_words("ollama", "it runs here") == "ollama: it runs here"


def test_frozen_tests_are_counted_by_origin() -> None:
    tests = tuple(
        TestInfo(name=str(number), origin=origin, code="assert f()")
        for number, origin in enumerate(("user", "user", "doctest"))
    )

    assert event_words(TestsFrozen(tests=tests)) == "3 tests: 2 user, 1 doctest"


def test_what_is_set_aside_says_that_it_is_not_the_programs() -> None:
    verdict = Verdict(
        name="it", test="it", origin="user", status="error", message="no such fixture",
        aside="the fixture `db` is not there",
    )

    assert verdict.standing == "set aside"
    assert seen_words(verdict) == "error, but not the program's: the fixture `db` is not there"


def test_a_program_that_is_not_believed_is_told_what_to_do() -> None:
    cheat = verdict("passed", integrity=None, doubt="it looks into frames")
    unresolved = Result(outcome="unresolved", report=Report(solution="s", verdicts=(cheat,)))
    wrong = Report(solution="s", verdicts=(cheat, verdict()))

    assert next_step(unresolved) == DISBELIEVED
    assert next_step(replace(unresolved, report=wrong)) == ADVICE["unresolved"]
