"""How far a test is trusted, by its origin. A user's tests, and examples in the task's own words,
forbid success alone; derived ones only together, and only where no test of the user decides."""

from __future__ import annotations

from typing import Literal

Origin = Literal[
    "user", "doctest", "task", "held-out", "urged", "confirmed", "spec", "contested", "adversarial"
]
"""`task`: an example in the task's words; `spec`: derived from them; `confirmed`: stood in a
dispute; `urged`: confirmed, and decisive while another repair is tried; `contested`: a dispute left
open."""

ALONE = 1.0
WEIGHTS: dict[Origin, float] = {
    "user": ALONE, "doctest": ALONE, "task": ALONE, "held-out": ALONE,
    "urged": ALONE, "confirmed": 0.7, "spec": 0.4, "contested": 0.1, "adversarial": 0.0,
}
VETO = 0.6
"""The weight at which failing derived tests forbid success: one confirmed test, or two others."""

VETOING_ORIGINS: frozenset[Origin] = frozenset(one for one, w in WEIGHTS.items() if w >= ALONE)
PINNING_ORIGINS: frozenset[Origin] = frozenset({"user", "doctest"})
DERIVED_ORIGINS: frozenset[Origin] = frozenset(
    one for one, weight in WEIGHTS.items() if 0 < weight < ALONE
)
HOLD_OUT_FROM = 4
