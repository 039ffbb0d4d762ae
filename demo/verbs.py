"""What programs may ask of the page by name: which runs there are, what each has judged, a fork of
one, and two of them compared. Each visitor meets their own runs only."""

from __future__ import annotations

from typing import Any

from agent.log.history import History
from agent.log.iterations import compared, iterations
from agent.log.store import UnknownRun
from demo.browser_state import NEW_VISIT, Visit
from demo.host import Host
from demo.model_panel import Panel

Document = dict[str, Any]
"""What Gradio gives out as JSON."""


class Verbs:
    """The page's named endpoints; `visitor` is the word by which a public page knows a browser."""

    def __init__(self, host: Host, panel: Panel) -> None:
        self._host = host
        self._panel = panel

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
