"""Runs the migrations; Alembic executes this file."""

from __future__ import annotations

from alembic import context

with context.config.attributes["engine"].connect() as connection:
    context.configure(connection=connection)
    with context.begin_transaction():
        context.run_migrations()
