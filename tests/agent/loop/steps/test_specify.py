from __future__ import annotations

import pytest

from agent.core.domain import (
    Ending,
    Evidence,
    Example,
    Proof,
    ProofLevel,
    Raises,
    Report,
    Script,
    TestCase,
    Verdict,
)
from agent.core.state import Suite
from agent.loop.steps.prove import (
    capped_by_doubts,
    is_contained,
    project_proof,
    proof_of,
    without_new_evidence,
)
from agent.loop.steps.specify import derived_test, hold_out, is_tested
from agent.target.discovery import snippets
from agent.target.test_analysis.calls import calls_made
from agent.target.test_analysis.held_out import file_without_test
from tests.agent.values import program


def example(name: str) -> Example:
    return Example(name=name, origin="user", call=f"f({name})", expected="0")


def verdict(name: str, passed: bool, **changes: object) -> Verdict:
    values: dict[str, object] = {
        "name": name, "test": name, "origin": "user", "integrity": "isolated",
        "status": "passed" if passed else "failed",
    }
    return Verdict.model_validate(values | changes)


def report(**passed: bool) -> Report:
    verdicts = tuple(verdict(name, value) for name, value in passed.items())
    return Report(solution="s", verdicts=verdicts)


ADD = program("def f(a, b=3):\n    return a - b\n")


def held_of(suite: Suite) -> tuple[list[str], list[str], str]:
    return names(suite.visible), names(suite.held_out), suite.not_held_out


FOUR = tuple(example(name) for name in "abcd")
ALL_FAIL = report(a=False, b=False, c=False, d=False)
ALL_PASS = report(a=True, b=True, c=True, d=True)


def names(tests: tuple[TestCase, ...]) -> list[str]:
    return [test.name for test in tests]


@pytest.mark.parametrize(("marks", "visible", "held"), [
    ("+--+", "abd", "c"), ("+-++", "abc", "d"), ("---", "abc", ""), ("++++", "abcd", ""),
], ids=["another failing one stays", "the only failing one stays", "three are shown", "none fails"])
def test_which_test_is_held_out(marks: str, visible: str, held: str) -> None:
    before = report(**{name: mark == "+" for name, mark in zip("abcd", marks, strict=False)})
    suite = hold_out(Suite(visible=FOUR[: len(marks)]), before, ADD)
    assert held_of(suite) == ([*visible], [*held], "")
    assert all(test.origin == "held-out" for test in suite.held_out)


@pytest.mark.parametrize("aside", [
    {"status": "skipped", "integrity": None}, {"vacuous": True},
])
def test_tests_that_show_nothing_neither_count_nor_are_held_out(aside: dict[str, object]) -> None:
    five = (*FOUR, example("e"))
    seen = report(a=True, b=False, c=True, d=True, e=True)
    weak = seen.model_copy(update={"verdicts": (*seen.verdicts[:4], verdict("e", True, **aside))})
    assert held_of(hold_out(Suite(visible=five), seen, ADD))[1] == ["e"]
    assert held_of(hold_out(Suite(visible=five), weak, ADD))[1] == ["d"]
    fewer = weak.model_copy(update={"verdicts": (*weak.verdicts[:2], *weak.verdicts[3:])})
    suite = Suite(visible=(*FOUR[:2], *five[3:]))
    assert hold_out(suite, fewer, ADD) == suite


def test_what_a_person_has_answered_is_not_held_out() -> None:
    suite = Suite(visible=FOUR)
    assert held_of(hold_out(suite, ALL_FAIL, ADD))[1] == ["d"]
    assert held_of(hold_out(suite, ALL_FAIL, ADD, {"d"}))[1] == ["c"]


def of_a_file(code: str) -> Suite:
    return Suite(visible=tuple(
        Script(name=name, origin="user", code=code, node=f"test_{name}") for name in "abcd"
    ))


def a_file(wanted: str = "57") -> str:
    return f"from shop import f\nFAR = [(55, {wanted})]\n" + "".join(
        f"def test_{name}():\n    assert f({number}) == {number + 3}\n"
        for number, name in enumerate("abc")
    ) + "def test_d():\n    for a, wanted in FAR:\n        assert f(a, 2) == wanted\n"


def test_a_test_of_a_file_is_held_out_with_its_text_and_its_tables() -> None:
    code = a_file()
    suite = hold_out(of_a_file(code), ALL_FAIL, ADD)
    (held,) = suite.held_out
    assert held == of_a_file(code).visible[3].model_copy(update={"origin": "held-out"})
    assert names(suite.visible) == ["a", "b", "c"]
    assert {test.code for test in suite.visible} == {file_without_test(code, "test_d")}
    assert not any(told in suite.model_copy(update={"held_out": ()}).to_json()
                   for told in ("57", "FAR", "test_d"))


def test_a_test_of_a_file_whose_table_others_read_is_not_held_out() -> None:
    code = a_file().replace("assert f(2) == 5", "assert f(2) == 5 and FAR")
    suite = hold_out(of_a_file(code), report(a=False, b=True, c=True, d=True), ADD)
    assert held_of(suite)[1] == ["b"]  # what it asks stands in no table


def test_a_test_that_stands_in_the_programs_own_file_is_not_held_out() -> None:
    code = a_file()
    own = program(ADD.text + code.partition("\n")[2])
    suite = hold_out(of_a_file(code), ALL_FAIL, own)
    assert held_of(suite)[1] == []


def test_rows_that_others_ask_too_hold_no_test_of_a_file_out() -> None:
    code = (
        "from shop import f\nimport pytest\n" + "".join(
            f"@pytest.mark.parametrize(('a', 'wanted'), [(1, 4), (2, 5)])\n"
            f"def test_{name}(a, wanted):\n    assert f(a) == wanted\n" for name in "abcd"
        )
    )
    suite = hold_out(of_a_file(code), ALL_FAIL, ADD)
    assert held_of(suite) == (list("abcd"), [], "known")


def test_a_held_out_test_of_a_file_that_its_model_has_read_proves_no_more() -> None:
    code = a_file()
    suite = hold_out(of_a_file(code), ALL_FAIL, ADD)
    seen = ALL_PASS
    read = "from shop import f\nFAR = [(55, 57)]\ndef test_d():\n" \
        "    for a, wanted in FAR:\n        assert f(a, 2) == wanted\n"
    assert proof_of(seen, suite, ADD, "def f(): pass").level == "E2"
    assert is_contained(suite.held_out[0], f"{read}    # and more")
    assert not is_contained(suite.held_out[0], "def f(): pass")


def submitted(*codes: str) -> tuple[TestCase, ...]:
    """Tests named by their letters, in order."""
    found = [
        test for code in codes
        for test in (
            [Script(name="", origin="user", code=code, node="T::test_f")] if "class T" in code
            else snippets.tests_from_snippet(code, program=ADD.text)
        )
    ]
    return tuple(
        test.model_copy(update={"name": name})
        for name, test in zip("abcdefg", found, strict=False)
    )


SAME = (
    "assert 3 == f(1, b=2)",
    "assert f(b=2, a=1) == 3",
    "x = 1\nassert f(x, 2) == 3",
    "import shop\nassert shop.f(1, 2) == 3",
    "for a, b in [(1, 2)]:\n    assert f(a, b) == 3",
    "assert str(f(1, 2)) == '3'",
    "assert 0 < f(1, 2) < 4 and f(1, 2) == 3",
    "from shop import f as g\nassert g(1, 2) == 3",
    "for a in range(1, 2):\n    assert f(a, 2) == 3",
    "for row in [(1, 2, 3)]:\n    a, b, c = row\n    assert f(a, b) == c",
    "def check():\n    cases = ((1, 2, 3),)\n    for a, b, c in cases:\n"
    "        assert f(a, b) == c\ncheck()",
)


CASES = "CASES = [(1, 2, 3)]\n"
ASKED = (
    "self.assertRaises(TypeError, f, 1, b=2)", "pytest.raises(TypeError, f, 1, b=2)",
    "self.assertWarns(Warning, f, 1, b=2)", "pytest.warns(Warning, f, 1, 2)",
    f"{CASES}for a, b, c in CASES:\n    assert f(a, b) == c",
    f"{CASES}\ndef test_f():\n    for a, b, c in CASES:\n        assert f(a, b) == c",
    f"import pytest\n{CASES}\n@pytest.mark.parametrize('a, b, c', CASES)\n"
    "def test_f(a, b, c):\n    assert f(a, b) == c",
)


@pytest.mark.parametrize("code", ASKED)
def test_a_check_asks_its_arguments_and_a_table_by_name_what_stands_in_it(code: str) -> None:
    (test,) = submitted("assert f(1, 2) == 3")
    again = Script(name="", origin="user", code=code)
    assert calls_made(again, ADD) == calls_made(test, ADD)


def test_the_same_question_is_not_held_out() -> None:
    file = (
        "import unittest\nfrom shop import f\n\nclass T(unittest.TestCase):\n"
        "    def test_f(self):\n        self.assertEqual(f(1, b=2), 3)\n"
        "        self.assertRaises(TypeError, f, None)\n"
    )
    tests = submitted(
        "assert f(5) == 8", "assert f(7) == 10", file, "assert f(1, 2) == 3",
        "import pytest\nwith pytest.raises(TypeError):\n    f(None)",
    )
    suite = hold_out(Suite(visible=tests), report(a=False, b=False, c=False, d=False, e=False), ADD)
    assert held_of(suite)[1:] == (["b"], "")

    tests = submitted("assert f(1, 2) == 3", *SAME[:3])
    suite = hold_out(Suite(visible=tests), ALL_FAIL, ADD)
    assert suite == Suite(visible=tests, not_held_out="known")
    assert proof_of(ALL_PASS, suite, ADD).level == "E1"


@pytest.mark.parametrize(("failing", "passed"), [("c", True), ("cd", False)])
def test_it_is_known_whether_a_held_out_test_passed_before(failing: str, passed: bool) -> None:
    tests = submitted(*(f"assert f({n}, 0) == {n}" for n in range(4)))
    before = report(**{name: name not in failing for name in "abcd"})
    suite = hold_out(Suite(visible=tests), before, ADD)
    assert suite.held_out_passed == passed
    assert proof_of(ALL_PASS, suite, ADD).level == "E2"


@pytest.mark.parametrize(("passed", "refuted", "level"), [
    (False, 0, "E2"), (True, 0, "E1"), (True, 1, "E2"),
])
def test_a_rejecting_held_out_test_raises_proof(passed: bool, refuted: int, level: str) -> None:
    proof = Proof(level="E2", why="shown", evidence=Evidence(refuted=refuted))
    assert without_new_evidence(proof, Suite(held_out_passed=passed)).level == level


STACK = (
    "class Stack:\n    def __init__(self):\n        self.all = []\n\n"
    "    def push(self, one):\n        self.all.append(one)\n\n"
    "    def pop(self):\n        return self.all.pop(0)\n"
)
POINT = "class Point:\n    def __init__(self, x, y=0):\n        self.x = x\n        self.y = x\n"


@pytest.mark.parametrize(("text", "failing", "codes"), [
    (STACK, "bc", (
        "s = Stack()\ns.push(1)\nassert s.pop() == 1",
        "s = Stack()\ns.push(1)\ns.push(2)\nassert s.pop() == 2",
        "s = Stack()\ns.push(1)\ns.push(2)\ns.pop()\nassert s.pop() == 1",
        "s = Stack()\nt = s\ns.push(1)\nassert s.pop() == 1",
    )),
    (POINT, "acd", (
        "p = Point(1, 0)\nassert p.x == 1", "p = Point(2)\nassert p.x == 2",
        "p = Point(1)\nassert p.y == 0", "p = Point(y=0, x=1)\nassert p.x == 1",
    )),
], ids=["all that was done to it", "another attribute"])
def test_objects_answer_by_attributes(text: str, failing: str, codes: tuple[str, ...]) -> None:
    tests = tuple(
        Script(name=name, origin="user", code=code)
        for name, code in zip("abcd", codes, strict=True)
    )
    before = report(**{name: name not in failing for name in "abcd"})
    assert names(hold_out(Suite(visible=tests), before, program(text)).held_out) == ["c"]


OTHERS = (
    "for one in range(3):\n    assert f(one, 2) == one + 2",
    "x = 1\nx += 1\nassert f(x, 2) == 4",
    "import io\nwith io.StringIO('1') as file:\n    assert f(int(file.read()), 2) == 3",
)


def test_odd_tests_are_held_out_in_reasonable_time() -> None:
    row = f"[{', '.join(map(str, range(200)))}]"
    nested = "".join(f"{'    ' * deep}for i{deep} in {row}:\n" for deep in range(4))
    tests = submitted(*(f"assert f({number}) == 3" for number in range(3)))
    deep = Script(name="d", origin="user", code=f"{nested}{' ' * 16}assert f(i0, i3) == 0")
    suite = hold_out(Suite(visible=(*tests, deep)), ALL_FAIL, ADD)
    assert names(suite.held_out) == ["d"]

    tests = submitted(*(f"assert solution({number}) == {number}" for number in range(4)))
    own = program("def solution(n):\n    return 0\n")
    suite = hold_out(Suite(visible=tests), ALL_FAIL, own)
    assert names(suite.held_out) == ["d"]


LOOSE = (
    "assert isinstance(f(1), int)",
    "assert f(2) is not None",
    "assert len(str(f(3))) == 1",
    "assert type(f(4)) is int",
    "assert f(5) != 0 and f(5) > -9",
    "x = f(6)\nassert isinstance(x, int) or x == 9",
    "assert not isinstance(f(7), str)",
    "assert all(isinstance(one, int) for one in [f(8), f(9)])",
    "assert f(1).__class__ == int",
    "assert (f(1) > 5) == True",
    "assert (f(1) > 5) is True",
    "assert bool(f(1)) == True",
    "assert bool(f(1))",
    "assert [f(1) > 5] == [True]",
    "assert {'big': f(1) > 5} == {'big': True}",
    "assert [f(x) > 5 for x in (1, 2)] == [True, True]",
    "assert all([f(1) > 5, f(2) > 5]) == True",
    "assert all([f(1) > 5, f(2) > 5])",
    "assert (1 if f(1) > 5 else 0) == 1",
    "big = f(1) > 5\nassert big == True",
    "assert abs(f(1) - 8) > 1",
)
FIXING = (
    "assert f(1) == 4",
    "assert f(2)",
    "assert not f(-3)",
    "assert f(4) is None",
    "assert abs(f(5) - 8) < 1e-9",
    "assert isinstance(f(6), int) and f(6) == 9",
    "import math\nassert math.isclose(f(7), 10)",
    "import pytest\nassert f(8) == pytest.approx(11)",
    "import pytest\nwith pytest.raises(TypeError):\n    f('a')",
    "assert f(1) in (4, 5)",
    "assert (f(1) == 4) == True",
    "assert [f(1), f(2) > 3] == [4, True]",
    "assert sorted([f(1), f(2)]) == [4, 5]",
    "assert abs(f(1)) == 4",
    "assert abs(f(1) - 4) < 1",
    "assert abs(f(1) - 40_000) < 100",
    "assert 0 <= abs(f(5) - 8) <= 1e-9",
    "assert f(1) in range(4, 6)",
    "assert f(1) * 2 == 8",
    "assert 2 < f(1) == 4",
)


FAR = ("assert f(55) == 58", "assert f(56) == 59", "assert f(57) == 60")
NEAR = ("assert f(5) == 8", "assert f(7) == 10", "assert f(1, 2) == 3")
DEFINED = (
    NEAR[0], "def check(a, wanted):\n    assert f(a, b=2) == wanted\ncheck(1, wanted=3)", NEAR[2],
)


@pytest.mark.parametrize(("first", "passing", "code", "held"), [
    *((NEAR, "", code, "b") for code in SAME), *((DEFINED, "", code, "d") for code in OTHERS),
    *((FAR, "b", code, "c") for code in LOOSE), *((FAR, "b", code, "d") for code in FIXING),
])
def test_only_a_test_that_asks_something_else_and_fixes_a_value_is_held_out(
    first: tuple[str, ...], passing: str, code: str, held: str
) -> None:
    before = report(**{name: name in passing for name in "abcd"})
    suite = hold_out(Suite(visible=submitted(*first, code)), before, ADD)
    assert held_of(suite) == ([one for one in "abcd" if one != held], [held], "")


def test_tests_that_fix_no_value_are_not_held_out() -> None:
    tests = submitted("assert f(55) == 58", "assert f(56) == 59", *LOOSE[:2])
    suite = hold_out(Suite(visible=tests), report(a=True, b=True, c=False, d=False), ADD)
    assert suite == Suite(visible=tests, not_held_out="no value")

    tests = (*FOUR[:3], Raises(name="d", origin="user", call="f('d')", exception="Exception"))
    suite = hold_out(Suite(visible=tests), report(a=False, b=False, c=True, d=False), ADD)
    assert names(suite.held_out) == ["b"]


HELD = Suite(visible=FOUR[:3], held_out=FOUR[3:])


def test_showing_what_was_held_out_loses_nothing_else_of_the_suite() -> None:
    held = FOUR[3].model_copy(update={"origin": "held-out"})
    suite = Suite(visible=FOUR[:3], held_out=(held,), held_out_passed=True, flaky=("b",))
    assert suite.revealed() == Suite(visible=FOUR, flaky=("b",))


def answered(call: str, origin: str = "user") -> Suite:
    further = Example(name="e", origin=origin, call=call, expected="0")
    return HELD.model_copy(update={"visible": (*HELD.visible, further)})


def seen(**changes: object) -> Report:
    return Report(solution="s", verdicts=(
        verdict("a", True, **changes), verdict("d", True, origin="held-out"),
    ))


def passing(*vacuous: str, skipped: str = "") -> Report:
    """A report of the four tests after a repair, some of which pass whatever is answered."""
    return Report(solution="s", verdicts=tuple(
        verdict(name, True, vacuous=name in vacuous)
        if name not in skipped else verdict(name, False, status="skipped", integrity=None)
        for name in "abcd"
    ))


ENDED = Ending(kind="exited", exit_code=1, message="usage: N")


@pytest.mark.parametrize(("report", "suite", "failed", "level", "facts"), [
    # A test that was never seen lifts the proof, and one that was answered or consulted does not.
    (ALL_PASS, Suite(visible=FOUR), "", "E1", ()), (ALL_PASS, HELD, "", "E2", ()),
    (ALL_PASS, Suite(visible=FOUR, held_out_revealed=True), "", "E1", ()),
    (report(a=True, b=True, c=True, d=True, e=True), answered("f(b=3, a=d)"), "", "E1", ()),
    (ALL_PASS, answered("f(d)", "adversarial"), "", "E2", ()),  # it must only return
    # A value of another type caps it, and a pass that is believed does not.
    (seen(integrity="in-process"), HELD, "", "E2", ()),
    (seen(type_differs=True), HELD, "", "E1", ()),
    # What shows nothing is no evidence.
    (passing(*"abcd"), HELD, "ab", "E0", ("0 of 4",)),
    (passing("a", "b"), HELD, "ab", "E0", ("2 of 4",)),
    (passing(skipped="ab"), HELD, "ab", "E0", ("2 of 4",)),
    (passing("d"), HELD, "ab", "E1", ("3 of 4",)),
    (passing(skipped="d"), HELD, "ab", "E1", ("3 of 4",)),
    (passing("a"), HELD, "ab", "E2", ("3 of 4",)),
    (Report(solution="s"), Suite(), "", "E0", ()),
    (Report(solution="s", verdicts=(verdict("a", True, origin="adversarial"),)), Suite(), "",
     "E0", ()),
    # A program that gives up proves nothing, and its last words are shown.
    (Report(solution="s", ending=ENDED), Suite(), "", "E0", ("1", "usage: N")),
])
def test_the_level_of_a_passing_report(
    report: Report, suite: Suite, failed: str, level: ProofLevel, facts: tuple[str, ...]
) -> None:
    proof = proof_of(report, suite, ADD, failed=frozenset(failed))
    assert (proof.level, [fact for fact in facts if fact not in proof.why]) == (level, [])


ONE_CALL = "def f(a, b):\n    audit(a)\n    return a - b\n"
TWO_CALLS = "def f(a, b):\n    audit(a)\n    audit(b)\n    return a - b\n"


@pytest.mark.parametrize(("base", "repaired", "drops"), [
    (ONE_CALL, "def f(a, b):\n    audit(a)\n    return a + b\n", False),
    (ONE_CALL, "def f(a, b):\n    return a + b\n", True),
    (TWO_CALLS, "def f(a, b):\n    audit(a)\n    return a + b\n", True),
    (TWO_CALLS, "def f(a, b):\n    return audit(b) and a + b\n", True),
    (TWO_CALLS, "def f(a, b):\n    return a + b\n", True),
])
def test_a_repair_that_drops_a_call_is_not_proven(base: str, repaired: str, drops: bool) -> None:
    for level, why in (("E2", "4 of 4 tests pass"), ("E0", "there is no test")):
        given = Proof(level=level, why=why)
        proof = capped_by_doubts(given, program(base), program(repaired))
        assert proof.level == ("E1" if drops and level == "E2" else level)
        assert ("`audit`" in proof.why) is drops


@pytest.mark.parametrize(("call", "expected", "told"), [
    ("shout('a')", "'A'", True),
    ("Crowd(['a']).shout()", "['A']", True),
    ("sorted(shout(word) for word in 'ab')", "['A', 'B']", True),
    ("[*map(lambda word: shout(word), 'a')]", "['A']", True),
    ("shout_words('a')", "'A'", False),
    ("shou('a')", "'A'", False),
    ("shout(text)", "'A'", False),
    ("shout('a')", "text", False),
    ("shout(", "'A'", False),
    ("len('a')", "1", False),
    ("shout(str(hash('a')))", "'A'", False),
    ("shout(input())", "'A'", False),
    ("shout(None)", "raises TypeError", True),
    ("shout(None)", "raises Trouble", False),
])
def test_an_example_calls_only_what_the_words_name(call: str, expected: str, told: bool) -> None:
    words = "Write shout(words), and a class `Crowd` whose method shouts each of its words."
    assert (derived_test(call, expected, words) is not None) is told


def test_a_call_is_asked_however_its_test_is_spaced() -> None:
    assert is_tested("f([1, 2], 'a')", submitted('assert f([1,2], "a") == 3'))


def test_a_projects_proof_says_what_its_suite_leaves_open() -> None:
    one = Proof(level="E1", why="9 of 9 tests pass")
    two = Proof(level="E2", why="9 of 9 tests pass, 1 of them never seen by the repair")
    assert project_proof(one, 0).why.startswith(one.why) and project_proof(one, 0) != one
    assert project_proof(two, 0) == two
    found = project_proof(two, 2)
    assert (found.level, found.why.startswith(two.why), " 3 " in found.why) == ("E1", True, True)
    assert found.evidence is not None and found.evidence.competing_patches == 2
    # What was open when a remembered repair was learned is said beside it.
    assert [project_proof(proof, 0, left_open=True) for proof in (one, two)] == [
        one, Proof(level="E1", why=two.why)
    ]
