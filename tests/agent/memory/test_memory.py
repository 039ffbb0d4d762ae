from __future__ import annotations

from typing import Any

import pytest

from agent.core.domain import CompetingPatches, File, Lesson, Solution
from agent.memory import FailureDescription, FailureKey, Memory, applicable_fixes
from agent.memory.fixes import project_origin
from agent.memory.offers import MAX_OFFERS
from tests.agent.memory.conftest import Change, Making

OTHER = "def total(a, b):\n    # what is to be paid\n    return a + b  # a copy\n"
TIMES = "def f(a, b):\n    return a * b\n"
RIVALS = CompetingPatches(call="f(1, 2)", behaviours=())
LIKE = FailureKey(signature="elsewhere", exception="wrong result", shape="failed")


def program_of(text: str) -> Solution:
    return Solution(files=(File(path="program.py", text=text),), entry="program.py")


def texts(memory: Memory, failure: FailureKey, text: str) -> list[str]:
    return [offer.solution.text for offer in applicable_fixes(memory, failure, program_of(text))]


def test_a_fix_is_found_by_signature_with_its_newest_proof(memory: Memory, fix: Making) -> None:
    memory.remember(fix())
    assert [one.fix for one in memory.exact(fix().failure)] == [fix()]
    assert memory.exact(LIKE) == ()
    memory.credit(memory.fixes()[0], helped=True)
    memory.remember(fix().model_copy(update={"proof": "E2"}))
    (known,) = memory.fixes()
    assert (known.fix.proof, known.successes) == ("E2", 1)


@pytest.mark.parametrize(("was", "now", "stands"), [
    ("open", "settled", "settled"), ("settled", "open", "open"), ("open", "unknown", "open"),
    ("settled", "unknown", "settled"), ("unknown", "open", "open"),
])
def test_what_is_known_of_other_repairs_is_not_forgotten(
    memory: Memory, fix: Making, was: str, now: str, stands: str
) -> None:
    for standing in (was, now):
        memory.remember(fix().model_copy(update={
            "competition": standing, "competing": RIVALS if standing == "open" else None,
        }))
    (known,) = memory.fixes()
    assert known.fix.competition == stands
    assert known.fix.competing == (RIVALS if stands == "open" else None)


@pytest.mark.parametrize(("told", "said", "kept"), [
    ({}, {}, ["own", "own"]), ({"competition": "settled"}, {}, ["settled", "own"]),
    ({}, {"origin": "x", "trusted": False}, ["own", "x"]),
])
def test_what_is_settled_comes_first_then_the_better_record_and_strangers_last(
    memory: Memory, fix: Making, told: dict[str, str], said: dict[str, Any], kept: list[str]
) -> None:
    memory.remember(fix(after=TIMES).model_copy(update=told), **said)
    memory.remember(fix())
    memory.credit(memory.fixes()[0], helped=True)
    found = memory.exact(fix().failure)
    assert [
        one.fix.competition if one.fix.competition != "unknown" else one.origin for one in found
    ] == kept
    assert (found[0].fix.after == TIMES) == (told != {})


def test_a_fix_that_fails_is_not_offered_again_where_it_failed(memory: Memory, fix: Making) -> None:
    memory.remember(fix())
    memory.credit(memory.fixes()[0], helped=False, other_failure=True)
    assert memory.alike(LIKE) == ()
    assert len(memory.exact(fix().failure)) == 1
    memory.credit(memory.fixes()[0], helped=False)
    assert memory.exact(fix().failure) == ()


def test_only_a_similar_program_is_offered_the_edit(memory: Memory, fix: Making) -> None:
    memory.remember(fix())
    assert texts(memory, LIKE, OTHER) == [OTHER.replace("+", "-")]
    assert texts(memory, LIKE.model_copy(update={"exception": "KeyError"}), OTHER) == []
    assert texts(memory, LIKE, OTHER.replace("a + b", "a + 1")) == []


def test_the_same_program_gets_the_text_and_others_the_lines(memory: Memory, fix: Making) -> None:
    known = fix()
    memory.remember(known)
    assert texts(memory, known.failure, known.before) == [known.after]
    noted = "# mine\n" + known.before.replace("a + b", "a+b  # why")
    assert texts(memory, known.failure, noted) == [noted.replace("a+b", "a - b")]


@pytest.mark.parametrize("after", [
    "def f(x, y):\n    return 10\n", "import random\n\n\ndef g():\n    return random.random()\n",
    "def f(a, b):\n    return {(2, 5): -3, (1, 1): 0}[a, b]\n", "",
])
def test_a_program_is_never_replaced_by_another_one(
    memory: Memory, fix: Making, change: Change, after: str
) -> None:
    memory.remember(fix())
    change("update fixes set after = ?", after)
    assert texts(memory, fix().failure, fix().before) == []
    assert texts(memory, LIKE, OTHER) == []


def test_a_false_signature_replaces_no_other_program(memory: Memory, fix: Making) -> None:
    memory.remember(fix())
    unrelated = "def f(a, b):\n    return max(a, b)\n"
    assert texts(memory, fix().failure, unrelated) == []


def test_the_programs_own_tests_are_never_edited_away(memory: Memory, fix: Making) -> None:
    before = "def f(a, b):\n    return a + b\n\n\nassert f(3, 1) == 2\n"
    memory.remember(fix(before=before, after=before.replace("assert f(3, 1) == 2\n", "")))
    assert texts(memory, fix().failure, before) == []


def test_the_replays_of_one_failure_are_few(memory: Memory, fix: Making) -> None:
    for number in range(9):
        operator = "*" * (number % 2 + 1)
        memory.remember(fix(f"s{number}", after=f"def f(a, b):\n    return a {operator} b\n"))
        memory.remember(fix("s", after=f"def f(a, b):\n    return a + b + {number}\n"))
    assert len(texts(memory, fix().failure, fix().before)) == MAX_OFFERS


@pytest.mark.parametrize("senseless", [
    "proof_after = 'E9'", "successes = -1", "successes = 'many'", "before = after", "alike = 'x'",
    "created = 'then'", "after = x'ff00'",
])
def test_a_row_that_makes_no_sense_is_skipped_and_counted(
    memory: Memory, fix: Making, change: Change, senseless: str
) -> None:
    other = "def g():\n    return 0\n"
    memory.remember(fix("kept", before=other, after=other.replace("0", "1")))
    memory.remember(fix())
    change(f"update fixes set {senseless} where signature = 's'")
    kept = [known.fix.failure.signature for known in memory.fixes()]
    assert (kept, memory.skipped) == (["kept"], 1)


def test_forgotten_is_forgotten(memory: Memory, fix: Making) -> None:
    memory.remember(fix("a"))
    memory.remember(fix("b"))
    memory.learn(Lesson(text="guard the end of a list", category="crash"))
    newest, oldest = memory.fixes()
    memory.forget([newest.number])
    assert memory.fixes() == (oldest,)
    memory.forget_all()
    assert (memory.fixes(), memory.lessons()) == ((), ())
    assert memory.lessons_for(FailureDescription(message="list")) == ()


LESSONS = {
    "range ends before its second number": FailureDescription(
        category="crash", exception="IndexError", message="list index out of range",
        names=("items", "total"),
    ),
    "a dictionary was asked for a key that it lacks": FailureDescription(
        category="crash", exception="KeyError", message="'…'", names=("prices", "currency"),
    ),
    "the name was misspelt": FailureDescription(
        category="name", exception="NameError", message="name '…' is not defined",
        names=("subtotal",),
    ),
    "the base case of the recursion was missing": FailureDescription(
        category="endless", exception="RecursionError",
        message="maximum recursion depth exceeded", names=("walk", "node"),
    ),
    "integers were divided with / instead of //": FailureDescription(
        category="wrong_result", exception="", message="", names=("average", "half"),
    ),
}


@pytest.mark.parametrize(("symptom", "first"), [
    (FailureDescription(exception="IndexError", message="tuple index out of range"), 0),
    (FailureDescription(exception="KeyError", names=("currencies",)), 1),
    (FailureDescription(category="name", exception="NameError"), 2),
    (FailureDescription(cause="the function recurses for ever"), 3),
    (FailureDescription(category="wrong_result", names=("averages",)), 4),
])
def test_a_failure_calls_the_closest_lesson_to_mind(
    memory: Memory, symptom: FailureDescription, first: int
) -> None:
    for text, shown in LESSONS.items():
        memory.learn(Lesson(text=text, category=shown.category), shown)
    assert memory.lessons_for(symptom)[0].text == list(LESSONS)[first]


@pytest.mark.parametrize(("lesson", "symptom"), [
    ("the upper bound was left out", FailureDescription(message="out of range")),
    ("nobody asked whether it was blank", FailureDescription(message="max() of empty list")),
    ("it went round for ever: an endless loop", FailureDescription(cause="it hangs, infinite")),
    ("a name was misspelt", FailureDescription(cause="most likely a typo")),
])
def test_a_lesson_is_found_by_what_is_meant(
    memory: Memory, lesson: str, symptom: FailureDescription
) -> None:
    memory.learn(Lesson(text=lesson, category="crash"))
    memory.learn(Lesson(text="the coroutine was never awaited", category="crash"))
    assert [one.text for one in memory.lessons_for(symptom)] == [lesson]


def test_names_that_mean_the_same_make_failures_of_a_kind_alike(memory: Memory) -> None:
    shown = FailureDescription(category="wrong_result", names=("average",))
    memory.learn(Lesson(text="integers were divided", category="wrong_result"), shown)

    def told(name: str) -> int:
        return len(memory.lessons_for(shown.model_copy(update={"names": (name,)})))

    assert (told("mean_of_rows"), told("median_of_rows")) == (1, 0)


def test_a_kind_of_failure_and_a_common_name_do_not_make_programs_alike(memory: Memory) -> None:
    shown = FailureDescription(category="wrong_result", names=("total", "values", "fee"))
    memory.learn(Lesson(text="a term was left out", category="wrong_result"), shown)

    others = shown.model_copy(update={"names": ("total", "values")})
    assert (memory.lessons_for(others), len(memory.lessons_for(shown))) == ((), 1)


def test_a_common_kind_of_failure_does_not_make_programs_alike(memory: Memory) -> None:
    cause = "The program crashes: IndexError: list index out of range at line 2"
    shown = FailureDescription(
        category="crash", exception="IndexError", cause=cause, names=("row",)
    )
    memory.learn(Lesson(text="range ended one too late", category="crash"), shown)
    wrong = FailureDescription(
        category="wrong_result", exception="wrong result",
        cause="area(2, 3) gives 5 where 6 is expected",
    )
    memory.learn(Lesson(text="a plus stood for a star", category="wrong_result"), wrong)

    other = FailureDescription(
        category="crash", exception="TypeError", names=("label",),
        cause="The program crashes: TypeError: can only concatenate str to str at line 9",
    )
    assert memory.lessons_for(other) == ()
    assert len(memory.lessons_for(other.model_copy(update={"names": ("rows",)}))) == 1
    mean = FailureDescription(
        category="wrong_result", exception="wrong result",
        cause="mean([1]) gives 2 where 1 is expected",
    )
    assert memory.lessons_for(mean) == ()
    assert len(memory.lessons_for(mean.model_copy(update={"cause": "area(1) gives 2"}))) == 1


def test_a_name_of_the_program_in_the_cause_makes_no_other_failure_alike(memory: Memory) -> None:
    cause = "A name is used that is not there: NameError: name 'Counter' is not defined at line 2"
    memory.learn(
        Lesson(text="what helped was added `from collections import Counter`", category="name"),
        FailureDescription(
            category="name", exception="NameError", cause=cause, names=("Counter", "words")
        ),
    )
    shared = FailureDescription(
        category="wrong_result", exception="wrong result", names=("collect", "item", "items"),
        cause="collect(2) gives [1, 2] where [2] is expected",
    )
    assert memory.lessons_for(shared) == ()
    memory.learn(Lesson(text="a default was shared", category="wrong_result"), shared)
    assert [one.text for one in memory.lessons_for(shared)] == ["a default was shared"]


def test_at_most_five_lessons_come_back_and_none_that_shares_no_word(memory: Memory) -> None:
    for number in range(9):
        memory.learn(
            Lesson(text=f"guard the index, way {number}", category="crash"),
            FailureDescription(exception="IndexError"),
        )
    assert len(memory.lessons_for(FailureDescription(exception="IndexError"))) == 5
    other = FailureDescription(exception="UnicodeDecodeError", names=("guard",))
    assert memory.lessons_for(other) == ()
    assert memory.lessons_for(FailureDescription()) == ()


def test_a_projects_lessons_stay_in_it(memory: Memory) -> None:
    shown = FailureDescription(exception="IndexError")
    memory.learn(Lesson(text="of till"), shown, origin=project_origin("/till"))
    memory.learn(Lesson(text="of a file"), shown)

    def told(project: str = "") -> set[str]:
        return {one.text for one in memory.lessons_for(shown, project)}

    assert (told(), told("/other"), told("/till")) == (
        {"of a file"}, {"of a file"}, {"of a file", "of till"}
    )


def test_a_question_full_of_query_language_is_only_words(memory: Memory) -> None:
    memory.learn(Lesson(text="close the bracket", category="syntax"))
    hostile = 'AND OR NOT NEAR( "bracket" words:* ^ { } -close'
    assert [one.text for one in memory.lessons_for(FailureDescription(message=hostile))] == [
        "close the bracket"
    ]


def test_a_record_must_match_its_edit(memory: Memory, fix: Making) -> None:
    forged = fix().model_copy(update={"note": "changed nothing but a comment"})
    memory.remember(forged)
    (offer,) = applicable_fixes(memory, forged.failure, program_of(forged.before))
    assert (offer.solution.text, "comment" in offer.note) == (forged.after, False)
