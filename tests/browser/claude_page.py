"""Serves the page as it ships, in one process with a server that speaks as Claude does."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import threading
from queue import SimpleQueue

import app
from tests.agent.claude import claude, fenced
from tests.agent.loop.test_with_models import SOLVED
from tests.llm.fakes.anthropic import MODELS, answers, lists_models, whole


def serve_claude(address: SimpleQueue[str]) -> None:
    """Answers until the process ends, and tells where."""

    async def serving() -> None:
        pieces = re.findall(r"\S*\s*", fenced(SOLVED))
        slow = answers(whole(pieces=pieces), pause_s=3.0 / len(pieces))
        async with claude(generator=slow) as model:
            model.server.on("GET", MODELS, lists_models)
            address.put(model.server.url)
            await asyncio.Event().wait()

    asyncio.run(serving())


if __name__ == "__main__":
    told: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=serve_claude, args=(told,), daemon=True).start()
    os.environ["ANTHROPIC_BASE_URL"] = told.get()
    sys.exit(app.main())
