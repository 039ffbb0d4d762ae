"""The provider of a local GGUF model, which a llama.cpp server in a child process runs."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace
from importlib.util import find_spec

import httpx2

from llm.errors import CallFailed, TimedOut
from llm.keys import NO_KEY
from llm.provider import Connection, escape_surrogates, estimated_tokens, named
from llm.providers.llamacpp.child import Child, Children, ServedModel, children
from llm.providers.openai import OpenAiProvider
from llm.providers.wire import ReplyStream
from llm.types import Request, Stream

PLACEHOLDER_URL = "http://127.0.0.1/v1"
"""The placeholder for the address of a child that has not started."""
COUNTING_S = 2.0


class LlamaCppProvider(OpenAiProvider):
    """Asks a model that a child process runs; providers of the same model share the process.

    The first call downloads and loads the model. If that takes longer than the call's deadline it
    goes on, and later calls use the model. After a crash the next call starts another process.
    """

    def __init__(self, connection: Connection, host: Children | None = None) -> None:
        for package in ("xllamacpp", "huggingface_hub"):
            if find_spec(package) is None:
                raise ModuleNotFoundError(f"No module named {package!r}", name=package)
        super().__init__(replace(connection, base_url=PLACEHOLDER_URL, key=NO_KEY))
        self.connection = connection
        self.place = f"llama.cpp with {self.model}"
        self._host = host if host is not None else children()
        self._child: Child = self._host.reserve(ServedModel(
            self.model, threads=int(connection.option("threads")),
            context=int(connection.option("context")), slots=int(connection.option("slots")),
            idle_s=int(connection.option("idle_s")), server=str(connection.option("server")),
        ))
        self._held = True
        self._token_counts: dict[str, int] = {}
        self._counter: httpx2.Client | None = None
        self._is_counting = True
        """Whether the last count came from the server."""

    @property
    def exact(self) -> bool:  # type: ignore[override]
        return self._is_counting and self._child.loaded_address() is not None

    @property
    def window(self) -> int | None:
        return self._child.which.context

    @window.setter
    def window(self, value: int | None) -> None:
        """Ignored: the configured window applies."""

    async def stream(self, request: Request) -> Stream:
        await self._ready(request.deadline_s)
        with self._child.in_use():
            if self.parameters_b is None:
                await self.call_unbilled(super().list_models())
            async with aclosing(super().stream(request)) as pieces:
                async for piece in pieces:
                    yield piece

    def read(self, piece: object, answer: ReplyStream) -> str:
        timings = getattr(piece, "timings", None)
        if isinstance(timings, dict):
            self._child.tokens_per_s = float(timings.get("predicted_per_second") or 0)
        return super().read(piece, answer)

    async def list_models(self) -> tuple[str, ...]:
        """This model, after it was loaded; raises an `LlmError` if that fails."""
        await self._ready(self.connection.stall_s)
        return (self.model,)

    def count(self, text: str) -> int:
        """The exact count once the model is loaded and its server answers, else an estimate."""
        address = self._child.loaded_address()
        if address is None:
            return estimated_tokens(text)
        if text not in self._token_counts:
            if self._counter is None:
                self._counter = httpx2.Client(timeout=COUNTING_S, trust_env=False)
            try:
                reply = self._counter.post(
                    f"{address.url.removesuffix('/v1')}/tokenize",
                    json={"content": escape_surrogates(text)},
                    headers={"Authorization": f"Bearer {address.key.reveal()}"},
                )
                self._token_counts[text] = len(reply.raise_for_status().json()["tokens"])
            except (httpx2.HTTPError, ValueError, KeyError):
                self._is_counting = False  # the next call reports what happened to the server
                return estimated_tokens(text)
            self._is_counting = True
        return self._token_counts[text]

    def describe(self) -> str:
        """The model's state, memory and speed, for people."""
        child = self._child
        text = f"{named('llamacpp', self.model)}: {child.state}"
        if child.state == "downloading" and child.share:
            text += f" {child.share:.0%}"
        if child.fault:
            text += f" ({child.fault})"
        if child.state == "loaded":
            text += f", llama.cpp, about {child.memory_mib:,} MiB"
        if child.tokens_per_s:
            text += f"; last call {child.tokens_per_s:.1f} tokens/s"
        return text

    def loading(self) -> str:
        """The progress of downloading or loading, for people; empty otherwise."""
        return self.describe() if self._child.state in ("downloading", "loading") else ""

    def warm(self) -> None:
        """Starts loading the model. The first call waits for it and raises its errors."""
        self._child.started(self.connection.key)

    async def served_at(self, within_s: float) -> str:
        """Waits for the model; returns the `GGUF_SERVER` of other processes. Raises `LlmError`."""
        await self._ready(within_s)
        return f"{str(self._client.base_url).rstrip('/')}#{self.key.reveal()}"

    async def close(self) -> None:
        await super().close()
        if self._counter is not None:
            self._counter.close()
        if self._held:
            self._held = False
            self._host.release(self._child)

    async def _ready(self, within_s: float) -> None:
        """Waits for the child; raises an `LlmError`."""
        try:
            async with asyncio.timeout(within_s):
                start = asyncio.wrap_future(self._child.started(self.connection.key))
                address = await asyncio.shield(start)
        except TimeoutError:
            doing = self.describe().partition(": ")[2]
            raise TimedOut(
                f"{self.model} is not ready after {within_s:g} s ({doing}): try again, or raise "
                "the time limit"
            ) from None
        self._client.base_url, self.key = address.url, address.key

    def _fault(self, error: BaseException, answer: ReplyStream, sent: str = "") -> CallFailed:
        fault = super()._fault(error, answer, sent)
        exit_message = self._child.exit_message()
        if not exit_message:
            return fault
        return type(fault)(f"{fault}; {exit_message}", started=fault.started, usage=fault.usage)
