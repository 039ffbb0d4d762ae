"""Confirmed tests beside tests of the user: another repair is tried, and nothing is lost by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent.log.result import Result
from tests.agent.claude import Said, fenced
from tests.agent.model_runs import SOLVED
from tests.agent.scripted import RIGHT_SPECS, WORST, objecting, rounds, specs, told

WORDS = (
    "Write minutes(text), which reads hours and minutes as '1h30m' or '3h' or '45m'. "
    "A text of any other form raises ValueError."
)
TESTS = "assert minutes('1h30m') == 90\nassert minutes('45m') == 45\nassert minutes('2h') == 120\n"
TABLE = "def minutes(text):\n    return {'1h30m': 90, '45m': 45, '2h': 120}[text]\n"
RIGHT = """import re


def minutes(text):
    found = re.fullmatch(r'(?:(\\d+)h)?(?:(\\d+)m)?', text)
    if not found or not text:
        raise ValueError(text)
    return 60 * int(found[1] or 0) + int(found[2] or 0)
"""
PAIRS = (("minutes('10h5m')", "605"), ("minutes('4h')", "240"))


async def run(folder: Path, **said: Said | list[Said]) -> tuple[Result, list[Any], list[str]]:
    given = {"max_iterations": 4, "parallel_strategies": 1, "max_candidates": 40}
    return await told(folder, WORDS, "", TESTS, given, **{
        "spec_tester": specs(*PAIRS), "arbiter": specs(*PAIRS), **said,
    })


async def test_where_confirmed_tests_fail_beside_the_users_another_repair_is_tried(
    tmp_path: Path,
) -> None:
    result, _, asked = await run(tmp_path, generator=[fenced(TABLE), fenced(RIGHT)])
    assert (result.outcome, result.code) == ("healed", RIGHT)
    assert result.report is not None and not result.report.doubts
    assert asked.count("generator") == 2
    assert {test.origin for test in result.tests} <= {"user", "confirmed", "spec", "held-out"}


async def test_where_no_repair_passes_them_the_program_is_kept_with_its_doubts(
    tmp_path: Path,
) -> None:
    result, events, asked = await run(tmp_path, generator=fenced(TABLE))
    assert (result.outcome, result.proof, result.code) == ("healthy", "E1", TABLE)
    assert result.report is not None
    assert {one.origin for one in result.report.doubts} == {"confirmed"}
    assert 1 <= len(rounds(events)) <= 2 and asked.count("generator") <= 3


async def test_a_model_that_fails_meanwhile_loses_nothing(tmp_path: Path) -> None:
    result, _, _ = await run(tmp_path, generator=[fenced(TABLE), "I would rather not."])
    assert (result.outcome, result.code) == ("healthy", TABLE)


async def test_nothing_is_changed_for_the_sake_of_a_single_test(tmp_path: Path) -> None:
    call, value = PAIRS[0]
    quote = "A text of any other form raises ValueError."
    result, _, asked = await run(
        tmp_path, spec_tester=specs(), generator=fenced(TABLE),
        critic=[objecting(call, value, quote), '{"note": "it does", "approve": true}'],
    )
    assert (result.outcome, result.code, asked.count("generator")) == ("healthy", TABLE, 1)
    assert result.report is not None and len(result.report.doubts) == 1


async def test_a_program_of_the_users_own_is_left_alone(tmp_path: Path) -> None:
    result, _, asked = await told(tmp_path, WORDS, TABLE, TESTS)
    assert (result.outcome, asked) == ("healthy", [])


async def test_what_few_tests_let_pass_is_read_beside_the_words(tmp_path: Path) -> None:
    code, tests = "def add(a, b):\n    return a - b\n", "assert add(2, 3) == 5\n"
    enough = f"{tests}assert add(0, 1) == 1\nassert add(1, 0) == 1\nassert add(7, 1) == 8\n"
    for given, expected in ((tests, ["critic"]), (enough, [])):
        result, _, asked = await told(tmp_path, "add(a, b) is their sum.", code, given)
        assert (result.outcome, asked) == ("healed", expected)


async def test_a_change_that_no_test_of_the_users_asked_for_says_so(tmp_path: Path) -> None:
    result, _, _ = await told(
        tmp_path, spec_tester=RIGHT_SPECS, arbiter=RIGHT_SPECS,
        generator=[fenced(WORST), fenced(SOLVED)],
    )
    assert (result.outcome, result.code) == ("healed", SOLVED)
    assert "derived" in result.proof_why
