"""The self-healing code agent; `from agent import SelfHealingAgent` is its library interface."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.core.settings import AgentConfig
    from agent.interfaces.library import (
        HealResult,
        ProjectResult,
        SelfHealingAgent,
        UnusableAnswer,
        aheal_project,
        heal_project,
    )
    from agent.interfaces.plan_execution import PlanResult
    from agent.planning import BadPlan, Plan, run_plan
    from agent.report.waiting import BadReview, Review
    from agent.tools import CodeSandbox, ToolRegistry, ToolResult, Workspace, open_tools
    from llm import NoProvider

__all__ = [
    "AgentConfig", "BadPlan", "BadReview", "CodeSandbox", "HealResult", "NoProvider", "Plan",
    "PlanResult", "ProjectResult", "Review", "SelfHealingAgent", "ToolRegistry", "ToolResult",
    "UnusableAnswer", "Workspace", "aheal_project", "heal_project", "open_tools", "run_plan",
]
_MODULES = {
    "interfaces.plan_execution": "PlanResult",
    "interfaces.library": "AgentConfig BadReview HealResult NoProvider ProjectResult Review "
    "SelfHealingAgent UnusableAnswer aheal_project heal_project",
    "planning": "BadPlan Plan run_plan",
    "tools": "CodeSandbox ToolRegistry ToolResult Workspace open_tools",
}


def __getattr__(name: str) -> object:
    """Loads a public name on first use, so that importing this package is cheap."""
    for module, names in _MODULES.items():
        if name in names.split():
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module 'agent' has no attribute {name!r}")
