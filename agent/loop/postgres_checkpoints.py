"""LangGraph's checkpoints in Postgres; only the process that a run belongs to writes them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from psycopg.errors import DivisionByZero
from psycopg.rows import dict_row
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from agent.log.postgres import UNAVAILABLE
from agent.log.store import DatabaseUnavailable, RunAlreadyEnded

_OWNED = "select 1 / (select count(*) from runs where id = %s and owner = %s)"
"""Fails with a division by zero, and with it what follows in the pipeline."""
_WRITTEN: ContextVar[str] = ContextVar("written", default="")
"""The run that is written now."""


class PostgresSaver(AsyncPostgresSaver):
    """Refuses the writes of a process that has lost the run to another.

    Args:
        pool: Connections in autocommit mode.
        serializer: Of LangGraph.
        owner: Returns the name of this process as the owner of runs.
    """

    def __init__(self, pool: Any, serializer: Any, owner: Callable[[], str]) -> None:
        super().__init__(pool, serde=serializer)
        self._owner = owner

    async def aput(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Saves a checkpoint. Raises: RunAlreadyEnded."""
        values = checkpoint["channel_values"].items()
        checkpoint = checkpoint.copy()
        checkpoint["channel_values"] = {name: _storable(value) for name, value in values}
        with _owned(config):
            return await super().aput(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str,
        task_path: str = "",
    ) -> None:
        """Saves what a step has written. Raises: RunAlreadyEnded."""
        with _owned(config):
            await super().aput_writes(config, writes, task_id, task_path)

    @asynccontextmanager
    async def _cursor(self, *, pipeline: bool = False) -> AsyncIterator[Any]:
        try:
            async with super()._cursor(pipeline=pipeline) as cursor:
                if run := _WRITTEN.get():
                    await cursor.execute(_OWNED, (run, self._owner()))
                yield cursor
        except (*UNAVAILABLE, PoolTimeout) as error:
            raise DatabaseUnavailable(f"The checkpoints cannot be reached: {error}") from None


@contextmanager
def _owned(config: RunnableConfig) -> Iterator[None]:
    run = config["configurable"]["thread_id"]
    token = _WRITTEN.set(run)
    try:
        yield
    except DivisionByZero:
        raise RunAlreadyEnded(f"The run {run!r} has ended, or another process drives it.") from None
    finally:
        _WRITTEN.reset(token)


def _storable(value: Any) -> Any:
    """A value without the characters that JSON in Postgres cannot hold."""
    if not isinstance(value, str):
        return value
    return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


@asynccontextmanager
async def open_saver(
    url: str, serializer: Any, owner: Callable[[], str]
) -> AsyncIterator[PostgresSaver]:
    """Opens the checkpoints of a database, and creates their tables if needed."""
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
    async with AsyncConnectionPool(
        url, min_size=1, max_size=4, timeout=10, kwargs=options, open=False,
        check=AsyncConnectionPool.check_connection,
    ) as pool:
        saver = PostgresSaver(pool, serializer, owner)
        await saver.setup()
        yield saver
