"""Plans: tool calls with their dependencies and results."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent.core.domain import Value
from agent.core.events import NOT_COMPLETED, PlanStepped, StepStatus
from agent.tools.registry import ToolRegistry
from sandbox import Json

MAX_STEPS = 12
LONGEST = 400


class BadPlan(ValueError):
    """A step is not valid; the message says why."""


class PlanStep(Value):
    """A tool call, the numbers of the steps it needs, and its result."""

    number: int
    tool: str
    arguments: Mapping[str, Any]  # as the tool's schema has them
    needs: tuple[int, ...] = ()
    what: str = ""
    path_from: int = 0
    """The step that searches for the missing file by name; else 0."""
    status: StepStatus = "pending"
    report: str = ""
    """Why it is not done, or its result in short."""
    output: Any = None
    """The tool's result as JSON; `None` before the call."""

    @property
    def words(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return self.what or textwrap.shorten(f"{self.tool}({arguments})", 100)


class Plan:
    """A plan of at most `max_steps` tool calls, including the calls that replanning adds."""

    def __init__(
        self, tools: ToolRegistry, max_steps: int = MAX_STEPS,
        emit: Callable[[PlanStepped], object] = lambda event: None,
    ) -> None:
        self.tools = tools
        self.max_steps = max_steps
        self._emit = emit
        self._steps: dict[int, PlanStep] = {}

    @property
    def steps(self) -> tuple[PlanStep, ...]:
        return tuple(self._steps.values())

    @property
    def success(self) -> bool:
        """Whether every step that was not replaced is done."""
        statuses = [one.status for one in self.steps]
        return "done" in statuses and {*statuses} <= {"done", "replaced"}

    def add_step(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *,
        needs: Sequence[int] = (), what: str = "", path_from: int = 0,
    ) -> int:
        """Adds a tool call and returns its number. Raises `BadPlan` if the tool is unknown,
        its arguments are wrong, a needed step does not come before it, or the plan is full."""
        number = len(self._steps) + 1
        if number > self.max_steps:
            raise BadPlan(f"a plan may have {self.max_steps} steps (max_steps)")
        if wrong := self.tools.fault(tool, arguments or {}):
            raise BadPlan(f"step {number}: {wrong}")
        if unknown := {*needs} - {*self._steps}:
            raise BadPlan(f"step {number} needs step {min(unknown)}, which does not come before it")
        self._steps[number] = PlanStep(
            number=number, tool=tool, arguments=arguments or {}, needs=tuple(needs), what=what,
            path_from=path_from,
        )
        return number

    def ready(self) -> tuple[PlanStep, ...]:
        """Returns the steps that can run now; skips steps whose needed steps will not be done."""
        pending = [one for one in self.steps if one.status == "pending"]
        for step in pending:
            if {self._steps[one].status for one in step.needs} & {*NOT_COMPLETED}:
                self.mark(step.number, "skipped", "a step that it needs was not done")
                return self.ready()
        return tuple(
            step for step in pending
            if all(self._steps[one].status == "done" for one in step.needs)
        )

    def mark(self, number: int, status: StepStatus, report: str = "", output: Json = None) -> None:
        step = self._steps[number].model_copy(update={
            "status": status, "report": textwrap.shorten(report, LONGEST), "output": output,
        })
        self._steps[number] = step
        self._emit(PlanStepped(step=number, what=step.words, status=status, report=step.report))

    def replace(self, number: int, other: int) -> None:
        """Replaces a failed step by another for all steps that need it."""
        self.mark(number, "replaced", self._steps[number].report)
        for step in self.steps:
            if number in step.needs and step.number != other:
                needs = tuple(other if one == number else one for one in step.needs)
                self._steps[step.number] = step.model_copy(update={"needs": needs})

    def summary(self) -> str:
        """Describes each step in a line, with its needs and its result."""
        return "\n".join(
            f"{one.number:>2} {one.status:<8} {one.words}"
            + (f" (after {', '.join(map(str, one.needs))})" if one.needs else "")
            + (f": {one.report}" if one.report else "")
            for one in self.steps
        )
