"""Runs plans: step by step, in parallel for steps that only read, or each step after the user's
approval. Changes of a failed step are reverted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from glob import escape
from typing import Literal, get_args

from agent.planning.plan import BadPlan, Plan, PlanStep
from agent.tools.registry import ToolResult
from agent.tools.workspace import Workspace

Mode = Literal["sequential", "parallel", "interactive"]
ApproveStep = Callable[[PlanStep], bool]
Replan = Callable[[Plan], Awaitable[bool]]
"""Replaces the remaining steps; returns whether it did."""
READ_ONLY = frozenset({"file_list", "file_read", "search", "run_tests"})
"""Tools without side effects; only these run in parallel."""
MISSING = "there is no file "


async def run_plan(
    plan: Plan, workspace: Workspace, mode: Mode = "sequential", approve: ApproveStep | None = None,
    *, replan_on_failure: bool = True, replan: Replan | None = None,
) -> None:
    """Runs all steps that can run, and records their results in the plan.

    Args:
        approve: Called in a thread before each step, only in the mode `interactive`.
        replan: Called after a failure, unless a missing file can be searched for by its name.
    """
    check_mode(mode, approve)
    while ready := plan.ready():
        batch = [step for step in ready if step.tool in READ_ONLY] if mode == "parallel" else []
        batch = batch or [ready[0]]
        if approve is not None and not await asyncio.to_thread(approve, batch[0]):
            plan.mark(batch[0].number, "refused", "the user did not approve it")
            continue
        failed = [one for one in await asyncio.gather(
            *(_run_step(plan, workspace, step) for step in batch)
        ) if one is not None]
        for step in failed if replan_on_failure else ():
            if not _search_for_file(plan, step) and replan is not None and await replan(plan):
                break


def check_mode(mode: Mode, approve: ApproveStep | None) -> None:
    """Raises `ValueError` for an unknown mode or one that does not match `approve`."""
    if mode not in get_args(Mode):
        raise ValueError(f"there is no mode {mode!r}; there are {', '.join(get_args(Mode))}")
    if (mode == "interactive") != (approve is not None):
        raise ValueError("mode='interactive' and approve= must be used together")


async def _run_step(plan: Plan, workspace: Workspace, step: PlanStep) -> PlanStep | None:
    """Runs a step; returns it if it failed."""
    before = workspace.files
    done = False
    try:
        result = await _call(plan, step)
        fault = _fault(step.tool, result)
        done = not fault
    finally:
        if not done and step.tool not in READ_ONLY:
            workspace.restore(before)
    plan.mark(step.number, "failed" if fault else "done", fault or result.text, result.output)
    return step if fault else None


def _fault(tool: str, result: ToolResult) -> str:
    """Why a step failed, or an empty text; failing commands and tests are failures."""
    output = result.output
    if not result.ok:
        return result.error
    if not isinstance(output, dict):
        return ""
    if tool == "run_tests" and not output.get("green"):
        return f"the tests do not pass: {result.text}"
    failed = output.get("exit_code") or output.get("timed_out") or output.get("error")
    if tool in ("shell", "execute_code") and failed:
        return f"the command failed: {result.text}"
    return ""


def _search_for_file(plan: Plan, step: PlanStep) -> bool:
    """Replaces a step whose file is missing by a search for the file's name and the same step with
    the found path."""
    path = step.arguments.get("path")
    result = next(one.report for one in plan.steps if one.number == step.number)
    if MISSING not in result or not isinstance(path, str) or step.path_from:
        return False
    name = _name(path)
    try:
        search = plan.add_step(
            "file_list", {"pattern": f"*{escape(name)}"}, needs=step.needs, what=f"look for {name}"
        )
        retry = plan.add_step(
            step.tool, step.arguments, needs=(search,), what=step.what, path_from=search
        )
    except BadPlan:
        return False
    plan.replace(step.number, retry)
    return True


async def _call(plan: Plan, step: PlanStep) -> ToolResult:
    arguments = dict(step.arguments)
    if step.path_from:
        listed = next(one.output for one in plan.steps if one.number == step.path_from)
        name = _name(str(arguments["path"]))
        found = [path for path in listed if _name(path) == name]
        if len(found) != 1:
            others = f"; files with that name: {', '.join(found[:5])}" if found else ""
            return ToolResult(False, error=f"{MISSING}{arguments['path']}{others}")
        arguments["path"] = found[0]
    return await plan.tools.call(step.tool, arguments)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
