"""Plans and runs a task of several steps on a private copy of a folder, and records events."""

from __future__ import annotations

import asyncio
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent.core.domain import Task
from agent.core.events import Event, LogEntry
from agent.interfaces.library import aheal_project
from agent.planning.plan import Plan
from agent.planning.planner import Planner
from agent.planning.running import ApproveStep, Mode, check_mode, run_plan
from agent.report.result import fold
from agent.target.repository.tree import is_test_code
from agent.tools.errors import ToolError
from agent.tools.standard import open_tools
from agent.tools.workspace import Workspace, is_inside
from llm import LlmError
from sandbox import Json

if TYPE_CHECKING:
    from agent.interfaces.library import SelfHealingAgent


@dataclass(frozen=True)
class PlanResult:
    """The result of a task of several steps. Only the workspace was changed."""

    plan: Plan
    workspace: Workspace
    log: tuple[LogEntry, ...]

    @property
    def success(self) -> bool:
        return self.plan.success

    @property
    def diff(self) -> str:
        return self.workspace.diff

    @property
    def changed_tests(self) -> tuple[str, ...]:
        """Test files, or files that configure tests, that were written, changed or removed."""
        return tuple(
            path for path, texts in self.workspace.changed.items()
            if any(is_test_code(path, text) for text in texts)
        )

    @property
    def summary(self) -> str:
        """One line for each step, and a warning if tests were changed."""
        if not self.changed_tests:
            return self.plan.summary()
        return (f"{self.plan.summary()}\nTests were changed, so passing tests may not prove that "
                f"the program is right: {', '.join(self.changed_tests)}")

    @property
    def cost_usd(self) -> float | None:
        """Cost of planning in dollars, without repairs; `None` if unknown."""
        return fold(self.log).cost_usd


async def aexecute(
    agent: SelfHealingAgent, task: str, workspace: Workspace | str | Path, *, mode: Mode,
    approve: ApproveStep | None, max_steps: int, replan_on_failure: bool,
) -> PlanResult:
    """Plans a task and runs it; `SelfHealingAgent.execute` describes the arguments.

    Raises:
        ValueError: An argument is invalid.
        LlmError: No model gave a usable answer; its attribute `spent` is the cost so far.
    """
    if not task.strip():
        raise ValueError("the task is empty; describe in words what to do")
    check_mode(mode, approve)
    if not isinstance(workspace, Workspace):
        workspace = await asyncio.to_thread(Workspace.copy_of, workspace)
    log: list[LogEntry] = []
    run = uuid.uuid4().hex

    def emit(event: Event) -> LogEntry:
        log.append(LogEntry(
            run=run, seq=len(log) + 1, task="plan", attempt=1, ordinal=len(log) + 1,
            at=time.time(), event=event,
        ))
        return log[-1]

    settings = await asyncio.to_thread(agent.settings)
    async with agent.opener()(settings) as session:
        tools = open_tools(workspace, session.sandbox)
        tools.register(_healing(agent, workspace))
        plan = Plan(tools, max_steps, emit)
        ctx = session.role_context(Task(text=task), emit, budget_s=agent.budget_s)
        try:
            planner = Planner(task, workspace, ctx)
            await planner.add_task_steps(plan)
            await run_plan(
                plan, workspace, mode, approve, replan_on_failure=replan_on_failure,
                replan=planner.replan,
            )
        except LlmError as error:
            error.spent = ctx.router.ledger.spent()
            raise
        finally:
            await ctx.router.close()
    return PlanResult(plan, workspace, tuple(log))


def _healing(agent: SelfHealingAgent, workspace: Workspace):  # type: ignore[no-untyped-def]
    async def heal_tests(tests: str = "") -> dict[str, Json]:
        """Repair the program so that its failing tests pass; the whole suite judges the repair.

        tests: a test file or a pytest test id; empty for all
        """
        if tests and not is_inside(tests.partition("::")[0]):
            raise ToolError(f"{tests} is not a path in this folder")
        with tempfile.TemporaryDirectory(prefix="heal-plan-") as name:
            folder = await asyncio.to_thread(_write_workspace, name, workspace)
            result = await aheal_project(str(folder / tests), agent=agent)
            top = Path(result.root)
        if not result.success and result.outcome != "proposed":
            raise ToolError(f"{result.outcome}: {result.reason}")
        known = workspace.files
        for file, text in result.files:
            path = (top / file).relative_to(folder).as_posix()
            if path in known and known[path] != text:
                workspace.write(path, text)
        return {
            "outcome": result.outcome, "confidence": result.confidence, "proof": result.proof,
            "integrity": result.integrity, "cost_usd": result.cost_usd, "diff": result.diff,
        }

    return heal_tests


def _write_workspace(name: str, workspace: Workspace) -> Path:
    folder = Path(name).resolve()
    for path, text in workspace.files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode("utf-8", "surrogateescape"))
    return folder
