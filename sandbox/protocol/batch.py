"""The batch of the local backends: one program that answers many items."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Self

from sandbox.protocol.conversation import BYTES_AHEAD, Conversation
from sandbox.protocol.wire import frame
from sandbox.types import Job, Json, LostItem, Outcome, SandboxDied, SandboxError

_ITEMS_AHEAD = 128
STDERR_BYTES = 2000


class RestartingBatch:
    """A batch that restarts its program after a lost item; implements `Batch`."""

    def __init__(self, start: Callable[[], Awaitable[Conversation]], job: Job) -> None:
        self._start = start
        self._start_s = job.limits.wall_s
        self._process: Conversation | None = None
        self._answered = 0
        self._busy = False

    async def replies(
        self, items: Sequence[Json], item_wall_s: float
    ) -> AsyncIterator[tuple[int, Json | LostItem]]:
        """See `Batch`."""
        if self._busy:
            raise SandboxError("a batch answers one list of items at a time")
        self._busy = True
        done = 0
        failed_starts = 0
        lost_at = -1
        try:
            while done < len(items):
                try:
                    process = await self._running()
                    if await process.until_ready(self._start_s):
                        failed_starts = 0
                        async for reply in self._exchange(process, items, done, item_wall_s):
                            done += 1
                            yield done - 1, reply
                        continue
                    lost = _lost(await process.kill())
                except SandboxDied:
                    # No item caused this, and no reply to the remaining ones was received.
                    await self.close()
                    if lost_at == done:
                        raise
                    lost_at = done
                    continue
                # It died before it received an item. After two such starts in a row all remaining
                # items are lost, since further starts would fail too.
                failed_starts += 1
                for index in range(done, done + 1 if failed_starts == 1 else len(items)):
                    done = index + 1
                    yield index, lost
        finally:
            self._busy = False
            if done < len(items):
                # The caller stopped; pending replies must not be mixed with the next list.
                await self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the program."""
        if self._process is not None:
            process, self._process = self._process, None
            with suppress(SandboxDied):  # its items are answered or will be sent again
                await process.kill()

    async def _running(self) -> Conversation:
        if self._process is None or self._process.over:
            await self.close()
            self._process = await self._start()
            self._answered = 0
        return self._process

    async def _exchange(
        self, process: Conversation, items: Sequence[Json], first: int, item_wall_s: float
    ) -> AsyncIterator[Json | LostItem]:
        """Replies from this process until one is lost. Items are sent in advance, so that it is
        never idle. It handles them in order, so the first without a reply is the lost one."""
        ahead: deque[int] = deque()
        ahead_bytes = 0
        for index in range(first, len(items)):
            if len(ahead) < _ITEMS_AHEAD // 2:
                frames = bytearray()
                while (
                    index + len(ahead) < len(items)
                    and len(ahead) < _ITEMS_AHEAD
                    and (not ahead or ahead_bytes < BYTES_AHEAD)
                ):
                    part = frame(items[index + len(ahead)])
                    ahead.append(len(part))
                    ahead_bytes += len(part)
                    frames += part
                process.write(frames)
            reply = await process.message(item_wall_s)
            if isinstance(reply, Outcome):
                yield _lost(reply)
                return
            if reply.count != self._answered + 1:
                process.stop("garbled", "not exactly one reply to an item")
                lost = _lost(await process.kill())
                # The previous item sent a second reply, so this item is tried again. Without a
                # previous item the program itself sends too many.
                if reply.count != self._answered or self._answered == 0:
                    yield lost
                return
            self._answered += 1
            ahead_bytes -= ahead.popleft()
            process.inbox.renew()
            yield reply.value


def _lost(outcome: Outcome) -> LostItem:
    return LostItem(outcome.ended, outcome.limit, outcome.stderr[-STDERR_BYTES:])
