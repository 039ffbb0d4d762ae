"""Tasks of several steps: a plan over tools, made by rules or by a model, and how it is run."""

from agent.planning.plan import BadPlan, Plan
from agent.planning.running import run_plan

__all__ = ["BadPlan", "Plan", "run_plan"]
