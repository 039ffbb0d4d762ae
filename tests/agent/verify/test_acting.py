"""Each sign that takes belief away, beside an honest program that does the same for its own ends.

The programs stand in `acting.toml`. Both of a pair pass their tests under plain pytest. The first
is not believed, with the sign's words or since its checks are asked twice (`asked`); the second is.
"""

from __future__ import annotations

from typing import Any

import pytest

from agent.core.domain import File, Task, Verdict
from agent.verify.tamper_indicators import RUNTIME_INDICATORS
from tests.agent.values import table

SNIPPET = "want = 8\nassert f(5) == want\n"
FILE = "from program import f\n\ndef test_it():\n    assert f(5) == 8\n"
PROGRAMS = table(__file__, "acting.toml")
CASES, SWALLOWING, EVERYDAY = PROGRAMS["acting"], PROGRAMS["swallowing"], PROGRAMS["everyday"]


async def judged(judge: Any, program: str, case: dict[str, Any]) -> Verdict:
    test = case.get("test", SNIPPET)
    support = tuple(File(path=path, text=text) for path, text in case.get("support", {}).items())
    node = "T::test_it" if "class T(" in test else "test_it" if "def test_it" in test else ""
    report = await judge(
        program, test, (node,) if node else (), task=Task(support=support), wall_s=2.0
    )
    verdict: Verdict
    (verdict,) = report.verdicts
    return verdict


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", CASES)
async def test_a_program_that_acts_on_its_test_is_not_believed(name: str, judge: Any) -> None:
    case = CASES[name]

    verdict = await judged(judge, case["acting"], case)

    assert verdict.status in ("passed", "skipped", "xfailed")
    assert ({**RUNTIME_INDICATORS, "asked": ""})[case["sign"]] in verdict.disbelieved
    assert verdict.fails


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", CASES)
async def test_one_that_uses_the_same_for_its_own_ends_is(name: str, judge: Any) -> None:
    verdict = await judged(judge, CASES[name]["honest"], CASES[name])

    assert (verdict.status, verdict.disbelieved, verdict.message) == ("passed", "", "")
    assert not verdict.vacuous


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", EVERYDAY)
async def test_what_libraries_do_every_day_is_believed(name: str, judge: Any) -> None:
    test = "from program import made\n\ndef test_it():\n    assert made()\n"

    verdict = await judged(judge, EVERYDAY[name], {"test": test})

    assert (verdict.status, verdict.disbelieved) == ("passed", "")


async def test_the_defaults_of_a_function_of_the_tests_are_not_the_programs(judge: Any) -> None:
    program = "import sys\n\ndef made(f):\n    f.__defaults__ = (True,)\n    return True\n"
    test = (
        "from program import made\n\ndef told(n=False):\n    return n\n\n"
        "def test_it():\n    made(told)\n    assert told()\n"
    )

    verdict = await judged(judge, program, {"test": test})

    assert "replaces the code" in verdict.disbelieved


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SWALLOWING)
async def test_an_assert_that_is_swallowed_is_no_pass(name: str, judge: Any) -> None:
    case = SWALLOWING[name]
    wrong = {"answer": True, "react": "pass", "error": "AssertionError", "value": 0}

    verdict = await judged(judge, case["program"].format(**wrong), case)

    assert verdict.status == "passed"
    assert verdict.fails


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SWALLOWING)
async def test_a_program_that_swallows_no_exception_is_believed(name: str, judge: Any) -> None:
    case = SWALLOWING[name]
    right = {"answer": None, "react": "raise", "error": "KeyError", "value": 8}

    verdict = await judged(judge, case["program"].format(**right), case)

    assert (verdict.status, verdict.disbelieved, verdict.message) == ("passed", "", "")


def test_every_indicator_is_shown() -> None:
    elsewhere = {"tolerance", "vanished"}
    assert {
        case["sign"] for case in CASES.values()
    } - {"asked"} | elsewhere == RUNTIME_INDICATORS.keys()


LOWERED = {
    "a class that says it is a library's": (
        "class E:\n    n = 8\nE.__module__ = 'math'\ndef f(n): return E()\n",
        "assert f(5).n == 8", "it claims that its own code is a library's",
    ),
    "a name in the place of Python's": (
        "def f(n): return n + 3\ndef len(xs): return xs.__len__()\n",
        "assert len([f(5)]) == 1",
        "it redefines a name that the test takes from Python (len)",
    ),
}


@pytest.mark.parametrize("name", LOWERED)
async def test_what_is_only_written_lowers_a_pass(name: str, judge: Any) -> None:
    text, test, reason = LOWERED[name]

    (verdict,) = (await judge(text, test)).verdicts

    assert (verdict.passed, verdict.integrity, verdict.reason) == (True, "in-process", reason)


WORDS_EVERYWHERE = PROGRAMS["words_everywhere"]


@pytest.mark.parametrize("test", [SNIPPET, FILE])
async def test_a_word_on_every_descriptor_passes_nothing(test: str, judge: Any) -> None:
    verdict = await judged(judge, WORDS_EVERYWHERE, {"test": test})

    assert (verdict.passed, verdict.fails) == (False, True)


MEANT = {
    "asks nothing": "def never():\n    assert 1 == 2, 'nope'\nassert f(never) is None\n",
    "is spoken of": "def never():\n    assert f is None\ntry:\n    f(never)\n"
                    "except AssertionError:\n    pass\nassert f(list) == []\n",
}


@pytest.mark.parametrize("test", MEANT)
async def test_an_assert_that_a_test_means_to_fail_is_not_swallowed(judge: Any, test: str) -> None:
    program = (
        "def f(check):\n    try:\n        return check()\n    except Exception:\n        return\n"
    )

    (verdict,) = (await judge(program, MEANT[test])).verdicts

    assert verdict.passed, verdict
