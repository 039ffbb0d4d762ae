"""The library: the same runs from a script, a coroutine, and a notebook's running loop."""

from __future__ import annotations

import asyncio
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from agent import SelfHealingAgent
from agent.core.domain import Ending, File, Report, Solution
from agent.core.events import CodeWritten, Critiqued, LessonLearned, RunFailed
from agent.interfaces.library import HealResult, RunFault
from agent.target.errors import BadInput
from agent.target.task import from_page
from llm import NoProvider
from tests.agent.interfaces.conftest import (
    BROKEN,
    REPAIRED,
    ReplayedSession,
    finished,
    judged,
    started,
)

TEST = "assert add(2, 3) == 5"


def healed(outcome: str = "healed", proof: str | None = "E1") -> ReplayedSession:
    solution = Solution(files=(File(path="sum.py", text=REPAIRED),), entry="sum.py")
    return ReplayedSession([
        started(), CodeWritten(iteration=1, solution=solution),
        judged(REPAIRED, "passed", iteration=1), Critiqued(verdict="approve", note="reads well"),
        LessonLearned(text="mind the sign"),
        finished(outcome, proof=proof, diff="the diff", stdout="printed", reason="why"),
    ])


def agent(session: ReplayedSession, **fields: Any) -> SelfHealingAgent:
    return SelfHealingAgent(open_session=session.open, **fields)


def test_a_result_answers_by_attribute_and_by_subscript() -> None:
    session = healed()

    result = agent(session, max_iterations=4).run(code=BROKEN, tests=TEST)

    assert (result.success, result.outcome, result.proof) == (True, "healed", "E1")
    assert (result.integrity, result.integrity_reason) == ("isolated", "")
    assert (result["integrity"], result["integrity_reason"]) == ("isolated", "")
    assert (result.code, result.diff, result.stdout) == (REPAIRED, "the diff", "printed")
    assert (result.lessons, result.run_id, result.reason) == (("mind the sign",), "r1", "why")
    assert result.report is not None
    assert result.report.passed
    assert {key: result[key] for key in (
        "code", "specification", "execution_output", "execution_error", "critic_feedback",
        "iteration", "max_iterations", "is_complete", "diff",
    )} == {
        "code": REPAIRED, "specification": "", "execution_output": "printed", "execution_error": "",
        "critic_feedback": "reads well", "iteration": 1, "max_iterations": 4,
        "is_complete": True, "diff": "the diff",
    }
    assert dict(result)["outcome"] == "healed"
    with pytest.raises(KeyError):
        result["nonsense"]
    assert (result["cyclomatic_complexity"], result["line_count"], result["has_docstrings"]) == (
        1, 2, False
    )


@pytest.mark.parametrize(
    ("outcome", "proof", "success"),
    [("healthy", None, True), ("healed", "E2", True), ("crash_stopped", "E0", False),
     ("unresolved", None, False), ("budget", None, False), ("cancelled", None, False)],
)
def test_success_needs_a_proof(outcome: str, proof: str | None, success: bool) -> None:
    result = agent(healed(outcome, proof)).run(code=BROKEN, tests=TEST)

    assert (result.success, result["is_complete"]) == (success, success)


def test_a_task_is_a_string_of_words_or_code_with_one_test_or_several() -> None:
    session = healed()
    words = "add(2, 3) returns 5"
    assert agent(session).run(words)["specification"] == words
    assert agent(session).run(task=words)["specification"] == words
    agent(session).run(code=BROKEN, tests=TEST)
    agent(session).run(code=BROKEN, tests=[TEST, "assert add(0, 0) == 0"])
    first, _, third, fourth = (task for task, _ in session.started)
    assert (first.text, first.solution) == (words, None)
    assert (len(third.tests), len(fourth.tests)) == (1, 2)
    assert third.solution is not None and third.solution.text == BROKEN


def test_tests_are_left_out_by_their_ids_and_doctests_count_where_asked() -> None:
    session = healed()
    tests = "def test_a(): assert f(1) == 1\n\ndef test_b(): assert f(1) == 2\n"

    agent(session).run(code="def f(x): return x\n", tests=tests, deselect=["test_b"], doctests=True)

    ((task, _),) = session.started
    assert [test.name for test in task.tests if test.node == "test_b"] == []
    assert all("test_b" in test.excluded_nodes for test in task.tests)
    assert task.doctests
    with pytest.raises(BadInput, match="test_c"):
        agent(session).run(
            code="def f(x): return x\n", tests="assert f(1) == 1", deselect=["test_c"]
        )


def test_the_real_engine_heals_inside_a_running_loop(tmp_path: Path) -> None:
    async def cell() -> Any:
        return SelfHealingAgent("mock", data_dir=tmp_path).run(code=BROKEN, tests=TEST)

    result = asyncio.run(cell())

    assert (result.success, result.outcome, result.proof) == (True, "healed", "E1")
    assert result.code == REPAIRED
    assert "+    return a + b" in result.diff
    assert result["specification"] == ""


async def test_a_cancelled_caller_cancels_the_run() -> None:
    session = healed()
    session.events, session.hangs = session.events[:3], True
    waiting = asyncio.create_task(agent(session).arun(code=BROKEN, tests=TEST))
    while not session.started:
        await asyncio.sleep(0)
    await asyncio.sleep(0)

    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    assert session.cancelled == ["r1"]


async def test_input_is_read_outside_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading a long program takes a while, in which the caller's loop must go on."""
    readers: list[threading.Thread] = []

    def noted(*given: Any) -> Any:
        readers.append(threading.current_thread())
        return from_page(*given)

    monkeypatch.setattr("agent.interfaces.library.from_page", noted)
    monkeypatch.setattr("agent.interfaces.library.warn_of_dotenv", lambda: noted("x = 1", "", ""))
    await agent(healed()).arun(code=BROKEN, tests=TEST)
    assert len(readers) == 2
    assert threading.current_thread() not in readers


def test_what_the_jail_refused_stands_in_the_programs_error() -> None:
    ending = Ending(kind="raised", traceback="Trace\n", refused=("no network",))
    result = HealResult(report=Report(solution="s", ending=ending))
    assert result["execution_error"] == "Trace\nno network"


def test_errors_raise_and_empty_tests_are_a_result() -> None:
    session = healed()

    result = agent(session).run(code=BROKEN, tests="assert True")

    assert (result.outcome, result.success, session.started) == ("not_fixable", False, [])
    assert result.reason
    assert result.code == BROKEN

    session = healed()

    with pytest.raises(BadInput):
        agent(session).run(code="", tests=TEST)
    with pytest.raises(TypeError):
        agent(session).run()
    with pytest.raises(TypeError):
        agent(session).run("words", task="words")

    with pytest.raises(RunFault, match="KeyError"):
        agent(ReplayedSession([started(), RunFailed(error="KeyError: 'x'")])).run(
            code=BROKEN, tests=TEST
        )


def test_no_model_replaces_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEAL_DATA_DIR", str(tmp_path))
    session = healed()

    with pytest.raises(NoProvider, match="some-model"):
        agent(session, model_name="some-model").run(code=BROKEN, tests=TEST)
    with pytest.raises(NoProvider, match="nonesuch"):
        SelfHealingAgent(model_provider="nonesuch").run(code=BROKEN, tests=TEST)
    assert session.started == []


def test_a_model_is_found_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC", "OPENAI", "QWEN"):
        monkeypatch.setenv(f"{name}_API_KEY", "a-key-that-nobody-is-sent")
    agent = SelfHealingAgent("qwen", model_name="m", max_iterations=2, data_dir=tmp_path)

    result = agent.run(code=BROKEN, tests=TEST)

    assert (result.success, result.max_iterations, result.calls) == (True, 2, 0)
    assert result.start is not None
    assert {(one.provider, one.model) for one in result.start.roles} == {("qwen", "m")}


def test_the_environment_wins_over_dotenv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HEAL_TEST_S", "7")
    # Set and deleted, so that what the file adds is taken away again after the test.
    monkeypatch.setenv("HEAL_SEARCH_S", "1")
    monkeypatch.delenv("HEAL_SEARCH_S")
    (tmp_path / ".env").write_text("HEAL_TEST_S=1\nHEAL_SEARCH_S=3\n")
    session = healed()

    agent(session).run(code=BROKEN, tests=TEST)

    assert session.settings is not None
    assert (session.settings.test_wall_s, session.settings.search_s) == (7, 3)


def test_the_reference_names_attributes_that_there_are() -> None:
    reference = (Path(__file__).parents[3] / "docs/reference/python.md").read_text("utf-8")
    rows = re.findall(r"^\| (`.*?`) \| ", reference, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert len(named) > 15
    assert not [name for name in named if not hasattr(HealResult(), name)]
