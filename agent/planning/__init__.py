"""Plans of tool calls for tasks of several steps, made by rules or by a model."""

from agent.planning.plan import BadPlan, Plan
from agent.planning.running import run_plan

__all__ = ["BadPlan", "Plan", "run_plan"]
