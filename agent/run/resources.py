"""What all runs of a session share. LangGraph, which takes long to import, is loaded in a thread by
the first run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from agent.core.settings import BadSettings, Settings, data_folder
from agent.healing.context import PROMPTS
from agent.healing.models import OWNER, Models
from agent.log.bus import EventBus
from agent.log.store import Store
from agent.memory.visitors import Memories
from agent.run.uploads import Uploads, uploads
from agent.thinking.rules import rules
from llm import BadPrompt, Connection, Provider, RulesProvider, open_provider
from llm.asking.prompts import Prompts
from sandbox import OwnedSandbox, Sandbox, open_sandbox

if TYPE_CHECKING:
    from agent.run.graph import Engine


class LazyEngine:
    """The graph over its file of checkpoints, opened once by the first who needs it."""

    def __init__(self, checkpoints: Path, files: AsyncExitStack) -> None:
        self._checkpoints = checkpoints
        self._files = files
        self._opening: asyncio.Task[Engine] | None = None

    def begin(self) -> asyncio.Task[Engine]:
        """Begins to load it, where nobody did yet."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._opened(), name="load the engine")
        return self._opening

    async def get(self) -> Engine:
        """The engine, once it is there."""
        # Whoever is cancelled while waiting takes it from nobody else.
        return await asyncio.shield(self.begin())

    async def close(self) -> None:
        """Waits for what was begun, so that `files` closes it."""
        if self._opening is not None:
            await asyncio.gather(self._opening, return_exceptions=True)

    async def _opened(self) -> Engine:
        os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")
        graph = await asyncio.to_thread(import_module, ".graph", __package__)
        engine: Engine = await self._files.enter_async_context(
            graph.open_engine(self._checkpoints)
        )
        return engine


@dataclass(frozen=True)
class Resources:
    """What all runs of a session share."""

    settings: Settings
    models: Models
    sandbox: Sandbox
    store: Store
    memories: Memories
    bus: EventBus
    rules: Provider
    prompts: Prompts
    uploads: Uploads
    engine: LazyEngine
    notices: tuple[str, ...]

    def sandbox_of(self, visitor: str, run: str) -> Sandbox:
        """The sandbox for a run, where all who share an address take turns as one."""
        place = run if visitor == OWNER else self.models.crowds.place(visitor)
        return OwnedSandbox(self.sandbox, place)


@asynccontextmanager
async def open_resources(
    settings: Settings, sandbox: Callable[[], Sandbox] | None,
    provider: Callable[[Connection], Provider] = open_provider,
) -> AsyncIterator[Resources]:
    """Opens them in the running event loop, and closes them at the end. Raises: BadSettings,
    BadPrices, SandboxError."""
    try:
        prompts = Prompts(PROMPTS, settings.prompts)
    except BadPrompt as error:
        raise BadSettings(f"HEAL_PROMPTS: {error}") from error
    jail = sandbox() if sandbox else open_sandbox(settings.sandbox, settings.environment or None)
    folder, warning = data_folder(settings)
    async with AsyncExitStack() as files:
        models = Models(settings, provider)
        steps = uploads(
            settings.environment, content=settings.trace_content,
            redactor=lambda: models.logs.redactor,
        )
        files.callback(steps.close)
        store = Store(folder / "runs.db")
        files.callback(store.close)
        memories = Memories(folder)
        files.callback(memories.close)
        engine = LazyEngine(folder / "checkpoints.db", files)
        try:
            yield Resources(
                settings, models, jail, store, memories, EventBus(store),
                RulesProvider(rules(settings.drafts)), prompts, steps, engine,
                tuple(filter(None, (warning, memories.owner.notice))),
            )
        finally:
            await engine.close()
