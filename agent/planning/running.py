"""A plan at work: its steps in turn, side by side where they only read, or each after a person's
word. What a step wrote that failed is taken back."""

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
"""Puts other steps in place of those that are left; says whether it did."""
READING = frozenset({"file_list", "file_read", "search", "run_tests"})
"""Tools that change nothing: only these run side by side."""
MISSING = "there is no file "


async def run_plan(
    plan: Plan, workspace: Workspace, mode: Mode = "sequential", approve: ApproveStep | None = None,
    *, replan_on_failure: bool = True, replan: Replan | None = None,
) -> None:
    """Runs the steps that can be; how each came out is in the plan.

    Where a file is missing it is searched for by its name; else `replan`, if given, may plan what
    is left again. `approve` is asked in a thread, in the mode `interactive` alone.
    """
    check_mode(mode, approve)
    while ready := plan.ready():
        batch = [step for step in ready if step.tool in READING] if mode == "parallel" else []
        batch = batch or [ready[0]]
        if approve is not None and not await asyncio.to_thread(approve, batch[0]):
            plan.mark(batch[0].number, "refused", "a person did not approve it")
            continue
        failed = [one for one in await asyncio.gather(
            *(_is_done(plan, workspace, step) for step in batch)
        ) if one is not None]
        for step in failed if replan_on_failure else ():
            if not _searched_for(plan, step) and replan is not None and await replan(plan):
                break


def check_mode(mode: Mode, approve: ApproveStep | None) -> None:
    """Raises `ValueError` for a mode that there is not, or that does not go with `approve`."""
    if mode not in get_args(Mode):
        raise ValueError(f"there is no mode {mode!r}; there are {', '.join(get_args(Mode))}")
    if (mode == "interactive") != (approve is not None):
        raise ValueError("approve= goes with mode='interactive', and that with approve=")


async def _is_done(plan: Plan, workspace: Workspace, step: PlanStep) -> PlanStep | None:
    """Runs a step; returns it where it failed."""
    before = workspace.files
    done = False
    try:
        result = await _called(plan, step)
        fault = _fault(step.tool, result)
        done = not fault
    finally:
        if not done and step.tool not in READING:
            workspace.restore(before)
    plan.mark(step.number, "failed" if fault else "done", fault or result.text, result.output)
    return step if fault else None


def _fault(tool: str, result: ToolResult) -> str:
    """Why a step is not done; empty where it is. A command that fails has not done its work, nor
    have tests that are not green."""
    seen = result.output
    if not result.ok:
        return result.error
    if not isinstance(seen, dict):
        return ""
    if tool == "run_tests" and not seen.get("green"):
        return f"not green: {result.text}"
    failed = seen.get("exit_code") or seen.get("timed_out") or seen.get("error")
    if tool in ("shell", "execute_code") and failed:
        return f"it failed: {result.text}"
    return ""


def _searched_for(plan: Plan, step: PlanStep) -> bool:
    """Puts a search by name, and the step again with what that finds, in place of a step that
    names a file which is missing."""
    path = step.arguments.get("path")
    message = next(one.report for one in plan.steps if one.number == step.number)
    if MISSING not in message or not isinstance(path, str) or step.path_from:
        return False
    name = _name(path)
    try:
        search = plan.add_step(
            "file_list", {"pattern": f"*{escape(name)}"}, needs=step.needs, what=f"look for {name}"
        )
        again = plan.add_step(
            step.tool, step.arguments, needs=(search,), what=step.what, path_from=search
        )
    except BadPlan:
        return False
    plan.replace(step.number, again)
    return True


async def _called(plan: Plan, step: PlanStep) -> ToolResult:
    """A step's call, with the one file that a search for it has found."""
    given = dict(step.arguments)
    if step.path_from:
        listed = next(one.output for one in plan.steps if one.number == step.path_from)
        name = _name(str(given["path"]))
        found = [path for path in listed if _name(path) == name]
        if len(found) != 1:
            others = f"; {', '.join(found[:5])} are named so" if found else ""
            return ToolResult(False, error=f"{MISSING}{given['path']}{others}")
        given["path"] = found[0]
    return await plan.tools.call(step.tool, given)


def _name(path: str) -> str:
    return path.rpartition("/")[2]
