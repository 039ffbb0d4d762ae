"""What the host's end of a talk does when the process is gone in the midst of it."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import Any

from sandbox.protocol.conversation import Conversation
from sandbox.types import Job


class Unheard(Conversation):
    """A process that reads nothing of what it is sent."""

    def _kill(self) -> None:
        pass

    def _has_exited(self) -> bool:
        return True


async def test_a_channel_closed_while_a_long_message_waits_is_not_written_to() -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    loop = asyncio.get_running_loop()
    wrong: list[Any] = []
    loop.set_exception_handler(lambda _, context: wrong.append(context))
    talk = Unheard(Job(""))
    talk._open(os.dup(ours.fileno()), b"", True)
    talk.write(b"x" * 5_000_000)

    # The loop has both in one round: that there is room again, and that the channel is closed.
    loop.call_soon(talk._close_channel)
    loop.call_soon(talk._flush)
    await asyncio.sleep(0.01)

    assert wrong == []
    theirs.close()
    ours.close()
