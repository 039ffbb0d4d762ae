"""Runs, their events and values, answers, and the leases of processes."""

from __future__ import annotations

from alembic import op

revision = "1_1"
down_revision = None

TABLES = """
create table runs(
    id text primary key, title text not null, task text not null, options text not null,
    visitor text not null default '', owner text not null, created double precision not null,
    claimed double precision not null default 0, last bigint not null default 0,
    waiting integer not null default 0,
    final integer not null default 0);
create index runs_of_visitor on runs(visitor, created desc);
create index runs_unfinished on runs(created) where final = 0;
create table events(
    run text not null, seq bigint not null, task text not null, attempt integer not null,
    ordinal integer not null, at double precision not null, body text not null,
    primary key(run, seq), unique(run, task, attempt, ordinal));
create table answers(
    run text not null, interrupt text not null, value text not null default '',
    primary key(run, interrupt));
create table artifacts(id text primary key, body text not null);
create table kept(run text not null, artifact text not null, primary key(run, artifact));
create index kept_artifact on kept(artifact);
create table deleted(id text primary key);
create table processes(name text primary key, until timestamptz not null);
"""


def upgrade() -> None:
    op.execute(TABLES)
