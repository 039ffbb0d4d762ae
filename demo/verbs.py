"""What programs may ask of the page by name: to heal and to check, which runs there are, what each
has judged, a fork of one, and two of them compared. Each visitor meets their own runs only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

from agent.log.history import History
from agent.log.iterations import compared, iterations
from agent.log.result import document, fold
from agent.log.store import UnknownRun
from demo.browser_state import NEW_VISIT, Visit
from demo.host import Host
from demo.model_panel import Panel
from demo.throttle import throttled

Document = dict[str, Any]
"""What Gradio gives out as JSON."""


class Verbs:
    """The page's named endpoints; `visitor` is the word by which a public page knows a browser."""

    def __init__(self, host: Host, panel: Panel) -> None:
        self._host = host
        self._panel = panel

    async def heal_code(
        self, code: str = "", tests: str = "", words: str = "", provider: str = "",
        model: str = "", visitor: str = "",
    ) -> AsyncIterator[Document]:
        """Heals a program by its tests, or does a task in words. What the run has come to is told
        again and again, at last with its outcome; whoever cancels ends it."""
        from agent.intake import from_page  # the session has imported it

        visit: Visit = {**self._visit(visitor), "provider": provider, "model": model}
        session = await self._host.session()
        brought = await asyncio.to_thread(from_page, code, tests, words)
        run = await session.start(
            brought.task, run_id=str(uuid4()), plan=await self._panel.plan(visit),
            visitor=self._panel.visitor(visit),
        )
        followed = False
        try:
            async for _ in throttled(session.follow(run)):
                yield document(fold(session.log(run)))
            followed = True
        finally:
            if not followed:  # to its end, or to a question, with which it waits on the page
                await session.cancel(run)

    async def check_code(self, code: str, tests: str, visitor: str = "") -> Document:
        """How a program stands under its tests; nothing is repaired."""
        from agent.intake import from_page

        self._visit(visitor)
        session = await self._host.session()
        task = (await asyncio.to_thread(from_page, code, tests)).task
        assert task.solution is not None, "tests alone are refused"
        report = await session.judge(task, task.solution)
        verdicts = [one.model_dump(mode="json") for one in report.verdicts]
        return {"passed": report.passed, "tests": verdicts}

    async def get_run(self, run: str, visitor: str = "") -> Document:
        """What a run has come to, or has so far."""
        return document(fold((await self._history(visitor)).log(run)))

    async def cancel_run(self, run: str, visitor: str = "") -> Document:
        """Ends a run, and tells what it has come to; one that has ended stays as it is."""
        history = await self._history(visitor)
        await (await self._host.session()).cancel(history.named(run))
        return document(fold(history.log(run)))

    async def runs(self, visitor: str = "") -> list[Document]:
        """The newest runs first, each with its standing and its parent."""
        history = await self._history(visitor)
        return [one.document for one in history.runs()]

    async def iterations(self, run: str, visitor: str = "") -> list[Document]:
        """The programs that a run has judged: how each came about, its verdicts, diff and text."""
        history = await self._history(visitor)
        return [one.document for one in iterations(history.log(run))]

    async def compare(self, left: str, right: str, visitor: str = "") -> Document:
        """Two runs: how each ended, the tests that differ, and the diff of their programs."""
        history = await self._history(visitor)
        return compared(history.log(left), history.log(right)).document

    async def fork(
        self, run: str, iteration: int, code: str = "", tests: str = "", provider: str = "",
        model: str = "", visitor: str = "",
    ) -> Document:
        """Starts a run from a program of another, with other code, further tests or another model
        where they are given, and names it; it is followed like any other."""
        from agent.intake import TestText  # the session has imported both
        from agent.run.fork import Edits

        visit: Visit = {**self._visit(visitor), "provider": provider, "model": model}
        session = await self._host.session()
        forked = await session.fork(
            run, iteration,
            Edits({"": code} if code.strip() else {}, [TestText(tests)] if tests.strip() else []),
            plan=await self._panel.plan(visit) if provider or model else None,
            visitor=self._panel.visitor(visit), pauses=True,
        )
        return {"run_id": forked, "page": f"?run={forked}"}

    async def _history(self, visitor: str) -> History:
        session = await self._host.session()
        return session.history(self._panel.visitor(self._visit(visitor)))

    def _visit(self, visitor: str) -> Visit:
        """Who asks; on a public page nobody without a word has any run."""
        if self._host.access.public and not visitor:
            raise UnknownRun("A public page knows your runs by your browser's word: give visitor=.")
        return {**NEW_VISIT, "visitor": visitor}
