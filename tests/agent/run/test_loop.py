"""How a loop with models ends, and what it asks on the way: scripted models, each call counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.core.events import CodeWritten, Critiqued, Outdone, RoundEnded, TestRuled
from tests.agent.claude import claude, fenced
from tests.agent.model_runs import HARD, HARD_TESTS, SOLVED, WRONG, healed
from tests.agent.scripted import (
    HASHED,
    ONE_WRONG,
    OPEN,
    RIGHT_SPECS,
    WORDS,
    WORST,
    objecting,
    rounds,
    rulings,
    specs,
    told,
)

# Who is right: the program or a derived test


async def test_a_wrong_draft_is_not_healed_by_a_search_that_fits_its_one_example(
    tmp_path: Path,
) -> None:
    result, events, asked = await told(
        tmp_path, generator=[fenced(HASHED), fenced(SOLVED)], spec_tester=RIGHT_SPECS,
        arbiter=RIGHT_SPECS,
    )
    assert (result.outcome, result.code, result.proof) == ("healed", SOLVED, "E1")
    assert {ruling for _, ruling in rulings(events)} == {"confirmed"}
    assert rounds(events) == ["minimal"]
    assert asked == [
        "spec_tester", "generator", "qa_adversary", "arbiter", "generator", "debugger",
        "generator", "critic", "memory_summariser",
    ]


async def test_what_fails_what_was_derived_is_never_healed_above_nothing(tmp_path: Path) -> None:
    result, _, _ = await told(
        tmp_path, generator=fenced(HASHED), spec_tester=RIGHT_SPECS, arbiter=RIGHT_SPECS,
    )
    assert result.outcome == "unresolved"
    assert result.proof is None


async def test_a_program_that_answers_by_chance_is_shown_to_be_nothing(tmp_path: Path) -> None:
    by_chance = (
        "import random\n\n\ndef shout(words):\n    return str(random.random()) if words else ''\n"
    )
    result, events, _ = await told(
        tmp_path, generator=fenced(by_chance), spec_tester=RIGHT_SPECS, arbiter=[specs(), OPEN],
    )
    assert (result.outcome, result.proof) == ("healthy", "E0")
    assert "set aside" not in {ruling for _, ruling in rulings(events)}


async def test_what_one_model_reads_alike_twice_speaks_against_no_test(tmp_path: Path) -> None:
    shared = HASHED.replace("str(hash(words))", "words.title()")
    other = shared.replace("words.title()", "words.title() + ''")
    result, events, _ = await told(
        tmp_path, generator=[fenced(shared), fenced(other)], spec_tester=RIGHT_SPECS,
        arbiter=[specs(), OPEN],
    )
    assert (result.outcome, result.proof) == ("healthy", "E0")
    assert {ruling for _, ruling in rulings(events)} == {"contested"}


@pytest.mark.parametrize("example", ["", " shout('a b') gives 'A! B!'."])
async def test_a_right_program_is_not_changed_for_one_wrong_derived_test(
    tmp_path: Path, example: str
) -> None:
    result, events, asked = await told(
        tmp_path, WORDS + example, generator=fenced(SOLVED), spec_tester=ONE_WRONG,
        arbiter=specs(("shout('x')", "'X!'")),
    )
    assert (result.outcome, result.code) == ("healthy", SOLVED)
    assert rulings(events) == [("shout('x') == 'X'", "set aside")]
    assert asked.count("generator") == 1
    (verdict,) = [one for one in result.report.verdicts if one.aside] if result.report else []
    assert (verdict.name, verdict.standing) == ("shout('x') == 'X'", "set aside")


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("ruling", ["code_wrong", "test_wrong"])
async def test_two_who_err_alike_change_no_right_program(
    tmp_path: Path, ruling: str, same: bool
) -> None:
    err = json.dumps({"quote": "joined by single spaces", "reason": "so it is", "verdict": ruling})
    other = SOLVED if same else SOLVED.replace("words.split()", "words.split(' ') if word")
    result, events, _ = await told(
        tmp_path, generator=[fenced(SOLVED), fenced(other)], spec_tester=ONE_WRONG,
        arbiter=[specs(("shout('x')", "'X'")), err],
    )
    assert (result.outcome, result.code) == ("healthy", SOLVED)
    assert rulings(events) == [("shout('x') == 'X'", "undecided")]


async def test_a_derived_test_that_contradicts_an_example_of_the_words_is_left_out(
    tmp_path: Path,
) -> None:
    result, events, asked = await told(
        tmp_path, f"{WORDS} shout('x') gives 'X!'.", generator=fenced(SOLVED),
        spec_tester=ONE_WRONG,
    )
    assert (result.outcome, result.code, rulings(events)) == ("healthy", SOLVED, [])
    assert "arbiter" not in asked


async def test_an_arbiter_settles_by_a_sentence_that_stands_in_the_words(tmp_path: Path) -> None:
    ruling = {
        "quote": "with an exclamation mark after it", "reason": "each word has a mark",
        "verdict": "test_wrong",
    }
    result, events, asked = await told(
        tmp_path, generator=[fenced(SOLVED), fenced(WORST)], spec_tester=ONE_WRONG,
        arbiter=[specs(), json.dumps(ruling)],
    )
    assert (result.outcome, result.code) == ("healthy", SOLVED)
    (ruled,) = [one for one in events if isinstance(one, TestRuled)]
    assert (ruled.ruling, ruled.quote) == ("set aside", ruling["quote"])
    assert asked[3:6] == ["arbiter", "generator", "arbiter"]  # prediction, reference, ruling


@pytest.mark.parametrize(("quote", "predicted"), [
    ("each word is followed by a mark", specs()), ("", specs()),
    ("with an exclamation mark after it", specs(("shout('x')", "'X?'"))),
], ids=["a quote that is not there", "no quote", "against a prediction"])
async def test_an_arbiter_settles_nothing_by_a_wrong_quote_or_against_a_prediction(
    tmp_path: Path, quote: str, predicted: str
) -> None:
    ruling = json.dumps({"quote": quote, "reason": "so it is", "verdict": "code_wrong"})
    result, events, _ = await told(
        tmp_path, generator=[fenced(SOLVED), fenced(WORST)], spec_tester=ONE_WRONG,
        arbiter=[predicted, ruling],
    )
    assert (result.outcome, result.code) == ("healthy", SOLVED)
    assert rulings(events) == [("shout('x') == 'X'", "undecided")]


async def test_a_program_that_fails_what_stands_speaks_for_no_other_test(tmp_path: Path) -> None:
    upper = "def shout(words):\n    return words.upper()\n"  # passes the one that is wrong
    result, events, _ = await told(
        tmp_path, generator=[fenced(upper), fenced(SOLVED)], spec_tester=ONE_WRONG,
        arbiter=RIGHT_SPECS,
    )
    assert (result.outcome, result.code) == ("healed", SOLVED)
    assert rulings(events)[-1] == ("shout('x') == 'X'", "set aside")


@pytest.mark.parametrize(("reference", "ruling", "ended"), [
    (SOLVED, "contested", ("healthy", "E0")), (WORST, "undecided", ("unresolved", None)),
])
async def test_two_derived_tests_that_nothing_settles_forbid_success_together(
    tmp_path: Path, reference: str, ruling: str, ended: tuple[str, str | None]
) -> None:
    two_wrong = specs(("shout('a b')", "'A B!'"), ("shout('x')", "'X'"))
    result, events, _ = await told(
        tmp_path, generator=[fenced(SOLVED), fenced(reference), fenced(SOLVED)],
        spec_tester=two_wrong, arbiter=[specs(), OPEN],
    )
    assert (result.outcome, result.proof) == ended
    assert [ruling for _, ruling in rulings(events)] == [ruling, ruling]
    assert result.code == SOLVED  # shown, and not called healed


async def test_a_right_program_is_not_changed_for_two_objections_that_are_contested(
    tmp_path: Path,
) -> None:
    two = json.loads(objecting("shout('a b')", "'A B'", "joined by single spaces"))
    two["objections"].append({**two["objections"][0], "call": "shout('x')", "expected": "'X'"})
    result, events, asked = await told(
        tmp_path, f"{WORDS} shout('a') gives 'A!'.", critic=json.dumps(two),
        generator=[fenced(SOLVED), fenced(SOLVED), fenced(WORST)], arbiter=[specs(), OPEN],
    )
    assert (result.outcome, result.code, result.proof) == ("healthy", SOLVED, "E0")
    assert [ruling for _, ruling in rulings(events)] == ["contested", "contested"]
    assert asked.count("generator") == 2  # the draft and the plain program


async def test_beside_tests_of_the_user_a_derived_one_that_fails_is_a_doubt(tmp_path: Path) -> None:
    two_wrong = specs(("shout('a c')", "'A C!'"), ("shout('y')", "'Y'"))
    result, _, _ = await told(
        tmp_path, tests=HARD_TESTS, generator=fenced(SOLVED), spec_tester=two_wrong,
        arbiter=[specs(), OPEN],
    )
    assert (result.outcome, result.code, result.proof) == ("healthy", SOLVED, "E1")
    assert "`shout('a c') == 'A C!'`" in result.proof_why


# The critic


async def test_a_first_draft_is_reviewed_and_an_objection_becomes_a_test_and_is_told(
    tmp_path: Path,
) -> None:
    upper = "def shout(words):\n    return words.upper()\n"
    async with claude(
        generator=[fenced(upper), fenced(SOLVED)],
        critic=[
            objecting("shout('a b')", "'A! B!'", "with an exclamation mark after it"),
            json.dumps({"note": "fine", "approve": True}),
        ],
        arbiter=specs(("shout('a b')", "'A! B!'")),
    ) as model:
        result, events = await healed(model.settings(tmp_path), "", "", WORDS)
    assert (result.outcome, result.code) == ("healed", SOLVED)
    assert rulings(events) == [("shout('a b') == 'A! B!'", "confirmed")]
    sent = [str(seen.json["messages"]) for seen in model.server.seen]
    (second,) = [text for text in sent[4:] if "Repair the program" in text]
    assert "it lacks the marks" in second
    assert model.asked == [
        "spec_tester", "generator", "qa_adversary", "critic", "arbiter", "generator", "debugger",
        "generator", "critic", "memory_summariser",
    ]
    verdicts = [one.verdict for one in events if isinstance(one, Critiqued)]
    assert verdicts == ["reject", "approve"]


async def test_a_critic_that_objects_to_everything_does_not_end_a_right_run(tmp_path: Path) -> None:
    result, events, asked = await told(
        tmp_path, generator=fenced(SOLVED),
        critic=objecting("shout('a b')", "'A B'", "joined by single spaces", "all wrong"),
        arbiter=specs(("shout('a b')", "'A! B!'")),
    )
    assert (result.outcome, result.code) == ("healthy", SOLVED)
    assert rulings(events) == [("shout('a b') == 'A B'", "set aside")]
    assert asked.count("critic") == 1


@pytest.mark.parametrize("quote", ["which nobody wrote", "joined by single spaces"])
async def test_an_objection_that_is_no_test_is_a_doubt(tmp_path: Path, quote: str) -> None:
    call = "shout('a b')" if quote.startswith("which") else "made_up('a')"
    result, events, _ = await told(
        tmp_path, code=HARD, tests=HARD_TESTS, generator=fenced(SOLVED),
        critic=objecting(call, "'A'", quote, "I do not like it"),
    )
    assert (result.outcome, result.code, result.proof) == ("healed", SOLVED, "E1")
    assert "I do not like it" in result.proof_why
    assert [one.verdict for one in events if isinstance(one, Critiqued)] == ["object"]


# Rounds


async def test_each_answer_is_a_round_and_the_last_allowed_is_the_end(tmp_path: Path) -> None:
    others = [f"def shout(words):\n    return words + '{mark}'\n" for mark in "?;:,"]
    for most, approaches in [
        (1, ["search"]), (2, ["search", "minimal"]), (4, ["search", "minimal", "minimal",
                                                          "tournament"]),
    ]:
        result, events, asked = await told(
            tmp_path / str(most), "", HARD, HARD_TESTS, {"max_iterations": most},
            generator=[fenced(one) for one in others * 2],
        )
        assert (result.outcome, result.stopped) == ("unresolved", "iterations")
        assert (rounds(events), result.iterations) == (approaches, most)
        assert asked.count("generator") == sum(
            {"search": 0, "minimal": 1, "tournament": 3}[one] for one in approaches
        )


async def test_where_no_time_is_left_for_a_verdict_no_model_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.healing.rounds.LEAST_S", 1e6)
    monkeypatch.setattr("agent.healing.rounds.LEAST_SHARE", 1.0)  # of which a search takes some
    async with claude(generator=fenced(WRONG)) as model:
        result, events = await healed(model.settings(tmp_path), HARD, HARD_TESTS)
    assert (result.outcome, result.stopped) == ("budget", "time")
    assert rounds(events) == ["search"]
    assert "generator" not in model.asked


async def test_a_tournament_takes_what_passes_and_asks_no_further(tmp_path: Path) -> None:
    result, events, asked = await told(
        tmp_path, "", HARD, HARD_TESTS,
        generator=[fenced(WRONG), fenced(WRONG), fenced(WORST), fenced(SOLVED), fenced(WORST)],
    )
    assert (result.outcome, result.code, result.strategy) == ("healed", SOLVED, "model")
    assert rounds(events) == ["search", "minimal", "minimal", "tournament"]
    assert asked.count("generator") == 5
    lost = [one for one in events if isinstance(one, Outdone)]
    assert len(lost) == len(result.outdone) == 2
    assert all(one.iteration == 4 and one.passed < one.total for one in lost)
    assert all("+def shout" in one.diff or "+    return" in one.diff for one in lost)


async def test_of_several_that_pass_a_tournament_takes_what_most_answer_and_asks_by_the_others(
    tmp_path: Path,
) -> None:
    # For two spaces it answers otherwise.
    lucky = SOLVED.replace("words.split()", "words.split(' ') if words")
    same = SOLVED.replace("words.split()", "(words + ' ').split()")
    result, events, asked = await told(
        tmp_path, "", HARD, HARD_TESTS,
        generator=[fenced(one) for one in (WRONG, WRONG, lucky, same, SOLVED)],
    )
    assert rounds(events)[-1] == "tournament"
    assert asked.count("generator") == 5
    assert (result.outcome, result.code) == ("healed", SOLVED)
    assert result.rivals is not None
    assert {one.label for one in result.rivals.behaviours} == {"A", "B"}


async def test_a_regression_is_put_away_and_what_came_nearer_is_gone_on_from(
    tmp_path: Path,
) -> None:
    near = "def shout(words):\n    return words.upper() + '!' if words else words\n"
    async with claude(generator=[fenced(near), fenced(WORST), fenced(SOLVED)]) as model:
        result, events = await healed(
            model.settings(tmp_path, parallel_strategies=1, max_candidates=1), HARD, HARD_TESTS
        )
    assert (result.outcome, result.code) == ("healed", SOLVED)
    assert [one.better for one in events if isinstance(one, RoundEnded)][1:3] == [True, False]
    asked = [
        seen.json["messages"][0]["content"] for seen, role in
        zip(model.server.seen, model.asked, strict=True) if role == "generator"
    ]
    assert "words.upper() + '!' if words else words" in asked[1]
    assert asked[2].index("words.upper()") < asked[2].index("return ''")  # shown, and then told
    written = [one.solution.text for one in events if isinstance(one, CodeWritten)]
    assert written == [HARD, near, WORST, SOLVED]


async def test_a_search_goes_on_around_what_a_model_has_nearly_right(tmp_path: Path) -> None:
    nearly = SOLVED.replace("' '.join", "''.join")
    given = {"max_candidates": 2_000, "search_s": 20.0, "max_iterations": 2}
    result, events, asked = await told(
        tmp_path / "with", "", HARD, HARD_TESTS, given, generator=fenced(nearly),
    )
    alone, *_ = await told(
        tmp_path / "without", "", HARD, HARD_TESTS, {**given, "enable_search": False},
        generator=fenced(nearly),
    )
    assert (result.outcome, result.strategy, alone.outcome) == ("healed", "model", "unresolved")
    assert "' '.join" in result.code
    assert asked.count("generator") == 1
    assert rounds(events) == ["search", "minimal"]


async def test_a_diagnosis_that_is_a_guess_is_followed_by_no_small_edit(tmp_path: Path) -> None:
    guess = json.dumps({
        "cause": "who knows", "category": "wrong_result", "lines": [], "fixable": True,
        "confidence": 10,
    })
    result, events, _ = await told(
        tmp_path, "", HARD, HARD_TESTS, {"parallel_strategies": 1}, debugger=guess,
        generator=fenced(SOLVED),
    )
    assert (result.outcome, rounds(events)) == ("healed", ["search", "rewrite"])
    assert result.iterations == 2
