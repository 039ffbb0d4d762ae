"""What programs may ask of the page by name: to heal and to check, which runs there are, what each
has judged, a fork of one, and two of them compared. Each visitor meets their own runs only."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from agent.log.history import History
from agent.log.store import UnknownRun
from agent.memory import Memory
from agent.report.iterations import compared, iterations
from agent.report.result import document, fold
from demo.browser_state import NEW_VISIT, Visit
from demo.models.panel import Panel
from demo.serving.host import SessionHost
from demo.serving.throttle import throttled
from demo.serving.visitors import LEAST_WORD, is_word
from demo.views.required import required

if TYPE_CHECKING:
    from agent.loop.session import Session

Document = dict[str, Any]
"""What Gradio gives out as JSON."""


class Verbs:
    """The page's named endpoints. `visitor` is the word by which a public page knows whoever asks:
    one of their own choice that nobody guesses, where their cookie has none. `address` is where
    they ask from."""

    def __init__(self, host: SessionHost, panel: Panel) -> None:
        self._host = host
        self._panel = panel

    async def heal_code(
        self, code: str = "", tests: str = "", words: str = "", provider: str = "",
        model: str = "", options: Document | None = None, visitor: str = "", *,
        address: str = "",
    ) -> AsyncIterator[Document]:
        """Heals a program by its tests, or does a task in words. It sends what the run has come to
        each time that this changes, its outcome last; to cancel the call ends the run. options may
        hold iterations, autonomy, ask, learn, require_proof, require_integrity, usd, tokens, calls,
        seconds, stdin, args, and files: each name with its bytes in base64. A file may be a zip."""
        from demo.submission import start_run  # the session has imported what it needs

        visit: Visit = {**self._visit(visitor), "provider": provider, "model": model}
        run, session = str(uuid4()), await self._host.session()
        submitted = await start_run(
            self._host, self._panel, visit, run, (code, tests, words),
            {name.replace("_", "-"): value for name, value in (options or {}).items()},
            address=address, pauses=False,
        )
        if submitted.task is None:
            yield document(submitted.concluded(()))
            return
        followed = False
        try:
            async for _ in throttled(session.follow(run)):
                if self._host.leaving:  # the runs' file may be closed
                    return
                yield document(required(fold(session.log(run))))
            followed = True
        finally:
            # To its end, or to a question, with which it waits on the page. A server that leaves
            # is no word of whoever asked: the run goes on with the next one.
            if not followed and not self._host.leaving:
                await session.cancel(run)

    async def check_code(
        self, code: str, tests: str, visitor: str = "", *, address: str = ""
    ) -> Document:
        """How a program stands under its tests; nothing is repaired."""
        from agent.interfaces.preparation import judged  # the session has imported both
        from agent.target.task import from_page

        own = self._panel.visitor(self._visit(visitor))
        session = await self._host.session()
        with self._host.working(session, own, address, (code, tests)):
            async with self._host.reading(own, address):
                task = (await asyncio.to_thread(from_page, code, tests)).task
            # A session that only shows saved runs refuses this itself.
            result = await judged(cast("Session", session), task, visitor=own)
        verdicts = result.report.verdicts if result.report is not None else ()
        return {
            "passed": result.outcome == "healthy",
            "tests": [one.model_dump(mode="json") for one in verdicts],
        }

    async def get_run(self, run: str, visitor: str = "") -> Document:
        """What a run has come to, or has so far."""
        return document(required(fold((await self._history(visitor)).log(run))))

    async def cancel_run(self, run: str, visitor: str = "") -> Document:
        """Ends a run, and tells what it has come to; one that has ended stays as it is."""
        history = await self._history(visitor)
        await (await self._host.session()).cancel(history.named(run))
        return document(required(fold(history.log(run))))

    async def runs(self, visitor: str = "") -> list[Document]:
        """The newest runs first, each with its standing and its parent."""
        history = await self._history(visitor)
        return [one.document for one in history.runs()]

    async def rename_run(self, run: str, title: str, visitor: str = "") -> Document:
        """Calls a run otherwise in lists."""
        history = await self._history(visitor)
        history.rename(run, title)
        return {"run_id": history.named(run), "title": title}

    async def delete_run(self, run: str, visitor: str = "") -> Document:
        """Ends a run and deletes it for good, with its log and its steps. What was learned of it
        stays in the memory; forget drops that."""
        named = (await self._history(visitor)).named(run)
        await (await self._host.session()).delete(named)
        return {"deleted": named}

    async def remembered(self, visitor: str = "") -> Document:
        """The fixes and the lessons that later runs are helped by, each with its proof."""
        from agent.interfaces.terminal.memory.tables import fix_document, lesson_document

        memory = await self._memory(visitor)
        return {
            "fixes": [fix_document(one) for one in memory.fixes()],
            "lessons": [lesson_document(one) for one in memory.lessons()],
        }

    async def forget(self, keys: list[str], visitor: str = "") -> Document:
        """Forgets fixes and lessons for good, by their ids as /remembered tells them."""
        memory = await self._memory(visitor)
        memory.forget(*memory.named(keys))
        return {"forgotten": len({*keys})}

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
        model: str = "", visitor: str = "", *, address: str = "",
    ) -> Document:
        """Starts a run from a program of another, with other code, further tests or another model
        where they are given, and names it; it is followed like any other."""
        from agent.loop.fork import Edits
        from agent.target.task import TestText

        visit: Visit = {**self._visit(visitor), "provider": provider, "model": model}
        session = await self._host.session()
        own, forked = self._panel.visitor(visit), str(uuid4())
        edits = Edits({"": code} if code.strip() else {}, [TestText(tests)] * bool(tests.strip()))
        with self._host.working(session, own, address, (code, tests), forked):
            async with self._host.reading(own, address):
                await session.fork(
                    run, iteration, edits, run_id=forked, visitor=own, pauses=True,
                    plan=await self._panel.plan(visit) if provider or model else None,
                )
        return {"run_id": forked, "page": f"?run={forked}"}

    async def _memory(self, visitor: str) -> Memory:
        session = await self._host.session()
        return session.memory(self._panel.visitor(self._visit(visitor)))

    async def _history(self, visitor: str) -> History:
        session = await self._host.session()
        history = session.history(self._panel.visitor(self._visit(visitor)))
        history.lists = "/runs"
        return history

    def _visit(self, visitor: str) -> Visit:
        """Who asks; on a public page nobody without a word has any run."""
        if self._host.access.public and not is_word(visitor):
            shown = f", and {visitor[:60]!r} is none" if visitor else ""
            raise UnknownRun(
                "A public page knows your runs by a word of yours that nobody guesses"
                f"{shown}: give visitor= as {LEAST_WORD} or more random letters and digits, the "
                "same each time. secrets.token_urlsafe() makes one."
            )
        return {**NEW_VISIT, "visitor": visitor}


OFFERED: tuple[Callable[..., Any], ...] = (
    Verbs.heal_code, Verbs.check_code, Verbs.get_run, Verbs.cancel_run, Verbs.runs,
    Verbs.rename_run, Verbs.delete_run, Verbs.iterations, Verbs.fork, Verbs.compare,
    Verbs.remembered, Verbs.forget,
)
"""The endpoints, by their names."""
