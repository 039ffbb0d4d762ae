"""A proxy before a page that breaks off what goes through it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.demo.apart import free_port


class Cutting:
    """Hands bytes on; while `every_s` is set, it breaks all connections off so often."""

    def __init__(self, port: int) -> None:
        self.every_s: float | None = None
        self.cuts = 0
        self._port = port
        self._open: set[asyncio.StreamWriter] = set()

    async def serve(self, at: int, ready: threading.Event, done: asyncio.Event) -> None:
        """Serves until it is done."""
        async with await asyncio.start_server(self._joined, "127.0.0.1", at):
            ready.set()
            while not done.is_set():
                with suppress(TimeoutError):
                    await asyncio.wait_for(done.wait(), self.every_s or 0.05)
                if self.every_s is not None or done.is_set():
                    self._cut()

    def _cut(self) -> None:
        for one in self._open:
            one.transport.abort()
            self.cuts += 1

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            there, back = await asyncio.open_connection("127.0.0.1", self._port)
            both = {writer, back}
            self._open |= both
            await asyncio.gather(_handed(reader, back), _handed(there, writer))
            self._open -= both


async def _handed(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
    """Until one side leaves, then the other is left too."""
    with suppress(OSError):
        while piece := await source.read(65_536):
            to.write(piece)
            await to.drain()
    to.close()


@contextmanager
def cutting(port: int) -> Iterator[tuple[str, Cutting]]:
    """The address of such a proxy before a port of this machine, and the proxy."""
    proxy, at, ready = Cutting(port), free_port(), threading.Event()
    loop, done = asyncio.new_event_loop(), asyncio.Event()

    def serve() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(proxy.serve(at, ready, done))

    thread = threading.Thread(target=serve)
    thread.start()
    assert ready.wait(10)
    try:
        yield f"http://127.0.0.1:{at}/", proxy
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join(10)
