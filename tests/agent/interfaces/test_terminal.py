"""What a person reads: honest headlines, plain text, and nothing that steers the terminal."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from agent.core.domain import (
    Behaviour,
    CompetingPatches,
    Diagnosis,
    Evidence,
    ProofLevel,
    Report,
    RunOutcome,
    Solution,
    Status,
    SuspiciousLine,
)
from agent.core.events import Diagnosed, Event, Proved, Step, StepStarted, Waiting
from agent.interfaces.exits import Requirements
from agent.interfaces.next_step import step_key
from agent.interfaces.terminal.display import (
    STATUS_STYLES,
    STYLES,
    Terminal,
    detail_lines,
    printable,
    shown_lines,
    status_line,
    verdict_line,
)
from agent.report.result import Result
from agent.report.words import STATUS_SYMBOLS
from tests.agent.interfaces.conftest import started
from tests.agent.values import verdict


def shown(renderable: object) -> str:
    console = Console(file=StringIO(), width=100)
    console.print(renderable)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@given(st.text(st.characters()), st.text(st.characters(categories=("L", "N", "P", "S"))))
def test_only_control_characters_are_replaced(text: str, ordinary: str) -> None:
    assert all(character in "\n\t" or character.isprintable() for character in printable(text))
    assert printable(ordinary) == ordinary


def test_every_outcome_has_a_style_and_an_advice_and_every_standing_a_style() -> None:
    assert STYLES.keys() == set(get_args(RunOutcome))
    assert STATUS_STYLES.keys() == STATUS_SYMBOLS.keys()


@pytest.mark.parametrize(("result", "facts"), [
    (Result(outcome="healed", proof="E1", strategy="memory"), ("E1", "$0.00")),
    (Result(run_id="r"), ()),
    (Result(error="KeyError: \x1b[2J"), ("KeyError: \\x1b[2J",)),
    (Result(run_id="r", waiting=Waiting(interrupt="i", question="q?")), ("q?",)),
])
def test_the_status_is_one_plain_line(result: Result, facts: tuple[str, ...]) -> None:
    (line,) = status_line(result).plain.splitlines()
    assert all(fact in line for fact in facts)


def test_a_status_is_said_in_words_beside_its_glyph() -> None:
    every = [
        *(verdict(status) for status in get_args(Status)), verdict("passed", vacuous=True),
        verdict("passed", integrity=None, doubt="it looks into frames"),
        verdict("error", excluded="no such fixture"),
    ]
    for one in every:
        status = one.evidence_status
        assert f"{STATUS_SYMBOLS[status].glyph} {status}" in verdict_line(one)
        assert verdict_line(one, ascii_only=True).isascii()


@pytest.mark.parametrize("verbose", [False, True])
def test_adversarial_tests_are_counted_apart_from_those_that_decide(verbose: bool) -> None:
    errors = [
        verdict("error", f"f({n})", origin="adversarial", message="ValueError") for n in range(11)
    ]
    report = Report(solution="s", verdicts=(
        verdict("passed"), *errors, verdict("passed", "g", origin="adversarial"),
    ))
    console = Console(file=StringIO(), width=100)
    Terminal(verbose=verbose).tests(report, console)
    assert isinstance(console.file, StringIO)
    said = console.file.getvalue()
    assert said.count("ValueError") == (11 if verbose else 0)
    assert ("1 of 12" in said) is not verbose


@pytest.mark.parametrize(("reasons", "count"), [
    (("one process", "one process"), 0), (("one process", "it uses caplog"), 2), (("",), 0),
])
def test_the_integrity_of_the_headline_is_shown_below_tests_that_differ(
    reasons: tuple[str, ...], count: int
) -> None:
    report = Report(solution="s", verdicts=tuple(
        verdict("passed", integrity="in-process" if reason else "isolated", reason=reason)
        for reason in reasons
    ))
    console = Console(file=StringIO(), width=100)
    Terminal().tests(report, console, reason=reasons[0])
    assert isinstance(console.file, StringIO)
    assert console.file.getvalue().count("in-process") == count


def test_a_row_says_what_was_seen_and_what_limits_its_worth() -> None:
    for one, facts in (
        (verdict(expected="3", got="4", message="m"), ("3", "4")),
        (verdict("error", message="ZeroDivisionError"), ("ZeroDivisionError",)),
        (verdict("error", got="KeyError: 'x'"), ("KeyError: 'x'",)),
        (verdict("passed", integrity=None, doubt="it looks into frames", message="x"),
         ("it looks into frames",)),
    ):
        assert all(fact in "".join(detail_lines(one)) for fact in facts)
    plain, other_type = (
        verdict("failed", integrity=None, got="3", type_differs=differs)
        for differs in (False, True)
    )
    assert detail_lines(plain) != detail_lines(other_type)
    assert detail_lines(verdict("passed", expected="3", got="3")) == []
    (long,) = detail_lines(verdict(message="x" * 300))
    assert len(long) == len("    ") + 201


BLAMED = SuspiciousLine(line=3, suspicion=1, text="return a - b", values=(("a", "2"), ("b", "3")))


# The one place where the lines of the terminal are compared word by word.


@pytest.mark.parametrize(("event", "usual", "details"), [
    (StepStarted(step="repair", iteration=1), [], ["  Search for a repair …"]),
    (Diagnosed(iteration=0, diagnosis=Diagnosis(
        category="wrong_result", cause="why", suspicious_lines=(BLAMED,)
    )), ["diagnosis: why"],
     ["  line 3: return a - b", "    with a = 2, b = 3"]),
    (Proved(level="E1", why="w", evidence=Evidence(survivors=("a became b",))), [],
     ["proof E1; w", "  no test detects: a became b"]),
])
def test_details_are_shown_on_request(event: Event, usual: list[str], details: list[str]) -> None:
    assert [line.text for line in shown_lines(event)] == usual
    assert [line.text for line in shown_lines(event, verbose=True)] == [*usual, *details]


@pytest.mark.parametrize("remembers", [True, False])
def test_only_long_steps_print_a_line(remembers: bool, capsys: pytest.CaptureFixture[str]) -> None:
    steps: tuple[Step, ...] = ("recall", "specify", "repair", "select", "prove", "learn")
    with Terminal().progress(terse=True) as progress:
        progress.show(started().model_copy(update={"level": "L4", "remembers": remembers}))
        for step in steps:
            progress.show(StepStarted(step=step, iteration=1))
    first, *others = capsys.readouterr().err.splitlines()
    assert (len(others), "memory" in first) == (2, remembers)


CHEAT = verdict("passed", integrity=None, doubt="it looks into frames")
SEVERAL = CompetingPatches(call="add(1, 1)", behaviours=tuple(
    Behaviour(label=label, gives=label, solution=Solution(files=(), entry="a.py")) for label in "AB"
))


@pytest.mark.parametrize(("result", "proof", "step"), [
    (Result(outcome="unresolved", report=Report(solution="s", verdicts=(CHEAT,))), "E1",
     "disbelieved"),
    (Result(outcome="unresolved", report=Report(solution="s", verdicts=(CHEAT, verdict()))), "E1",
     "unresolved"),
    (Result(outcome="healed", proof="E1", competing=SEVERAL), "E2", "ask_which"),
    (Result(outcome="healed", proof="E1", competing=SEVERAL.model_copy(update={"call": ""})), "E2",
     "several"),
])
def test_the_next_step_follows_the_outcome(result: Result, proof: ProofLevel, step: str) -> None:
    assert step_key(result, Requirements(proof)) == step
    without = step_key(replace(result, competing=None, report=None), Requirements(proof))
    assert without not in ("ask_which", "several")


def test_without_code_another_next_step_is_named() -> None:
    steps = {
        step_key(Result(outcome="model_failed", start=started().model_copy(update={"code": code})),
                Requirements()) for code in ("", "def f(): pass\n")
    }
    assert len(steps) == 2
