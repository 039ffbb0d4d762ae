"""The public name of the library: `from selfheal import SelfHealingAgent`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.core.settings import AgentConfig
    from agent.doors.executing import PlanResult
    from agent.doors.library import HealResult, SelfHealingAgent, UnusableAnswer
    from agent.doors.notebook import Shell
    from agent.doors.project.library import ProjectResult, aheal_project, heal_project
    from agent.log.waiting import BadReview, Review
    from agent.planning import BadPlan, Plan, run_plan
    from agent.tools import CodeSandbox, ToolRegistry, ToolResult, Workspace, open_tools
    from llm import NoProvider

_TOOLS = ("CodeSandbox", "ToolRegistry", "ToolResult", "Workspace", "open_tools")
_PROJECT = ("ProjectResult", "aheal_project", "heal_project")
_PLANNING = ("BadPlan", "Plan", "run_plan")
__all__ = [
    "AgentConfig", "BadPlan", "BadReview", "CodeSandbox", "HealResult", "NoProvider", "Plan",
    "PlanResult", "ProjectResult", "Review", "SelfHealingAgent", "ToolRegistry", "ToolResult",
    "UnusableAnswer", "Workspace", "aheal_project", "heal_project", "open_tools", "run_plan",
]


def __getattr__(name: str) -> object:
    """Loads the library when it is asked for, so that `import selfheal` stays cheap."""
    if name in _TOOLS:
        from agent import tools

        return getattr(tools, name)
    if name in _PLANNING:
        from agent import planning

        return getattr(planning, name)
    if name == "PlanResult":
        from agent.doors.executing import PlanResult

        return PlanResult
    if name in _PROJECT:
        from agent.doors.project import library as project

        return getattr(project, name)
    if name in __all__:
        from agent.doors import library

        return getattr(library, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(shell: Shell) -> None:
    """What `%load_ext selfheal` calls: it brings the magic `%%heal`."""
    from agent.doors.notebook import register

    register(shell)
