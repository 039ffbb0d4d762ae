"""The search in a project."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import pytest

from agent.core.domain import File, Report, Solution, Status, Task, Verdict
from agent.core.events import Searched
from agent.iteration.search.driver import (
    Runner,
    SearchLimits,
    SearchResult,
    Verify,
    _FileSearch,
    _Search,
    search_repair,
)
from agent.iteration.search.suite_runner import SuiteRunner, _other_tests, suite_runner
from agent.search.project.suite import CollectedSuite, Coverage, TestRow
from agent.search.project.suspects import Suspect
from agent.search.search import search
from agent.search.values import Budget, Candidate, Facts, Findings, PrecheckRequest
from agent.verify.judge import check
from sandbox.sandbox import Batch, Sandbox, open_sandbox
from tests.agent.search.project.small_project import FAILING, PROJECT, base, scripts, task


async def searched(seen: list[Searched], wall_s: float) -> SearchResult:
    sandbox = open_sandbox()

    async def verify(solution: Solution) -> Report:
        return await check(solution, scripts([*FAILING]), task(), sandbox)

    limits = SearchLimits(20.0, wall_s, 5_000)
    return await search_repair(
        suite_runner(task(), PROJECT, base(), [*FAILING], sandbox, limits), base(), limits,
        progress=seen.append, verify=verify,
    )


@pytest.mark.nightly
async def test_progress_reports_agree_with_the_result() -> None:
    seen: list[Searched] = []
    found = await searched(seen, 160.0)
    assert found.solution is not None and found.solution.entry == "src/till/money.py"
    assert found.suspects[0].file == "src/till/money.py"
    assert seen[-1].plausible >= 1
    assert seen[-1].best_passed == seen[-1].total
    assert seen[0].best_passed < seen[0].total


async def test_the_wall_clock_limit_covers_the_baseline() -> None:
    found = await searched([], 0.0)
    assert (found.solution, found.candidates, bool(found.problem)) == (None, 0, True)


SHARES = """def total(prices):
    return sum(prices)


def split(amount, people):
    share = amount // people
    return [share] * people
"""
TESTS = """from till.money import split


def test_even():
    assert split(9, 3) == [3, 3, 3]


def test_nobody():
    assert split(7, 0) == []


def test_rest():
    assert (split(10, 3), split(11, 4), split(7, 3)) == ([4, 3, 3], [3, 3, 3, 2], [3, 2, 2])
"""


@pytest.mark.nightly
async def test_a_partial_repair_is_returned_with_the_values_at_the_failure() -> None:
    money, tests = "src/till/money.py", "tests/test_money.py"
    seen: list[Searched] = []

    async def verify(solution: Solution) -> Report:
        raise AssertionError("nothing passes every test")

    limits, shares = SearchLimits(20.0, 160.0, 300), base().with_file(money, SHARES)
    opening = suite_runner(
        task(**{money: SHARES, tests: TESTS}), PROJECT, shares,
        [f"{tests}::test_nobody", f"{tests}::test_rest"], open_sandbox(), limits,
    )
    found = await search_repair(opening, shares, limits, progress=seen.append, verify=verify)
    assert found.solution is None and found.partial is not None
    assert (seen[-1].best_passed, seen[-1].total) == (2, 3)
    assert "people" in found.partial.note and found.partial.text != SHARES
    assert found.failure_values == {money: (6, (("amount", "7"), ("people", "0")))}


KEPT = """total, _places = sum, 2


def places():
    return _places


def rounded(value, digits):
    global _places
    before = _places
    _places = digits
    if value is None:
        raise ValueError("nothing to round")
    text = f"{value:.{_places}f}"
    _places = before
    return text
"""
BESIDE = """
import pytest
from till.money import places, rounded


def test_rounded():
    assert rounded(0.125, 1) == "0.1"


def test_nothing():
    with pytest.raises(ValueError):
        rounded(None, 3)


def test_places():
    assert places() == 2
"""


@pytest.mark.nightly
async def test_a_test_that_fails_only_after_another_is_screened_after_it() -> None:
    money, tests = "src/till/money.py", "tests/test_money.py"
    sandbox, files = open_sandbox(), task(**{money: KEPT, tests: BESIDE})

    async def verify(solution: Solution) -> Report:
        return await check(solution, scripts([f"{tests}::test_places"]), files, sandbox)

    limits, kept = SearchLimits(20.0, 160.0, 5_000), base().with_file(money, KEPT)
    seen: list[Searched] = []
    opening = suite_runner(files, PROJECT, kept, [f"{tests}::test_places"], sandbox, limits)
    found = await search_repair(opening, kept, limits, progress=seen.append, verify=verify)
    # The failing test does not run the function that changes the state.
    assert found.suspects[0].file == money
    assert found.candidates > 0 and seen[-1].total >= 2
    assert found.solution is not None


TEXT = "def f(a, b):\n    return a - b\n"


def driven(refused: str = "", files: Sequence[str] = ("a.py", "b.py")) -> tuple[_Search, list[str]]:
    """A search in files of the same text whose judge rejects the text `refused`, and its notes."""
    asked: list[str] = []
    base = Solution(files=tuple(File(path=path, text=TEXT) for path in files), entry=files[0])

    async def verify(solution: Solution) -> Report:
        asked.append(solution.note)
        texts = [one.text for one in solution.files]
        status: Status = "failed" if refused in texts else "passed"
        verdict = Verdict(name="t", test="t", origin="user", status=status)
        return Report(solution=solution.id, verdicts=(verdict,))

    runner = cast(Runner, SimpleNamespace(
        files=dict.fromkeys(files, TEXT), facts=Facts(), further_candidates=400,
        chunk_size=60, suspects=[Suspect(path, 1.0, {}) for path in files],
    ))
    limits = SearchLimits(10.0, 600.0, 100)
    return _Search(runner, base, limits, lambda event: None, verify, verify), asked


def candidate(value: str, cost: float) -> Candidate:
    return Candidate(TEXT.replace("a - b", value), cost, (), note=value)


def searching(file: str, suspicion: float, *plausible: Candidate) -> _FileSearch:
    steps = search(TEXT, Facts(), Budget())
    return _FileSearch(Suspect(file, suspicion, {}), steps, findings=Findings(plausible=plausible))


async def test_the_likeliest_candidate_is_judged_first_and_others_compete() -> None:
    likely, far = candidate("a + b", 2.0), candidate("b - a", 2.1)
    unlikely_file = candidate("a * b", 1.0)
    driver, asked = driven(refused=likely.text)
    first = searching("a.py", 1.0, likely, far)
    second = searching("b.py", 0.5, unlikely_file)
    driver.searches = [first, second]
    driver._add_offers(first)
    assert not driver._may_continue(first)
    assert driver._may_continue(second) and driver.found is None and not asked
    driver._add_offers(second)
    await driver._judge_offers()
    assert driver.found is not None and driver.found[0].with_entry("a.py").text == far.text
    assert asked == ["a + b (a.py)", "b - a (a.py)", "a * b (b.py)"]
    assert driver.found[1] is not None
    assert [one.note for one in driver.found[1].behaviours[1:]] == ["a * b (b.py)"]


async def test_a_candidate_cut_off_by_the_time_limit_gets_an_estimate() -> None:
    driver, _ = driven(refused="")
    driver._add_offers(searching("a.py", 1.0, candidate("a + b", 2.0)))
    await driver._judge_offers()
    assert driver.found is not None
    estimate = driver.found[0].estimate
    assert estimate is not None and "patches" in estimate.features


async def test_all_searches_continue_after_the_judge_rejects_the_offers() -> None:
    only = candidate("a + b", 2.0)
    driver, _ = driven(refused=only.text)
    first, second = searching("a.py", 1.0, only), searching("b.py", 0.1)
    driver.searches = [first, second]
    driver._add_offers(first)
    assert not driver._may_continue(first) and not driver._may_continue(second)
    await driver._judge_offers()
    assert driver.found is None
    assert driver._may_continue(first) and driver._may_continue(second)
    driver._add_offers(first)
    assert driver.offered == []


def test_passing_tests_in_the_files_of_failing_ones_come_first() -> None:
    nodes = ["a.py::test_a", "b.py::test_a", "a.py::test_b", "b.py::test_b", "c.py::test_a"]
    assert _other_tests(nodes, [3]) == [1, 0, 2, 4]


def test_the_judge_is_called_once_after_the_limit() -> None:
    driver, _ = driven()
    driver.limits.end = 0.0
    assert [driver._may_judge() for _ in range(3)] == [True, False, False]
    driver.limits.end = math.inf
    assert [driver._may_judge() for _ in range(2)] == [True, True]


def kept(rows: dict[int, TestRow]) -> SuiteRunner:
    """A runner whose suite is never run."""
    suite = CollectedSuite(cast(Batch, None), {})
    return SuiteRunner(suite, Task(), PROJECT, cast(Sandbox, None), rows, [*rows])


def test_fast_tests_are_chosen() -> None:
    rows = {
        number: TestRow(str(number), False, cpu_s)
        for number, cpu_s in enumerate([0.5, 0.04, 0.3, 0.05, 0.2])
    }
    suite = kept(rows)
    quickest = [1, 3, 4, 2, 0]
    assert suite._within_time(0.1, quickest) == [1, 3]
    assert suite._within_time(0.1, quickest, 3) == [1, 3, 4]

    rows = {number: TestRow(str(number), True, cpu_s) for number, cpu_s in enumerate([9.0, 0.1])}
    entered = Coverage({"a.py": {1: 1, 5: 1}})
    beside = kept(rows)._related_passing([entered], {0: entered, 1: Coverage({"a.py": {5: 1}})})
    assert beside == [1]


@pytest.mark.parametrize(("step_s", "left", "most", "is_cut"), [
    (6.0, 0, 100, False),  # the second file is done as the time ends
    (6.0, 1, 100, True),
    (11.0, 1, 100, True),
    (1.0, 1, 2, False),  # more time would not try more than are allowed
])
async def test_time_cut_a_search_only_where_candidates_are_left(
    step_s: float, left: int, most: int, is_cut: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver, _ = driven(files=[f"{name}.py" for name in "abc"[: 2 + left]])
    driver.limits.max_candidates = most

    async def exhausted(self: _Search, one: _FileSearch) -> None:
        one.done, one.spent_s = True, step_s
        self.limits.cpu_time.spent_s += step_s
        self.tried += 1

    monkeypatch.setattr(_Search, "_step", exhausted)
    found = await driver.run()
    assert (found.cut_after is not None) == is_cut


def test_an_unlikely_file_is_searched_once_the_likely_one_has_used_its_share() -> None:
    likely, unlikely = searching("a.py", 1.0), searching("b.py", 0.5)
    assert likely.turn_order < unlikely.turn_order
    likely.spent_s = 1.9
    assert likely.turn_order < unlikely.turn_order
    likely.spent_s = 2.1
    assert unlikely.turn_order < likely.turn_order


async def test_a_cancelled_search_cancels_the_candidates_that_run() -> None:
    """They would otherwise run to the end of their chunk, whatever ended the search."""
    begun, ended = asyncio.Event(), []

    async def precheck(file: str, request: PrecheckRequest, is_over: object) -> list[None]:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append(file)
            raise
        return []

    driver, _ = driven()
    driver.runner.precheck = precheck  # type: ignore[method-assign, assignment]
    one = SimpleNamespace(suspect=Suspect("a.py", 1.0, {}), has_pass=False)
    request = PrecheckRequest((TEXT,), "fit", Findings())
    waiting = asyncio.create_task(driver._reply(cast(_FileSearch, one), request))
    await begun.wait()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended == ["a.py"]


def test_a_search_leaves_time_for_judging_only_if_there_is_something_to_judge() -> None:
    one = _Search(
        cast(Runner, SimpleNamespace()), base(), SearchLimits(20.0, 10.0, 100, for_judging_s=20.0),
        lambda event: None, cast(Verify, None), cast(Verify, None),
    )
    assert not one.is_over()
    one.offered = [(0.0, cast(_FileSearch, None), Candidate("x", 0.0, ()))]
    assert one.is_over()
    one.limits.for_judging_s = 5.0
    assert not one.is_over()
