"""The search repairs broken programs in a real jail; the judge is a double."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from agent.core.domain import Report, Script, Solution, Task, Verdict
from agent.core.events import Searched
from agent.iteration.search import driver, file_runner
from agent.iteration.search.driver import SearchLimits, SearchResult, search_repair
from agent.iteration.search.file_runner import SearchCache
from agent.search.precheck.tracing import trace
from sandbox.sandbox import Sandbox, open_sandbox
from sandbox.types import Job
from tests.agent.values import program, table, verdict

HEALED = table(__file__, "healed.toml")


async def confirmed(solution: Solution) -> Report:
    return Report(solution=solution.id, verdicts=(verdict("passed"),))


async def search(
    text: str, *tests: str | Script, report: Report | None = None, sandbox: Any = None,
    limits: SearchLimits | None = None, known: SearchCache | None = None, **how: Any
) -> SearchResult:
    """Searches for a repair that passes the tests, with a judge that confirms every candidate."""
    base = program(text)
    cases = tuple(
        Script(name=f"t{n}", origin="user", code=test) if isinstance(test, str) else test
        for n, test in enumerate(tests)
    )
    limits = limits or SearchLimits(30.0, 240.0, 6000)
    opening = file_runner.file_runner(
        Task(solution=base, tests=cases), base, cases,
        report or Report(solution=base.id, verdicts=(verdict(),)), sandbox or open_sandbox(),
        limits, cache=known,
    )
    return await search_repair(
        opening, base, limits, **{"progress": lambda seen: None, "verify": confirmed, **how}
    )


async def heal(text: str, *tests: str | Script, **how: Any) -> SearchResult:
    """Like `search`; also asserts that the last progress report agrees with the result."""
    seen: list[Searched] = []
    result = await search(text, *tests, progress=seen.append, **how)
    assert seen[-1].candidates == result.candidates
    return result


PLUS = "def plus(a, b):\n    return a - b\n"
REPAIRED = PLUS.replace("a - b", "a + b")


@pytest.mark.parametrize("case", HEALED.values(), ids=HEALED)
async def test_a_broken_program_is_healed(case: dict[str, Any]) -> None:
    result = await heal(case["broken"], *case["tests"])

    assert result.solution is not None
    assert result.solution.text == case["healed"]
    assert result.solution.origin == "search"
    assert result.solution.parent == program(case["broken"]).id
    assert result.solution.note


TOUCHING = """def spans(pairs):
    if not pairs:
        return []
    ordered = sorted(pairs, key=lambda one: one[{key}])
    found = [list(ordered[0])]
    for first, last in ordered[1:]:
        before = found[-1]
        if first {less} before[1]:
            before[1] = max(before[1], last)
        else:
            found.append([first, last])
    return found
"""
SPANS = """import pytest
from solution import spans

@pytest.mark.parametrize("given, wanted", [
    ([], []), ([[1, 3]], [[1, 3]]), ([[1, 3], [2, 6], [8, 10]], [[1, 6], [8, 10]]),
    ([[1, 4], [4, 5]], [[1, 5]]), ([[5, 6], [1, 10]], [[1, 10]]),
])
def test_spans(given, wanted):
    assert spans(given) == wanted
"""


@pytest.mark.nightly
async def test_two_mistakes_are_repaired_one_after_the_other_by_the_cases_of_one_test() -> None:
    broken = TOUCHING.format(key=1, less="<")
    report = Report(solution=program(broken).id, verdicts=tuple(
        Verdict(name=f"test_spans[given{n}-wanted{n}]", test="t", origin="user", status=status)
        for n, status in enumerate(("passed", "passed", "passed", "failed", "failed"))
    ))
    tests = Script(name="t", origin="user", code=SPANS, node="test_spans", file="test_spans.py")

    result = await heal(broken, tests, report=report, limits=SearchLimits(30.0, 240.0, 1_500))

    assert result.solution is not None
    assert result.solution.text == TOUCHING.format(key=0, less="<=")


async def test_a_program_is_healed_by_a_test_on_its_output() -> None:
    result = await heal(
        "total = 0\nfor n in [1, 2, 3]:\n    total = n\nprint(total)\n",
        Script(name="t", origin="user", code="assert output.strip() == '6'", uses_output=True),
    )

    assert result.solution is not None
    assert "total += n" in result.solution.text


async def test_a_crash_without_tests_is_stopped_at_its_cause() -> None:
    result = await heal("xs = ['a', 'b']\nfor i in range(len(xs) + 1):\n    print(xs[i])\n")

    assert result.solution is not None
    assert "range(len(xs)):" in result.solution.text


async def test_a_crash_is_not_stopped_by_printing_nothing() -> None:
    result = await heal(
        "SOLD = ['3', '']\n\n\ndef main():\n    total = 0\n    for one in SOLD:\n"
        "        total += int(one)\n    print('total: ' + total)\n\n\nmain()\n"
    )

    assert result.solution is None or "return" not in result.solution.text


async def test_a_deliberate_raise_is_not_silenced() -> None:
    result = await heal("def f(x):\n    if x < 0:\n        raise ValueError(x)\n\nf(-1)\n")

    assert (result.solution, result.candidates) == (None, 0)


async def test_a_candidate_that_the_judge_rejects_is_not_the_result() -> None:
    judged: list[str] = []

    async def second(solution: Solution) -> Report:
        judged.append(solution.text)
        said = verdict("passed" if len(judged) > 1 else "failed")
        return Report(solution=solution.id, verdicts=(said,))

    result = await heal(PLUS, "assert plus(2, 2) == 4", verify=second)

    assert result.solution is not None
    assert result.solution.text == judged[1] != judged[0]


async def test_a_second_search_with_more_tests_runs_no_candidate_that_failed_before() -> None:
    first = ["assert plus(2, 2) == 4"]
    more = [*first, "assert plus(2, 3) == 5"]
    sandbox = Counting(open_sandbox())
    known = SearchCache()

    async def counted(tests: list[str], known: SearchCache) -> tuple[Solution | None, int]:
        before = sandbox.texts
        found = await search(PLUS, *tests, sandbox=sandbox, known=known)
        return found.solution, sandbox.texts - before

    _, of_the_first = await counted(first, known)
    again, of_the_second = await counted(more, known)
    afresh, of_a_fresh_one = await counted(more, SearchCache())

    assert again is not None and afresh is not None
    assert again.text == afresh.text == REPAIRED
    assert of_the_second < min(of_the_first, of_a_fresh_one)


async def test_a_search_cut_by_its_budget_judges_its_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Searched] = []
    limits = SearchLimits(60.0, 480.0, 6000)
    monkeypatch.setattr(driver, "PROGRESS_S", 0.0)

    def tell(seen: Searched) -> None:
        shown.append(seen)
        limits.cpu_time.spent_s = 100.0 if seen.plausible else 0.0

    found = await search(PLUS, "assert plus(2, 3) == 5", limits=limits, progress=tell)

    assert found.cut_after is not None and found.cut_after > 60
    assert shown[-1].cut_after == found.cut_after
    assert found.solution is not None
    assert found.solution.text == REPAIRED
    estimate = found.solution.estimate
    assert estimate is not None and "tried before" in estimate.features


async def test_a_silent_sandbox_does_not_delay_a_search_beyond_its_limit() -> None:
    began = time.monotonic()

    found = await search(
        PLUS, "assert plus(2, 3) == 5", sandbox=Counting(open_sandbox(), silent=True),
        limits=SearchLimits(30.0, 0.4, 6000),
    )

    assert (found.solution, found.candidates) == (None, 0)
    assert found.cut_after is not None and found.cut_after < 30
    assert time.monotonic() - began < SILENT_S / 2


async def test_a_timeout_of_the_judge_is_not_taken_for_the_limit_of_the_search() -> None:
    async def verify(solution: Solution) -> Report:
        raise TimeoutError("a fault of the judge")

    with pytest.raises(TimeoutError, match="a fault of the judge"):
        await search(PLUS, "assert plus(2, 3) == 5", verify=verify)


async def test_a_slow_machine_keeps_its_processor_time(monkeypatch: pytest.MonkeyPatch) -> None:
    began = time.monotonic()
    # A machine on which an hour passes in a second: a wall clock would have cut the search.
    slow = SimpleNamespace(
        monotonic=lambda: began + 3600 * (time.monotonic() - began), thread_time=time.thread_time
    )
    monkeypatch.setattr(driver, "time", slow)

    found = await search(PLUS, "assert plus(2, 3) == 5", limits=SearchLimits(30.0, 1e6, 6000))

    assert found.solution is not None and found.cut_after is None


async def test_processor_seconds_of_jailed_processes_count() -> None:
    found = await search(
        PLUS, "assert plus(2, 3) == 'never'", sandbox=Counting(open_sandbox(), claims_s=3.0),
        limits=SearchLimits(0.1, 240.0, 6000),
    )

    assert found.solution is None
    assert found.cut_after is not None and 0.1 <= found.cut_after < 3


SILENT_S = 60.0


class Counting:
    """A sandbox whose batches count candidates, never answer (`silent`), or report `claims_s`."""

    def __init__(self, inner: Sandbox, silent: bool = False, claims_s: float = 0.0) -> None:
        self.inner = inner
        self.silent = silent
        self.claims_s = claims_s
        self.texts = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    @asynccontextmanager
    async def batch(self, job: Job) -> AsyncIterator[Any]:
        async with self.inner.batch(job) as batch:
            yield SimpleNamespace(replies=partial(self._replies, batch))

    async def _replies(
        self, batch: Any, items: Sequence[Any], wall_s: float
    ) -> AsyncIterator[tuple[int, Any]]:
        if self.silent:
            await asyncio.sleep(SILENT_S)
        for item in items:
            if isinstance(item, dict) and item["kind"] == "candidates":
                self.texts += len(item["changes"])
        async for number, reply in batch.replies(items, wall_s):
            if self.claims_s and isinstance(reply, list):
                reply[0] = self.claims_s
            yield number, reply


async def test_a_search_reuses_the_trace_of_the_diagnosis(monkeypatch: pytest.MonkeyPatch) -> None:
    base, test = program(PLUS), Script(name="t", origin="user", code="assert plus(2, 2) == 4")
    known = SearchCache()
    known.save_trace(base, [test], await trace(base, [test], Task(solution=base), open_sandbox()))

    async def never(*watched: object, **how: object) -> None:
        raise AssertionError("the program was traced again")

    monkeypatch.setattr(file_runner, "trace", never)
    found = await search(PLUS, test, known=known)
    assert found.solution is not None and found.solution.text == REPAIRED
    assert known.trace_of(base, [test, test]) is None
    assert known.trace_of(program(PLUS + "\n"), [test]) is None


def named(name: str, passed: bool) -> Verdict:
    return verdict("passed" if passed else "failed", name)


async def test_a_test_that_cannot_pass_in_the_precheck_is_left_to_the_judge() -> None:
    source = "def double(n):\n    return n + n + 1\n"
    starts = (
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', 'pass'], check=True)\nassert double"
    )

    result = await search(source, "assert double(4) == 8", starts, report=Report(
        solution=program(source).id, verdicts=(named("t0", False), named("t1", True)),
    ))

    assert result.solution is not None
    assert "return n + n\n" in result.solution.text


async def test_the_report_of_a_refuted_repair_excludes_no_test_from_the_precheck() -> None:
    judged: list[str] = []

    async def verify(solution: Solution) -> Report:
        judged.append(solution.text)
        return await confirmed(solution)

    await search(
        "def double(n):\n    return n + 1\n", "assert double(0) == 0", "assert double(4) == 8",
        report=Report(solution="refuted", verdicts=(named("t1", True), named("t0", False))),
        verify=verify,
    )

    assert "return n + n\n" in judged[0] or "return n * 2\n" in judged[0]
