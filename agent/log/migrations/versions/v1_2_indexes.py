"""Indexes for the visitor served last, and for a run by the beginning of its id."""

from __future__ import annotations

from alembic import op

revision = "1_2"
down_revision = "1_1"


def upgrade() -> None:
    op.execute("create index runs_served on runs(visitor, claimed)")
    op.execute("create index runs_named on runs(id text_pattern_ops)")
