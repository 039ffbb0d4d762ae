"""Who is on duty when."""

from guild.rota.days import closed, month_days
from guild.rota.plan import NobodyLeft, Plan

__all__ = ["NobodyLeft", "Plan", "closed", "month_days"]
