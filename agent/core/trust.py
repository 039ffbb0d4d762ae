"""How far a test is trusted, by where it comes from: the one table of weights and their threshold.

What a user brought, and what stands in the task's own words, forbids success alone. Tests that a
model derived forbid it together, and only where no test of the user pins what the program does.
"""

from __future__ import annotations

from typing import Literal

Origin = Literal[
    "user", "doctest", "task", "held-out", "urged", "confirmed", "spec", "contested", "adversarial"
]
"""Where a test comes from: `task` is an example that stands in the words, `spec` one that was
derived from them before any code, `confirmed` a derived one that was in dispute and stood, `urged`
one of these while another repair is tried for its sake, `contested` one whose dispute stayed open
though somebody else says what the program does."""

ALONE = 1.0
WEIGHTS: dict[Origin, float] = {
    "user": ALONE, "doctest": ALONE, "task": ALONE, "held-out": ALONE,
    "urged": ALONE, "confirmed": 0.7, "spec": 0.4, "contested": 0.1, "adversarial": 0.0,
}
VETO = 0.6
"""Derived tests that fail forbid success where their weights come to this: one that was confirmed
does, and two that were not. For those that are contested no program is changed."""

VETOING_ORIGINS: frozenset[Origin] = frozenset(one for one, w in WEIGHTS.items() if w >= ALONE)
"""Origins whose failing tests forbid success alone."""
PINNING_ORIGINS: frozenset[Origin] = frozenset({"user", "doctest"})
"""Origins whose tests pin what the program does, so that derived ones are doubts beside them."""
DERIVED_ORIGINS: frozenset[Origin] = frozenset(
    one for one, weight in WEIGHTS.items() if 0 < weight < ALONE
)
"""Origins whose failing tests forbid success together."""
HOLD_OUT_FROM = 4
"""The number of trusted tests from which one is kept from the repair."""
