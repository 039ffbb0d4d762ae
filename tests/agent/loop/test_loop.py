"""How a loop with models ends, and what it asks on the way: scripted models, each call counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.core.events import CodeWritten, Critiqued, IterationEnded, NotChosen, TestRuled
from tests.agent.claude import claude, fenced
from tests.agent.loop.test_scenarios import LEARNED, WRITTEN, Scene, beside, ends_as
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
    specs,
    told,
)

BY_CHANCE = (
    "import random\n\n\ndef shout(words):\n    return str(random.random()) if words else ''\n"
)
UPPER = "def shout(words):\n    return words.upper()\n"
TITLE = HASHED.replace("str(hash(words))", "words.title()")
ARBITRATED = [*WRITTEN, "arbiter"]
ONCE = [*ARBITRATED, "generator", "arbiter", "critic"]
"""A prediction, a plain program and a ruling; `TWICE` with a ruling on each of three tests."""
TWICE = [*ONCE[:-1], "arbiter", "arbiter", "critic"]
X = "shout('x') == 'X'"
"""The derived test that is wrong in `ONE_WRONG`."""
MARK = "with an exclamation mark after it"
WRONG_PAIR = specs(("shout('a b')", "'A B!'"), ("shout('x')", "'X'"))
CONTESTED = json.loads(objecting("shout('a b')", "'A B'", "joined by single spaces"))
CONTESTED["objections"].append(
    {**CONTESTED["objections"][0], "call": "shout('x')", "expected": "'X'"}
)


MINUTES = (
    "Write minutes(text), which reads hours and minutes as '1h30m' or '3h' or '45m'. "
    "A text of any other form raises ValueError."
)
TABLE = "def minutes(text):\n    return {'1h30m': 90, '45m': 45, '2h': 120}[text]\n"
PARSED = """import re


def minutes(text):
    found = re.fullmatch(r'(?:(\\d+)h)?(?:(\\d+)m)?', text)
    if not found or not text:
        raise ValueError(text)
    return 60 * int(found[1] or 0) + int(found[2] or 0)
"""
FURTHER = (("minutes('10h5m')", "605"), ("minutes('4h')", "240"))
ADD = "def add(a, b):\n    return a - b\n"
ONE_SUM = "assert add(2, 3) == 5\n"


def ruling(verdict: str, quote: str = "joined by single spaces") -> str:
    return json.dumps({"quote": quote, "reason": "so it is", "verdict": verdict})


def drafts(*programs: str, **said: Any) -> dict[str, Any]:
    return {"generator": [*map(fenced, programs)], "spec_tester": ONE_WRONG, **said}


def ruled(how: str, *tests: str) -> dict[str, str]:
    return dict.fromkeys(tests, how)


RIGHT = ("shout('a b') == 'A! B!'", "shout('x') == 'X!'", "shout('q r') == 'Q! R!'")
PAIR = ("shout('a b') == 'A B!'", X)

def read(
    outcome: str, asked: list[str] | None, code: str, *drafts: str, submitted: str = "",
    ends: tuple[str, str | None] | None = None, **said: Any,
) -> Scene:
    """A text of hours and minutes is read; two further tests of it are confirmed."""
    return Scene(
        outcome, asked, code=code, words=MINUTES, submitted=submitted, ends=ends,
        tests="assert minutes('1h30m') == 90\nassert minutes('45m') == 45\n"
              "assert minutes('2h') == 120\n",
        said={"generator": [*drafts], "spec_tester": specs(*FURTHER), "arbiter": specs(*FURTHER),
              **said},
        given={"max_iterations": 4, "parallel_strategies": 1, "max_candidates": 40},
    )


SCENES: dict[str, Scene] = {
    # Who is right: the program or a derived test.
    "a wrong draft is not healed by a search that fits its one example": Scene(
        "healed", [*ARBITRATED, "generator", "debugger", "generator", *LEARNED],
        said=drafts(HASHED, SOLVED, spec_tester=RIGHT_SPECS, arbiter=RIGHT_SPECS),
        approaches=["minimal"], ends=("E1", ""), rulings=ruled("confirmed", *RIGHT),
    ),
    "what fails what was derived is never healed": Scene(
        "unresolved", None, "iterations", HASHED,
        said=drafts(HASHED, spec_tester=RIGHT_SPECS, arbiter=RIGHT_SPECS), ends=(None, ""),
    ),
    "a program that answers by chance is shown to be nothing": Scene(
        "healthy", TWICE, code=BY_CHANCE,
        said=drafts(BY_CHANCE, spec_tester=RIGHT_SPECS, arbiter=[specs(), OPEN]),
        ends=("E0", ""), rulings=ruled("contested", *RIGHT),
    ),
    "what one model reads alike twice speaks against no test": Scene(
        "healthy", TWICE, code=TITLE,
        said=drafts(TITLE, TITLE.replace("words.title()", "words.title() + ''"),
                    spec_tester=RIGHT_SPECS, arbiter=[specs(), OPEN]),
        ends=("E0", ""), rulings=ruled("contested", *RIGHT),
    ),
    "a right program is not changed for one wrong derived test": Scene(
        "healthy", [*ARBITRATED, "critic"],
        said=drafts(SOLVED, arbiter=specs(("shout('x')", "'X!'"))), rulings=ruled("excluded", X),
    ),
    **{
        f"two who err alike change no right program: {verdict}, {other}": Scene(
            "healthy", ONCE, rulings=ruled("undecided", X), said=drafts(
                SOLVED, second, arbiter=[specs(("shout('x')", "'X'")), ruling(verdict)],
            ),
        )
        for verdict, other, second in (
            ("code_wrong", "same", SOLVED), ("test_wrong", "another", SOLVED.replace(
                "words.split()", "words.split(' ') if word"
            )),
        )
    },
    "a derived test that contradicts an example of the words is left out": Scene(
        "healthy", [*WRITTEN, "critic"], words=f"{WORDS} shout('x') gives 'X!'.",
        said=drafts(SOLVED), rulings={},
    ),
    **{
        f"an arbiter settles nothing by {how}": Scene(
            "healthy", ONCE if quote else [*ONCE[:-1], "arbiter", "critic"],
            said=drafts(SOLVED, WORST, arbiter=[predicted, ruling("code_wrong", quote)]),
            rulings=ruled("undecided", X),
        )
        for how, quote, predicted in (
            ("a quote that is not there", "each word is followed by a mark", specs()),
            ("no quote", "", specs()),
            ("a quote against a prediction", MARK, specs(("shout('x')", "'X?'"))),
        )
    },
    "a program that fails what stands speaks for no other test": Scene(
        "healed", [*ARBITRATED, "generator", "debugger", "generator", "arbiter", *LEARNED],
        said=drafts(UPPER, SOLVED, arbiter=RIGHT_SPECS),  # the first passes the wrong test
        rulings=ruled("confirmed", RIGHT[0], RIGHT[2]) | ruled("excluded", X),
    ),
    "two derived tests that another reading refutes are a doubt": Scene(
        "healthy", [*ONCE[:-1], "arbiter", "critic"], said=drafts(
            SOLVED, SOLVED, SOLVED, spec_tester=WRONG_PAIR, arbiter=[specs(), OPEN],
        ), ends=("E0", ""), rulings=ruled("contested", *PAIR),
    ),
    "two derived tests that nothing settles forbid success together": Scene(
        "unresolved", None, "iterations", said=drafts(
            SOLVED, WORST, SOLVED, spec_tester=WRONG_PAIR, arbiter=[specs(), OPEN],
        ), ends=(None, ""), rulings=ruled("undecided", *PAIR),
    ),
    "a derived test that fails is a doubt beside tests of the user": Scene(
        "healthy", [*ARBITRATED, "critic"], tests=HARD_TESTS, said=drafts(
            SOLVED, spec_tester=specs(("shout('a c')", "'A C!'"), ("shout('y')", "'Y'")),
            arbiter=[specs(), OPEN],
        ), ends=("E1", "`shout('a c') == 'A C!'`"),
    ),
    # The critic.
    "a right program is not changed for two objections that are contested": Scene(
        "healthy", [*WRITTEN, "critic", *ONCE[3:-1], "arbiter"],
        words=f"{WORDS} shout('a') gives 'A!'.", said={
            "generator": [*map(fenced, (SOLVED, SOLVED, WORST))], "critic": json.dumps(CONTESTED),
            "arbiter": [specs(), OPEN],
        }, ends=("E0", ""), rulings=ruled("contested", "shout('a b') == 'A B'", X),
    ),
    "a critic that objects to everything does not end a right run": Scene(
        "healthy", [*WRITTEN, "critic", "arbiter"], said={
            "critic": objecting("shout('a b')", "'A B'", "joined by single spaces", "all wrong"),
            "arbiter": specs(("shout('a b')", "'A! B!'")),
        }, rulings=ruled("excluded", "shout('a b') == 'A B'"),
    ),
    **{
        f"an objection by {how} is a doubt": Scene(
            "healed", ["debugger", "generator", *LEARNED],
            **beside(critic=objecting(call, "'A'", quote, "I do not like it")),
            words=WORDS, ends=("E1", "I do not like it"),
        )
        for how, call, quote in (
            ("words that nobody wrote", "shout('a b')", "which nobody wrote"),
            ("a call that was made up", "made_up('a')", "joined by single spaces"),
        )
    },
    # Confirmed tests beside tests of the user, and few tests.
    "where confirmed tests fail another repair is tried": read(
        "healed", [*ARBITRATED, "debugger", "generator", *LEARNED], PARSED, fenced(TABLE),
        fenced(PARSED),
    ),
    "where no repair passes them the program is kept with its doubts": read(
        "healthy", None, TABLE, fenced(TABLE), ends=("E1", "`minutes('10h5m') == 605`"),
    ),
    "a model that fails meanwhile loses nothing": read(
        "healthy", [*ARBITRATED, "debugger", "generator", "generator", "critic"], TABLE,
        fenced(TABLE), "I would rather not.",
    ),
    "nothing is changed for the sake of a single test": read(
        "healthy", [*WRITTEN, "critic", "arbiter"], TABLE, fenced(TABLE), spec_tester=specs(),
        critic=objecting(*FURTHER[0], "A text of any other form raises ValueError."),
        ends=("E1", ""),
    ),
    "a program of the user's own is left alone": read("healthy", [], TABLE, submitted=TABLE),
    **{
        f"few tests and their repair are read beside the words: {asked}": Scene(
            "healed", asked, code=ADD.replace("-", "+"), words="add(a, b) is their sum.",
            submitted=ADD, tests=tests,
        )
        for asked, tests in (
            (["critic"], ONE_SUM),
            ([], ONE_SUM + "".join(f"assert add({n}, 1) == {n + 1}\n" for n in (0, 1, 7))),
        )
    },
    "a change that no test of the user's asked for says so": Scene(
        "healed", [*ARBITRATED, "generator", "debugger", "generator", *LEARNED],
        said=drafts(WORST, SOLVED, spec_tester=RIGHT_SPECS, arbiter=RIGHT_SPECS),
        ends=("E1", "derived"),
    ),
    # Iterations.
    **{
        f"the last of {len(approaches)} iterations is the end": Scene(
            "unresolved", asked, "iterations", HARD, **beside(
                generator=[
                    fenced(f"def shout(words):\n    return words + '{mark}'\n")
                    for mark in "?;:,?;:,"
                ],
            ), given={"max_iterations": len(approaches)}, approaches=approaches,
        )
        for asked, approaches in (
            ([], ["search"]), (["debugger", "generator"], ["search", "minimal"]),
            (["debugger", *["generator"] * 5], ["search", "minimal", "minimal", "tournament"]),
        )
    },
    "a diagnosis that is a guess is followed by no small edit": Scene(
        "healed", ["debugger", "generator", *LEARNED], **beside(debugger=json.dumps({
            "cause": "who knows", "category": "wrong_result", "lines": [], "fixable": True,
            "confidence": 10,
        })), given={"parallel_strategies": 1}, approaches=["search", "rewrite"],
    ),
}


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", SCENES)
async def test_derived_tests_objections_and_iterations_end_a_run_as_they_must(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llm.router.FIRST_WAIT_S", 0.01)
    await ends_as(SCENES[name], tmp_path)


async def test_an_arbiter_settles_by_a_sentence_that_stands_in_the_words(tmp_path: Path) -> None:
    scene = Scene(
        "healthy", [*ARBITRATED, "generator", "arbiter", "critic"], rulings=ruled("excluded", X),
        said=drafts(SOLVED, WORST, arbiter=[specs(), ruling("test_wrong", MARK)]),
    )
    result, events = await ends_as(scene, tmp_path)
    assert [one.quote for one in events if isinstance(one, TestRuled)] == [MARK]
    assert result.report is not None
    assert [(one.name, one.evidence_status) for one in result.report.verdicts if one.excluded] == [
        (X, "excluded")
    ]


async def test_an_objection_to_a_first_draft_becomes_a_test(tmp_path: Path) -> None:
    async with claude(
        generator=[fenced(UPPER), fenced(SOLVED)],
        critic=[objecting("shout('a b')", "'A! B!'", MARK),
                json.dumps({"note": "fine", "approve": True})],
        arbiter=specs(("shout('a b')", "'A! B!'")),
    ) as model:
        result, events = await healed(model.settings(tmp_path), "", "", WORDS)
    assert (result.outcome, result.code) == ("healed", SOLVED)
    assert [(one.test, one.ruling) for one in result.rulings] == [(RIGHT[0], "confirmed")]
    sent = [str(seen.json["messages"]) for seen in model.server.seen]
    (second,) = [text for text in sent[4:] if "Repair the program" in text]
    assert "it lacks the marks" in second
    assert model.asked == [
        *WRITTEN, "critic", "arbiter", "generator", "debugger", "generator", *LEARNED
    ]
    verdicts = [one.verdict for one in events if isinstance(one, Critiqued)]
    assert verdicts == ["reject", "approve"]


async def test_where_no_time_is_left_for_a_verdict_no_model_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.iteration.iterations.VERDICT_RESERVE_S", 1e6)
    # A search takes some.
    monkeypatch.setattr("agent.iteration.iterations.VERDICT_RESERVE_SHARE", 1.0)
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
    lost = [one for one in events if isinstance(one, NotChosen)]
    assert len(lost) == len(result.repairs_not_chosen) == 2
    assert all(one.iteration == 4 and one.passed < one.total for one in lost)
    assert all("+def shout" in one.diff or "+    return" in one.diff for one in lost)


async def test_a_tournament_takes_the_majority_and_asks_by_the_others(tmp_path: Path) -> None:
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
    assert result.competing is not None
    assert {one.label for one in result.competing.behaviours} == {"A", "B"}


async def test_a_regression_is_dropped_and_progress_is_kept(tmp_path: Path) -> None:
    near = "def shout(words):\n    return words.upper() + '!' if words else words\n"
    async with claude(generator=[fenced(near), fenced(WORST), fenced(SOLVED)]) as model:
        result, events = await healed(
            model.settings(tmp_path, parallel_strategies=1, max_candidates=1), HARD, HARD_TESTS
        )
    assert (result.outcome, result.code) == ("healed", SOLVED)
    assert [one.better for one in events if isinstance(one, IterationEnded)][1:3] == [True, False]
    asked = [
        seen.json["messages"][0]["content"] for seen, role in
        zip(model.server.seen, model.asked, strict=True) if role == "generator"
    ]
    assert "words.upper() + '!' if words else words" in asked[1]
    assert asked[2].index("words.upper()") < asked[2].index("return ''")  # shown, and then told
    written = [one.solution.text for one in events if isinstance(one, CodeWritten)]
    assert written == [HARD, near, WORST, SOLVED]


@pytest.mark.nightly
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


