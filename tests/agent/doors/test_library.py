"""The library: the same runs from a script, a coroutine, and a notebook's running loop."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent import SelfHealingAgent
from agent.core.domain import File, Report, Solution, Task, Verdict
from agent.core.events import (
    CodeWritten,
    Critiqued,
    Event,
    Judged,
    LessonLearned,
    RunFailed,
    RunFinished,
    RunStarted,
    Stamped,
)
from agent.doors.library import RunFault
from agent.intake import BadInput, from_page
from llm import NoProvider, Plan

BROKEN = "def add(a, b):\n    return a - b\n"
MENDED = "def add(a, b):\n    return a + b\n"
TEST = "assert add(2, 3) == 5"


class Replayed:
    """A session whose every run emits the same events."""

    def __init__(self, *events: Event) -> None:
        self.events = events
        self.tasks: list[Task] = []
        self.cancelled: list[str] = []
        self.settings: Any = None
        self.hangs = False

    @asynccontextmanager
    async def open(self, settings: Any) -> AsyncIterator[Replayed]:
        self.settings = settings
        yield self

    def plan(self, *, model: str | None) -> Plan:
        return Plan("mock", "no model")

    async def start(self, task: Task, *, title: str, ask: bool, plan: Plan) -> str:
        self.tasks.append(task)
        return "r1"

    async def follow(self, run: str, after: int = 0) -> AsyncIterator[tuple[Stamped, ...]]:
        yield self.log(run)
        if self.hangs:
            await asyncio.Event().wait()

    async def cancel(self, run: str) -> None:
        self.cancelled.append(run)

    def log(self, run: str) -> tuple[Stamped, ...]:
        return tuple(
            Stamped(run=run, seq=seq, task="session", attempt=0, ordinal=seq, at=seq, event=event)
            for seq, event in enumerate(self.events, start=1)
        )


def healed(outcome: str = "healed", proof: str | None = "E1") -> list[Event]:
    solution = Solution(files=(File(path="solution.py", text=MENDED),), entry="solution.py")
    verdict = Verdict(name="t", test="t", origin="user", status="passed", integrity="outside")
    return [
        RunStarted(title="", code=BROKEN, entry="solution.py", provider="mock", provider_why="",
                   sandbox=""),
        CodeWritten(iteration=1, solution=solution),
        Judged(iteration=1, report=Report(solution=solution.id, verdicts=(verdict,))),
        Critiqued(verdict="approve", note="reads well"),
        LessonLearned(text="mind the sign"),
        RunFinished(outcome=outcome, proof=proof, strategy="search", reason="why", diff="the diff",
                    code=MENDED, stdout="printed", iterations=1, candidates=3, tokens=0,
                    cost_usd=0.0, seconds=1.0),
    ]


def agent(session: Replayed, **fields: Any) -> SelfHealingAgent:
    return SelfHealingAgent(open_session=session.open, **fields)


def test_a_result_answers_by_attribute_and_by_subscript() -> None:
    session = Replayed(*healed())

    result = agent(session, max_iterations=4).run(code=BROKEN, tests=TEST)

    assert (result.success, result.outcome, result.proof) == (True, "healed", "E1")
    assert (result.integrity, result.integrity_reason) == ("outside", "")
    assert (result["integrity"], result["integrity_reason"]) == ("outside", "")
    assert repr(result) == "<HealResult healed, proof E1 · outside, run r1>"
    assert (result.code, result.diff, result.stdout) == (MENDED, "the diff", "printed")
    assert (result.lessons, result.run_id, result.reason) == (("mind the sign",), "r1", "why")
    assert result.report is not None
    assert result.report.passed
    assert {key: result[key] for key in (
        "code", "specification", "execution_output", "execution_error", "critic_feedback",
        "iteration", "max_iterations", "is_complete", "diff",
    )} == {
        "code": MENDED, "specification": "", "execution_output": "printed", "execution_error": "",
        "critic_feedback": "reads well", "iteration": 1, "max_iterations": 4,
        "is_complete": True, "diff": "the diff",
    }
    assert dict(result)["outcome"] == "healed"


def test_an_unknown_key_names_the_known_ones() -> None:
    result = agent(Replayed(*healed())).run(code=BROKEN, tests=TEST)

    with pytest.raises(KeyError, match="critic_feedback"):
        result["nonsense"]


@pytest.mark.parametrize(
    ("outcome", "proof", "success"),
    [("healthy", None, True), ("healed", "E2", True), ("crash_stopped", "E0", False),
     ("unresolved", None, False), ("budget", None, False), ("cancelled", None, False)],
)
def test_success_needs_a_proof(outcome: str, proof: str | None, success: bool) -> None:
    result = agent(Replayed(*healed(outcome, proof))).run(code=BROKEN, tests=TEST)

    assert (result.success, result["is_complete"]) == (success, success)


def test_a_single_string_is_a_task_in_words() -> None:
    session = Replayed(*healed())

    result = agent(session).run("add(2, 3) returns 5")

    assert session.tasks[0].solution is None
    assert result["specification"] == session.tasks[0].text == "add(2, 3) returns 5"
    assert agent(session).run(task="add(2, 3) returns 5")["specification"] == "add(2, 3) returns 5"


def test_tests_may_be_one_text_or_several() -> None:
    session = Replayed(*healed())

    agent(session).run(code=BROKEN, tests=TEST)
    agent(session).run(code=BROKEN, tests=[TEST, "assert add(0, 0) == 0"])

    assert [len(task.tests) for task in session.tasks] == [1, 2]
    assert session.tasks[0].solution is not None
    assert session.tasks[0].solution.text == BROKEN


def test_tests_are_left_out_by_their_ids_and_doctests_count_where_asked() -> None:
    session = Replayed(*healed())
    tests = "def test_a(): assert f(1) == 1\n\ndef test_b(): assert f(1) == 2\n"

    agent(session).run(
        code="def f(x): return x\n", tests=tests, deselect=["test_b"], doctests=True
    )

    (task,) = session.tasks
    assert [test.name for test in task.tests if test.node == "test_b"] == []
    assert all("test_b" in test.without for test in task.tests)
    assert task.doctests
    with pytest.raises(BadInput, match="deselect test_c: no test has that id"):
        agent(session).run(
            code="def f(x): return x\n", tests="assert f(1) == 1", deselect=["test_c"]
        )


def test_run_works_inside_a_running_loop() -> None:
    async def cell() -> str | None:
        return agent(Replayed(*healed())).run(code=BROKEN, tests=TEST).outcome

    assert asyncio.run(cell()) == "healed"


def test_the_real_engine_heals_inside_a_running_loop(tmp_path: Path) -> None:
    async def cell() -> Any:
        return SelfHealingAgent("mock", data_dir=tmp_path).run(code=BROKEN, tests=TEST)

    result = asyncio.run(cell())

    assert (result.success, result.outcome, result.proof) == (True, "healed", "E1")
    assert result.code == MENDED
    assert "+    return a + b" in result.diff
    assert result["specification"] == ""


async def test_arun_is_run_for_coroutines() -> None:
    assert (await agent(Replayed(*healed())).arun(code=BROKEN, tests=TEST)).success


async def test_a_cancelled_caller_cancels_the_run() -> None:
    session = Replayed(*healed()[:3])
    session.hangs = True
    waiting = asyncio.create_task(agent(session).arun(code=BROKEN, tests=TEST))
    while not session.tasks:
        await asyncio.sleep(0)
    await asyncio.sleep(0)

    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    assert session.cancelled == ["r1"]


async def test_what_is_brought_is_read_outside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a long program takes a while, in which the caller's loop must go on."""
    readers: list[threading.Thread] = []

    def noted(*given: Any) -> Any:
        readers.append(threading.current_thread())
        return from_page(*given)

    monkeypatch.setattr("agent.doors.library.from_page", noted)
    monkeypatch.setattr("agent.doors.library.read_dotenv", lambda: noted("x = 1", "", ""))
    await agent(Replayed(*healed())).arun(code=BROKEN, tests=TEST)
    assert len(readers) == 2
    assert threading.current_thread() not in readers


def test_tests_that_test_nothing_are_a_result_not_a_run() -> None:
    session = Replayed(*healed())

    result = agent(session).run(code=BROKEN, tests="assert True")

    assert (result.outcome, result.success, session.tasks) == ("not_fixable", False, [])
    assert result.reason
    assert result.code == BROKEN


def test_input_that_cannot_be_used_raises() -> None:
    session = Replayed(*healed())

    with pytest.raises(BadInput):
        agent(session).run(code="", tests=TEST)
    with pytest.raises(TypeError, match="give code="):
        agent(session).run()
    with pytest.raises(TypeError, match="twice"):
        agent(session).run("words", task="words")


def test_a_fault_of_ours_raises() -> None:
    with pytest.raises(RunFault, match="KeyError"):
        agent(Replayed(healed()[0], RunFailed(error="KeyError: 'x'"))).run(code=BROKEN, tests=TEST)


def test_a_model_that_cannot_be_asked_is_refused_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEAL_DATA_DIR", str(tmp_path))
    session = Replayed(*healed())

    with pytest.raises(NoProvider, match="some-model"):
        agent(session, model_name="some-model").run(code=BROKEN, tests=TEST)
    with pytest.raises(NoProvider, match="nonesuch"):
        SelfHealingAgent(model_provider="nonesuch").run(code=BROKEN, tests=TEST)
    assert session.tasks == []


def test_constructor_values_win_over_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEAL_BUDGET_S", "1")
    session = Replayed(*healed())

    agent(session, max_iterations=2, data_dir=tmp_path, budget_s=9).run(code=BROKEN, tests=TEST)

    assert session.settings.max_iterations == 2
    assert session.settings.data_dir == tmp_path
    assert session.settings.budget_s == 9


def test_a_dotenv_file_is_read_and_the_real_environment_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEAL_TEST_S", "7")
    # Set and deleted, so that what the file adds is taken away again after the test.
    monkeypatch.setenv("HEAL_SEARCH_S", "1")
    monkeypatch.delenv("HEAL_SEARCH_S")
    (tmp_path / ".env").write_text("HEAL_TEST_S=1\nHEAL_SEARCH_S=3\n")
    session = Replayed(*healed())

    agent(session).run(code=BROKEN, tests=TEST)

    assert (session.settings.test_wall_s, session.settings.search_s) == (7, 3)


def test_importing_every_door_is_cheap() -> None:
    heavy = (
        "gradio", "anthropic", "torch", "transformers", "langgraph", "langchain_core", "langsmith",
        "httpx", "ray",
    )
    program = (
        "import sys, agent.doors.cli, agent.doors.library, agent.doors.commands\n"
        "import agent.run.session\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )

    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True,
        cwd=Path(__file__).parents[3],
    )

    assert found.stdout.strip() == "[]"


def test_the_package_names_what_it_exports() -> None:
    import agent as package

    assert package.SelfHealingAgent is SelfHealingAgent
    with pytest.raises(AttributeError, match="Nonsense"):
        package.Nonsense  # noqa: B018


@pytest.mark.parametrize("terms", [990, 3000])
def test_code_that_is_nested_too_deeply_ends_in_a_refusal(terms: int) -> None:
    code = f"def f(x):\n    return x{' + 0' * terms} - 1\n"

    found = SelfHealingAgent("mock").run(code=code, tests=["assert f(3) == 3"])

    assert (found.outcome, found.code) == ("not_fixable", code)
    assert "nested too deeply to be read" in found.reason
