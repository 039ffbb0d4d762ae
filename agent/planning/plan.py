"""A plan: calls of tools, what each needs before it, and how each came out."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent.core.domain import Value
from agent.core.events import GONE, PlanStepped, StepStatus
from agent.tools.registry import ToolRegistry
from sandbox import Json

MAX_STEPS = 12
LONGEST = 400


class BadPlan(ValueError):
    """A step cannot be part of a plan; the message says why."""


class PlanStep(Value):
    """A call of a tool, and the numbers of the steps that must be done before it."""

    number: int
    tool: str
    arguments: Mapping[str, Any]  # as the tool's schema has them
    needs: tuple[int, ...] = ()
    what: str = ""
    path_from: int = 0
    """The step that looks for its file by name, where that was missing; else 0."""
    status: StepStatus = "pending"
    report: str = ""
    """Why it is not done, or what it gave, in short."""
    output: Any = None
    """What its tool gave, as JSON; `None` before."""

    @property
    def words(self) -> str:
        """What it does, in a line."""
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return self.what or textwrap.shorten(f"{self.tool}({given})", 100)


class Plan:
    """Steps over the tools of a registry; at most `max_steps`, those of a replan among them."""

    def __init__(
        self, tools: ToolRegistry, max_steps: int = MAX_STEPS,
        tell: Callable[[PlanStepped], object] = lambda event: None,
    ) -> None:
        self.tools = tools
        self.max_steps = max_steps
        self._tell = tell
        self._steps: dict[int, PlanStep] = {}

    @property
    def steps(self) -> tuple[PlanStep, ...]:
        """All steps, in the order in which they were added."""
        return tuple(self._steps.values())

    @property
    def success(self) -> bool:
        """Whether every step is done, but for those that others stand in for."""
        statuses = [one.status for one in self.steps]
        return "done" in statuses and {*statuses} <= {"done", "replaced"}

    def add_step(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *,
        needs: Sequence[int] = (), what: str = "", path_from: int = 0,
    ) -> int:
        """Adds a call of a tool, and returns its number; raises `BadPlan` for a tool that there is
        not, arguments that it does not take, a need that is no step before it, and one too many."""
        number = len(self._steps) + 1
        if number > self.max_steps:
            raise BadPlan(f"a plan may have {self.max_steps} steps (max_steps)")
        if wrong := self.tools.fault(tool, arguments or {}):
            raise BadPlan(f"step {number}: {wrong}")
        if unknown := {*needs} - {*self._steps}:
            raise BadPlan(f"step {number} needs {min(unknown)}, which is no step before it")
        self._steps[number] = PlanStep(
            number=number, tool=tool, arguments=arguments or {}, needs=tuple(needs), what=what,
            path_from=path_from,
        )
        return number

    def ready(self) -> tuple[PlanStep, ...]:
        """Steps that wait for nothing; what needs one that is not to be done is skipped."""
        waiting = [one for one in self.steps if one.status == "pending"]
        for step in waiting:
            if {self._steps[one].status for one in step.needs} & {*GONE}:
                self.mark(step.number, "skipped", "what it needs was not done")
                return self.ready()
        return tuple(
            step for step in waiting
            if all(self._steps[one].status == "done" for one in step.needs)
        )

    def mark(self, number: int, status: StepStatus, report: str = "", output: Json = None) -> None:
        """Notes how a step came out."""
        step = self._steps[number].model_copy(update={
            "status": status, "report": textwrap.shorten(report, LONGEST), "output": output,
        })
        self._steps[number] = step
        self._tell(PlanStepped(step=number, what=step.words, status=status, report=step.report))

    def replace(self, number: int, other: int) -> None:
        """Lets another step stand in for one that failed, for all that need it."""
        self.mark(number, "replaced", self._steps[number].report)
        for step in self.steps:
            if number in step.needs and step.number != other:
                needs = tuple(other if one == number else one for one in step.needs)
                self._steps[step.number] = step.model_copy(update={"needs": needs})

    def summary(self) -> str:
        """Every step in a line, with what it needs and how it came out."""
        return "\n".join(
            f"{one.number:>2} {one.status:<8} {one.words}"
            + (f" (after {', '.join(map(str, one.needs))})" if one.needs else "")
            + (f": {one.report}" if one.report else "")
            for one in self.steps
        )
