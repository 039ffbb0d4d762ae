"""The page's named endpoints for programs: heal, check, list, read, fork and compare runs. Each
visitor can only reach their own runs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from agent.core.events import LogEntry
from agent.log.history import History
from agent.log.store import UnknownRun
from agent.memory import Memory
from agent.report.iterations import iterations, run_comparison
from agent.report.result import document, fold
from demo.browser_state import NEW_VISIT, Visit
from demo.models.panel import Panel
from demo.serving.host import SessionHost
from demo.serving.throttle import throttled
from demo.serving.visitors import SHORTEST_TOKEN, is_token
from demo.views.required import required

if TYPE_CHECKING:
    from agent.loop.session import Session

Document = dict[str, Any]
"""A JSON object."""


class Endpoints:
    """The page's named endpoints. On a public page, `visitor` is a secret token that identifies the
    caller; it may be a random text of their choice. `address` is the caller's network."""

    def __init__(self, host: SessionHost, panel: Panel) -> None:
        self._host = host
        self._panel = panel

    async def heal_code(
        self, code: str = "", tests: str = "", words: str = "", provider: str = "",
        model: str = "", options: Document | None = None, visitor: str = "", *, address: str = "",
    ) -> AsyncIterator[Document]:
        """Heals a program so that its tests pass, or does a task in words. Sends the state of the
        run each time it changes, and its outcome last. Cancelling the call ends the run. options
        may contain iterations, autonomy, ask, learn, require_confidence (0 to 1, or percent),
        require_proof, require_integrity, usd, tokens, calls, seconds, stdin, args, and files (each
        name with its content in base64, or a zip)."""
        from demo.submission import start_run  # already imported by the session

        visit: Visit = {**self._visit(visitor), "provider": provider, "model": model}
        run, session = str(uuid4()), await self._host.session()
        submitted = await start_run(
            self._host, self._panel, visit, run, (code, tests, words),
            {name.replace("_", "-"): value for name, value in (options or {}).items()},
            address=address, pauses=False,
        )
        if submitted.task is None:
            yield document(submitted.heal_result(()))
            return
        followed, log = False, list[LogEntry]()
        try:
            async for batch in throttled(session.follow(run)):
                if self._host.leaving:
                    return
                log += batch  # not read again: the database may be away for a while
                yield document(required(fold(tuple(log))))
            followed = True
        finally:
            # A cancelled call ends the run. If the server is ending, the next one continues it.
            if not followed and not self._host.leaving:
                await session.cancel(run)

    async def check_code(
        self, code: str, tests: str, visitor: str = "", *, address: str = ""
    ) -> Document:
        """Runs the tests of a program, without a repair."""
        from agent.interfaces.preparation import judged  # already imported by the session
        from agent.target.task import from_page

        owner = self._panel.visitor(self._visit(visitor))
        session = await self._host.session()
        with self._host.counted_work(session, owner, address, (code, tests)):
            async with self._host.reading_in_turn(owner, address):
                task = (await asyncio.to_thread(from_page, code, tests)).task
            # A session that only shows saved runs raises an error itself.
            result = await judged(cast("Session", session), task, visitor=owner)
        verdicts = result.report.verdicts if result.report is not None else ()
        return {
            "passed": result.outcome == "healthy",
            "tests": [one.model_dump(mode="json") for one in verdicts],
        }

    async def get_run(self, run: str, visitor: str = "") -> Document:
        """Returns the result of a run, or its current state."""
        return document(required(fold((await self._history(visitor)).log(run))))

    async def cancel_run(self, run: str, visitor: str = "") -> Document:
        """Ends a run and returns its result; a run that has ended does not change."""
        history = await self._history(visitor)
        await (await self._host.session()).cancel(history.named(run))
        return document(required(fold(history.log(run))))

    async def runs(self, visitor: str = "") -> list[Document]:
        """Lists runs, newest first, each with its status and parent."""
        history = await self._history(visitor)
        return [one.document for one in history.runs()]

    async def rename_run(self, run: str, title: str, visitor: str = "") -> Document:
        """Renames a run."""
        history = await self._history(visitor)
        history.rename(run, title)
        return {"run_id": history.named(run), "title": title}

    async def delete_run(self, run: str, visitor: str = "") -> Document:
        """Ends a run and deletes it permanently, with its log. Fixes and lessons from it stay in
        the memory; /forget deletes them."""
        named = (await self._history(visitor)).named(run)
        await (await self._host.session()).delete(named)
        return {"deleted": named}

    async def remembered(self, visitor: str = "") -> Document:
        """Lists the saved fixes and lessons."""
        from agent.interfaces.terminal.memory.tables import fix_document, lesson_document

        memory = await self._memory(visitor)
        return {
            "fixes": [fix_document(one) for one in memory.fixes()],
            "lessons": [lesson_document(one) for one in memory.lessons()],
        }

    async def forget(self, keys: list[str], visitor: str = "") -> Document:
        """Deletes fixes and lessons permanently, by their ids from /remembered."""
        memory = await self._memory(visitor)
        memory.forget(*memory.named(keys))
        return {"forgotten": len({*keys})}

    async def iterations(self, run: str, visitor: str = "") -> list[Document]:
        """Lists the programs that a run tested, each with its origin, verdicts, diff and text."""
        history = await self._history(visitor)
        return [one.document for one in iterations(history.log(run))]

    async def compare(self, left: str, right: str, visitor: str = "") -> Document:
        """Compares two runs: their outcomes, the tests that differ, and their programs' diff."""
        history = await self._history(visitor)
        return run_comparison(history.log(left), history.log(right)).document

    async def fork(
        self, run: str, iteration: int, code: str = "", tests: str = "", provider: str = "",
        model: str = "", visitor: str = "", *, address: str = "",
    ) -> Document:
        """Starts a new run from a program of another run, with other code, additional tests or
        another model if given, and returns its id."""
        from agent.loop.fork import Edits
        from agent.target.task import TestText

        visit: Visit = {**self._visit(visitor), "provider": provider, "model": model}
        session = await self._host.session()
        owner, forked = self._panel.visitor(visit), str(uuid4())
        edits = Edits({"": code} if code.strip() else {}, [TestText(tests)] * bool(tests.strip()))
        with self._host.counted_work(session, owner, address, (code, tests), forked):
            async with self._host.reading_in_turn(owner, address):
                await session.fork(
                    run, iteration, edits, run_id=forked, visitor=owner, pauses=True,
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
        """Returns a caller's visit. Raises `UnknownRun` on a public page without a valid token."""
        if self._host.access.public and not is_token(visitor):
            shown = f", and {visitor[:60]!r} is too easy to guess" if visitor else ""
            raise UnknownRun(
                f"A public page identifies your runs by a secret token{shown}. Send visitor= with "
                f"at least {SHORTEST_TOKEN} random letters and digits, the same each time; "
                "secrets.token_urlsafe() makes one."
            )
        return {**NEW_VISIT, "visitor": visitor}


ENDPOINTS: tuple[Callable[..., Any], ...] = (
    Endpoints.heal_code, Endpoints.check_code, Endpoints.get_run, Endpoints.cancel_run,
    Endpoints.runs, Endpoints.rename_run, Endpoints.delete_run, Endpoints.iterations,
    Endpoints.fork, Endpoints.compare, Endpoints.remembered, Endpoints.forget,
)
"""All named endpoints."""
