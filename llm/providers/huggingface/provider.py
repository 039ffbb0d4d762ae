"""The provider of a local Hugging Face model."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace
from importlib.util import find_spec

from llm.errors import ProviderDown, TimedOut
from llm.keys import Secret
from llm.provider import Connection, escape_surrogates, estimated_tokens
from llm.providers.huggingface.host import WARM_UP, ModelHost, ModelVariant, shared_host
from llm.types import Reply, Request, Stream, Usage

REQUIRED_PACKAGES = ("torch", "transformers", "accelerate")


class HuggingFaceProvider:
    """Asks a model that runs in this process; providers of the same model share it.

    The first call loads the model. A load that takes longer than the call's deadline goes on, and
    later calls use it. After a failed load the next call tries again.
    """

    name = "huggingface"
    thinks = False

    def __init__(self, connection: Connection, host: ModelHost | None = None) -> None:
        for package in REQUIRED_PACKAGES:
            if find_spec(package) is None:
                raise ModuleNotFoundError(f"No module named {package!r}", name=package)
        self.model = connection.model
        self._key = connection.key
        self._which = ModelVariant(connection.model, bool(connection.option("four_bit")))
        self._host = host if host is not None else shared_host()
        self._model_state = self._host.hold(self._which)
        self._calls: set[threading.Event] = set()
        self._closed = False

    async def stream(self, request: Request) -> Stream:
        loop = asyncio.get_running_loop()
        started = time.monotonic()
        pieces: asyncio.Queue[str | None] = asyncio.Queue()
        cancelled = threading.Event()

        def hand_over(piece: str | None) -> None:
            try:
                loop.call_soon_threadsafe(pieces.put_nowait, piece)
            except RuntimeError:  # the loop is closed
                cancelled.set()

        # Only rules use the variables, which may be of any type.
        question = replace(request, variables={})
        future = self._host.ask(self._which, self._key, question, hand_over, cancelled)
        future.add_done_callback(lambda _: hand_over(None))
        self._calls.add(cancelled)
        text, first_s = "", None
        try:
            while True:
                try:
                    piece = await _next(pieces, request.deadline_s - (time.monotonic() - started))
                except TimeoutError as error:
                    doing = "is still being loaded" if self.loading() else "did not finish"
                    raise TimedOut(
                        f"{self.model} {doing} after {request.deadline_s:g} s: try again, or raise "
                        "the time limit",
                        started=bool(text), usage=self._partial_usage(request, text),
                    ) from error
                if piece is None:
                    break
                if first_s is None:
                    first_s = time.monotonic() - started
                text += piece
                yield piece
            if future.cancelled() or (ended := future.result()).cancelled:
                raise ProviderDown(
                    f"{self.model} was closed while it answered",
                    started=bool(text), usage=self._partial_usage(request, text),
                )
        finally:
            cancelled.set()
            future.cancel()
            self._calls.discard(cancelled)
        yield Reply(
            text, ended.finish, self.name, self.model, ended.usage, ended.note,
            wall_s=time.monotonic() - started, first_s=first_s,
        )

    async def models(self) -> tuple[str, ...]:
        """This model, if it is loaded or accessible; otherwise raises the error of `load`. Reads
        only its configuration, not its weights."""
        if not self.exact:
            await asyncio.to_thread(_find, self.model, self._key)
        return (self.model,)

    def count(self, text: str) -> int:
        model = self._model_state.model
        if model is None:
            return estimated_tokens(text)
        return len(model.counting.encode(escape_surrogates(text), add_special_tokens=False).ids)

    @property
    def exact(self) -> bool:
        return self._model_state.model is not None

    @property
    def window(self) -> int | None:
        model = self._model_state.model
        return None if model is None else model.window

    def describe(self) -> str:
        """The model's state, device and speed, for people."""
        place = self._model_state
        text = f"{self.model}: {place.state}{place.fault and f' ({place.fault})'}"
        if place.model is not None:
            text += f", {place.model.words}"
        if place.last is not None and place.last.wall_s:
            text += f"; last call {place.last.usage.output / place.last.wall_s:.1f} tokens/s"
        return text

    def loading(self) -> str:
        """The loading state for people; empty unless the model is being loaded."""
        return self.describe() if self._model_state.state == "loading" else ""

    def warm(self) -> None:
        """Starts loading the model. The first request waits for it and gets its errors."""
        self._host.ask(self._which, self._key, WARM_UP, lambda piece: None, threading.Event())

    async def close(self) -> None:
        for cancelled in self._calls:
            cancelled.set()
        if not self._closed:
            self._closed = True
            self._host.release(self._which)

    def _partial_usage(self, request: Request, text: str) -> Usage:
        """Our own token counts of an incomplete call."""
        if not text:
            return Usage(estimated=True)
        asked = [request.system, *(message.text for message in request.messages)]
        return Usage(sum(map(self.count, asked)), self.count(text), estimated=True)


async def _next(pieces: asyncio.Queue[str | None], left_s: float) -> str | None:
    """The next piece, `None` at the end; raises `TimeoutError` after `left_s`."""
    if left_s <= 0:
        raise TimeoutError
    async with asyncio.timeout(left_s):
        return await pieces.get()


def _find(model: str, key: Secret) -> None:
    from llm.providers.huggingface.loading import load_config

    load_config(model, key)
