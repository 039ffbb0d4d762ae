"""The evidence for E3 and E4, gathered from real programs in a real jail."""

from __future__ import annotations

import asyncio

import pytest

from agent.core.domain import (
    Alternative,
    Alternatives,
    Evidence,
    Example,
    Report,
    Script,
    Solution,
    Task,
    TestCase,
)
from agent.proof.proving import gather_evidence, reaches_e3
from agent.proof.uniqueness import ProofCase
from agent.verify.confirmation import HASH_SEEDS
from agent.verify.judge import FIRST_SEEDS, Seeds, check
from sandbox import open_sandbox
from tests.agent.values import program as solution

BASE = "def late(days):\n    if days > 14:\n        return days\n    return 0\n"
REPAIRED = BASE.replace("> 14", ">= 14")
GOOD_TESTS = {"late(13)": "0", "late(14)": "14", "late(15)": "15", "late(30)": "30"}


def examples(given: dict[str, str]) -> tuple[TestCase, ...]:
    return tuple(
        Example(name=call, origin="user", call=call, expected=value)
        for call, value in given.items()
    )


async def evidence(
    base: str, repaired: str, given: dict[str, str] | tuple[TestCase, ...], *,
    others: tuple[str, ...] = (), seconds: float = 120.0, raised: str = "",
) -> Evidence:
    """The evidence for a repair with tests, or with calls and their values."""
    tests = examples(given) if isinstance(given, dict) else given
    sandbox, task = open_sandbox(), Task()

    async def judge(one: Solution) -> Report:
        # Without the confirmation, which is tested elsewhere.
        known = {(one.id, test.name) for test in tests}
        return await check(one, tests, task, sandbox, confirmed=known)

    alternatives = Alternatives(
        calls=(), behaviours=tuple(Alternative(solution=solution(text)) for text in others)
    )
    case = ProofCase(
        base=solution(base), repaired=solution(repaired), report=await judge(solution(repaired)),
        tests=tests, others=alternatives, task=task, sandbox=sandbox, test_s=5.0, raised=raised,
    )
    assert case.report.passed
    return (await gather_evidence(case, judge, seconds)).evidence


async def test_tests_that_detect_every_mutant_prove_e4() -> None:
    seen = await evidence(BASE, REPAIRED, GOOD_TESTS)
    assert (
        seen.probes >= 100, seen.new_failures, seen.competing_patches, seen.cut
    ) == (True, (), 0, "")
    assert (seen.killed, seen.survivors, seen.disagreeing) == (seen.mutants, (), ())
    assert (seen.mutants >= 4, seen.reruns) == (True, 5)


async def test_a_mutant_that_no_test_detects_is_named() -> None:
    base = "def late(days):\n    if days < 0:\n        return -1\n    return days - 1\n"
    weak = await evidence(
        base, base.replace("days - 1", "days"),
        {"late(2)": "2", "late(3)": "3", "late(5)": "5", "late(-9)": "-1"},
    )
    assert (weak.competing_patches, weak.whole_function) == (0, True)
    assert any("in line 2" in note for note in weak.survivors)
    assert weak.killed < weak.mutants


async def test_an_equivalent_mutant_does_not_count() -> None:
    base = "def low(items):\n    return max(items)\n"
    repaired = (
        "def low(items):\n    best = items[0]\n    for one in items:\n        if one < best:\n"
        "            best = one\n    return best\n"
    )
    seen = await evidence(base, repaired, {
        "low([3, 1, 2])": "1", "low([5, 4, 9])": "4", "low([2, 7, 1])": "1", "low([6, 6, 8])": "6",
    })
    assert seen.equivalent >= 1
    assert not any("`<` to `<=`" in note for note in seen.survivors)


@pytest.mark.parametrize(("base", "end"), [
    (BASE, "    return 0 if days else 1 // days\n"),
    (BASE, "    while days == 0:\n        pass\n    return 0\n"),
    # If the first program cannot be loaded, each exception is new.
    (BASE.replace("def late(days):", "def late(days:"), "    return 0 if days else 1 // days\n"),
], ids=["an exception", "an endless loop", "not loaded before"])
async def test_a_failure_on_an_input_that_gave_a_value_is_new(base: str, end: str) -> None:
    seen = await evidence(base, REPAIRED.replace("    return 0\n", end), GOOD_TESTS)
    assert "late(0)" in seen.new_failures
    assert (reaches_e3(seen), seen.mutants, seen.reruns) == (False, 0, 0)


async def test_an_exception_that_the_first_program_raises_too_is_not_new() -> None:
    guard = "    if days == 0:\n        raise ValueError(days)\n"
    base, repaired = (text.replace(":\n", f":\n{guard}", 1) for text in (BASE, REPAIRED))
    seen = await evidence(base, repaired, GOOD_TESTS)
    assert (seen.new_failures, reaches_e3(seen)) == ((), True)


async def test_a_program_that_recognises_probes_is_inconsistent() -> None:
    """It answers as many calls as there are tests, and then returns 0. Without the calls of the
    tests among the probes, each of its mutants would seem equivalent."""
    sly = (
        "import sys\n\n\ndef late(days):\n    sys.calls = getattr(sys, 'calls', 0) + 1\n"
        "    if sys.calls > 4:\n        return 0\n"
    ) + REPAIRED.partition("\n")[2]
    seen = await evidence(BASE, sly, GOOD_TESTS)
    assert seen.inconsistent
    assert not reaches_e3(seen)


async def test_another_repair_that_fits_all_tests_prevents_e3() -> None:
    other = REPAIRED.replace("return 0", "return 0 if days > -5 else None")
    refuted = BASE
    seen = await evidence(BASE, REPAIRED, GOOD_TESTS, others=(refuted, REPAIRED, other))
    assert (seen.competing_patches, reaches_e3(seen)) == (1, False)


async def test_a_variant_of_the_repair_that_fits_all_tests_competes() -> None:
    thin = {"late(2)": "0", "late(20)": "20", "late(30)": "30", "late(40)": "40"}
    seen = await evidence(BASE, REPAIRED, thin)
    assert (seen.competing_patches, seen.variants_tried > 10, reaches_e3(seen)) == (3, True, False)


async def test_a_condition_with_an_uncovered_branch_is_named() -> None:
    base = "def root(n):\n    if n > 0:\n        raise ValueError('n')\n    return n ** 0.5\n"
    seen = await evidence(
        base, base.replace("> 0", "== 0"),
        {"root(4)": "2.0", "root(9)": "3.0", "root(16)": "4.0", "root(1)": "1.0"},
    )
    assert seen.uncovered == ("n == 0",)
    assert not reaches_e3(seen)


async def test_accepting_a_rejected_input_is_a_doubt_unless_a_test_was_rejected_wrongly() -> None:
    base = (
        "class Purse:\n    def __init__(self, held):\n        self.held = held\n\n"
        "    def take(self, some):\n        if some >= self.held:\n"
        "            raise ValueError(some)\n        self.held -= some\n        return self.held\n"
    )
    codes = (
        "purse = Purse(10)\nassert purse.take(4) == 6\n",
        "purse = Purse(10)\nheld = purse.take(10)\nassert held == 0\n",
        "assert Purse(9).take(2) == 7\n",
    )
    tests = tuple(Script(name=code, origin="user", code=code) for code in codes)
    repaired = base.replace(">=", ">")

    assert (await evidence(base, repaired, tests)).newly_accepted
    assert (await evidence(base, repaired, tests, raised="ValueError")).newly_accepted == ()


async def test_re_runs_detect_what_depends_on_the_hash_seed() -> None:
    known = await judged("def f():\n    return hash('a')\n")
    flaky = f"return days if days != 15 or hash('a') == {known} else 0"
    base, repaired = (text.replace("return days", flaky) for text in (BASE, REPAIRED))
    seen = await evidence(base, repaired, GOOD_TESTS)
    assert (seen.reruns, seen.disagreeing) == (5, ("late(15)",))

    other = await judged("def f():\n    return hash('a')\n", Seeds(hash=HASH_SEEDS[1]))
    flaky = f"return days if hash('a') != {other} else 0"
    base, repaired = (text.replace("return days", flaky) for text in (BASE, REPAIRED))
    seen = await evidence(base, repaired, GOOD_TESTS)
    assert seen.disagreeing == ("late(14)", "late(15)", "late(30)")


async def judged(text: str, seeds: Seeds = FIRST_SEEDS) -> str:
    """The value of `f()` before the judge."""
    report = await check(
        solution(text), examples({"f()": "None"}), Task(), open_sandbox(), seeds=seeds
    )
    return report.verdicts[0].got


async def test_re_runs_use_other_random_seeds() -> None:
    first = await judged("import random\n\n\ndef f():\n    return random.random()\n")
    lucky = (
        "import random\n\n\ndef late(days):\n"
        f"    lucky = random.random() == {first}\n"
    ) + REPAIRED.partition("\n")[2].replace(">= 14", ">= 14 and lucky")
    tests = {"late(14)": "14", "late(13)": "0"}
    sandbox, task = open_sandbox(), Task()
    known = [await check(
        solution(lucky), examples({call: value}), task, sandbox, verify_passes=False
    )
             for call, value in tests.items()]
    again = await check(solution(lucky), examples(tests), task, sandbox, seeds=Seeds(random=1))
    assert [report.passed for report in known] == [True, True]
    assert [verdict.passed for verdict in again.verdicts] == [False, True]


async def test_the_first_program_is_not_a_mutant() -> None:
    base = "def on(day, was=True):\n    was = False\n    return day if was else None\n"
    repaired = base.replace("was = False", "was = True")
    given = {"on(1)": "1", "on(2)": "2", "on(3)": "3", "on(4, False)": "4"}
    seen = await evidence(base, repaired, given)
    assert (seen.whole_function, seen.mutants, seen.killed, seen.equivalent) == (True, 4, 4, 1)


async def test_a_repair_that_only_removes_lines_is_mutated_around_them() -> None:
    base = BASE.replace("    return 0\n", "    days = 0\n    return days\n").replace(
        "    if", "    days = days + 1\n    if"
    )
    seen = await evidence(base, base.replace("    days = days + 1\n", ""), {
        "late(13)": "0", "late(14)": "0", "late(15)": "15", "late(30)": "30",
    })
    assert (
        seen.whole_function, seen.killed == seen.mutants, seen.mutants > 1
    ) == (True, True, True)


async def test_evidence_needs_calls_and_time() -> None:
    seen = await evidence(BASE, REPAIRED, {"late(int('20'))": "20"}, seconds=5.0)
    assert (seen.probes, seen.competing_patches) == (0, 0)
    assert not reaches_e3(seen)

    seen = await evidence(BASE, REPAIRED, GOOD_TESTS, seconds=0.0)
    assert seen.inconclusive and not reaches_e3(seen)


async def test_gathering_can_be_cancelled() -> None:
    working = asyncio.create_task(evidence(BASE, REPAIRED, GOOD_TESTS))
    await asyncio.sleep(0.05)
    working.cancel()
    (ended,) = await asyncio.gather(working, return_exceptions=True)
    assert isinstance(ended, asyncio.CancelledError)


TILL = (
    "class Till:\n    def __init__(self):\n        self.coins = []\n\n"
    "    def take(self, coin):\n        self.coins.append(coin)\n\n"
    "    def total(self):\n        return sum(self.coins) - 1\n"
)
TILL_TESTS = tuple(
    Script(name=str(coin), origin="user", code=(
        f"till = Till()\ntill.take({coin})\ntill.take(2)\nassert till.total() == {coin + 2}"
    ))
    for coin in (1, 5, 10, 20)
)


async def test_an_object_with_state_is_probed_with_the_call_sequences_of_the_tests() -> None:
    seen = await evidence(TILL, TILL.replace(" - 1", ""), TILL_TESTS)
    assert (seen.probes >= 100, seen.new_failures, seen.inconsistent) == (True, (), ())
    assert reaches_e3(seen)


async def test_a_new_failure_with_another_state_of_an_object_is_found() -> None:
    repaired = TILL.replace("sum(self.coins) - 1", "{3: 3, 7: 7, 12: 12, 22: 22}[sum(self.coins)]")
    seen = await evidence(TILL, repaired, TILL_TESTS)
    assert seen.new_failures
    assert seen.new_failures[0].startswith("(lambda till: (till.take(")
    assert not reaches_e3(seen)
