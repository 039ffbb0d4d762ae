"""Resources shared by all runs of a session, and the optional LangSmith tracing.

LangGraph is slow to import, so the first run loads it in a thread. Steps are uploaded to LangSmith
only with `LANGCHAIN_TRACING_V2=true` and `LANGCHAIN_API_KEY`, regardless of LangGraph's other
variables. Uploads contain the names, times and order of steps and the class of an error; with
`content` they contain everything except secrets."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.core.settings import BadSettings, Settings, data_folder
from agent.iteration.context import PROMPTS
from agent.iteration.models import LOCAL_USER, Models
from agent.log.bus import EventBus
from agent.log.store import Store, open_store
from agent.memory.visitors import Memories
from agent.propose.rules import rules
from llm import BadPrompt, Connection, Provider, RulesProvider, open_provider
from llm.asking.prompts import Prompts
from llm.redaction import Redactor
from sandbox import OwnedSandbox, Sandbox, open_sandbox

if TYPE_CHECKING:
    from langsmith import Client

    from agent.loop.graph import Engine

PROJECT = "self-healing-agent"
ENDPOINT = "https://api.smith.langchain.com"
_ENDPOINTS = ("LANGCHAIN_ENDPOINT", "LANGSMITH_ENDPOINT")
_LAST_S = 5.0
_OBSOLETE = ("LANGCHAIN_TRACING", "LANGCHAIN_HANDLER")
_OFF = {"", "0", "false", "False"}
_CLASS = re.compile(r"[A-Za-z_]\w*")


class LazyEngine:
    """The graph engine, opened when it is first needed."""

    def __init__(self, store: Store, checkpoints: Path, files: AsyncExitStack) -> None:
        self._store = store
        self._checkpoints = checkpoints
        self._files = files
        self._opening: asyncio.Task[Engine] | None = None

    def begin(self) -> asyncio.Task[Engine]:
        """Starts loading the engine unless that has started."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._open(), name="load the engine")
        return self._opening

    async def get(self) -> Engine:
        # A caller that is cancelled must not cancel the load for the others.
        return await asyncio.shield(self.begin())

    async def close(self) -> None:
        """Waits for a started load, so that `files` can close the engine."""
        if self._opening is not None:
            await asyncio.gather(self._opening, return_exceptions=True)

    async def _open(self) -> Engine:
        os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")
        graph = await asyncio.to_thread(import_module, ".graph", __package__)
        opened = graph.open_engine(self._store, self._checkpoints)
        engine: Engine = await self._files.enter_async_context(opened)
        return engine


@dataclass(frozen=True)
class Uploads:
    """The LangSmith client and project that steps are uploaded to; no client means no upload."""

    client: Client | None = None
    project: str = PROJECT

    @contextmanager
    def tracing_scope(self) -> Iterator[None]:
        """Enables uploads, or disables tracing, for the code inside the block."""
        from langsmith.run_helpers import tracing_context

        # A parent would use the tracing client of the program that embeds us.
        with tracing_context(
            enabled=self.client is not None, client=self.client, parent=False, replicas=[],
            project_name=self.project if self.client is not None else None,
        ):
            yield

    def close(self) -> None:
        """Flushes pending uploads for at most `_LAST_S` seconds and ends the client's threads."""
        if self.client is not None:
            self.client.close(timeout=_LAST_S)


@dataclass(frozen=True)
class Resources:
    """Everything that the runs of a session share."""

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
        """Returns the sandbox for a run; visitors from one address share a place in its queue."""
        queue = run if visitor == LOCAL_USER else self.models.addresses.address_of(visitor)
        return OwnedSandbox(self.sandbox, queue)


@asynccontextmanager
async def open_resources(
    settings: Settings, sandbox: Callable[[], Sandbox] | None,
    provider: Callable[[Connection], Provider] = open_provider,
) -> AsyncIterator[Resources]:
    """Opens the resources in the running event loop; arguments and errors as of `open_session`."""
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
            redactor=lambda: models.log_redaction.redactor,
        )
        files.callback(steps.close)
        store = open_store(settings, folder)
        files.callback(store.close)
        memories = Memories(folder)
        files.callback(memories.close)
        bus = EventBus(store)
        if store.url:
            from agent.log.postgres import PostgresStore, shared

            assert isinstance(store, PostgresStore)
            await files.enter_async_context(shared(store, bus))
        engine = LazyEngine(store, folder / "checkpoints.db", files)
        try:
            yield Resources(
                settings, models, jail, store, memories, bus,
                RulesProvider(rules(settings.drafts)), prompts, steps, engine,
                tuple(filter(None, (warning, memories.owner.notice))),
            )
        finally:
            await engine.close()


def uploads(
    environment: Mapping[str, str], *, content: bool = False,
    redactor: Callable[[], Redactor] = Redactor,
) -> Uploads:
    """Reads the tracing configuration; `redactor` knows the current keys. Raises `BadSettings`."""
    enabled = environment.get("LANGCHAIN_TRACING_V2", "").strip().lower() == "true"
    key = environment.get("LANGCHAIN_API_KEY", "").strip()
    if not (enabled and key):
        obsolete = [name for name in _OBSOLETE if environment.get(name, "") not in _OFF]
        if obsolete:
            # LangGraph raises a bare RuntimeError in the first step of each run.
            raise BadSettings(
                f"{obsolete[0]} configures a tracing that LangChain removed. LangGraph does not "
                "run with it: unset it"
            )
        return Uploads()
    from langsmith import Client
    from langsmith.utils import LangSmithError

    try:
        client = Client(
            api_url=upload_address(environment), api_key=key, hide_inputs=not content,
            hide_outputs=not content, anonymizer=_anonymizer(Redactor([key]), redactor, content),
            omit_traced_runtime_info=True, tracing_mode="langsmith",
        )
    except LangSmithError as error:
        words = f"LangSmith cannot be used: {error}. To run without it, unset LANGCHAIN_TRACING_V2."
        raise BadSettings(words) from error
    return Uploads(client, environment.get("LANGCHAIN_PROJECT", "").strip() or PROJECT)


def upload_address(environment: Mapping[str, str]) -> str:
    """Returns the upload address: the configured endpoint, or LangSmith's own server."""
    configured = (environment.get(name, "").strip() for name in _ENDPOINTS)
    return next(filter(None, configured), ENDPOINT)


def _anonymizer(
    key_redactor: Redactor, current: Callable[[], Redactor], content: bool
) -> Callable[[dict[str, Any]], dict[str, Any]]:  # the client's own signature
    def anonymize(part: dict[str, Any]) -> dict[str, Any]:
        if part.keys() == {"error"} and not content:
            # `NameError("...")Traceback ...`: the quoted text may contain the program.
            found = _CLASS.match(str(part["error"]))
            return {"error": found[0] if found else "error"}
        redactor = current()
        return {
            redactor.text(key_redactor.text(name)): redactor.value(key_redactor.value(value))
            for name, value in part.items() if not name.startswith("LANG")
        }

    return anonymize
