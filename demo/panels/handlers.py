"""Event handlers of the panels. Visitors see and change only their own runs and memory."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from typing import Any
from uuid import uuid4

import gradio as gr

from agent.core.settings import data_folder
from agent.log.history import History
from demo.browser_state import Update, Visit
from demo.models.choice import BadModelChoice
from demo.models.panel import Panel
from demo.serving.host import SessionHost, Unavailable
from demo.serving.limits import LimitExceeded
from demo.views.escape import sentence
from llm import LlmError

NOT_YOURS = "This run was deleted, or another visitor started it. Reload the list."
Action = Mapping[str, Any]
"""The data of a pressed button: its act, the key of its row, and typed text."""


class Panels:
    """Every public method handles one kind of event. A panel loads nothing until it is opened."""

    def __init__(self, host: SessionHost, panel: Panel) -> None:
        self._host = host
        self._panel = panel

    async def runs(self, visit: Visit, search: str) -> Update:
        """Lists the visitor's runs that match a search."""
        from demo.panels import views

        history = (await self._host.session()).history(self._panel.visitor(visit))
        listed = history.runs(views.MAX_RUNS)
        return {"runs-list": views.runs(listed, search or "")}

    async def run_act(self, action: Action, visit: Visit, search: str) -> Update:
        return await self._listed("runs", self._run_act(action, visit), self.runs(visit, search))

    async def _run_act(self, action: Action, visit: Visit) -> Update:
        session, visitor = await self._host.session(), self._panel.visitor(visit)
        history, key = session.history(visitor), _text(action, "key")
        match action.get("act"):
            case "rename":
                history.rename(key, _text(action, "value"))
            case "delete":
                await session.delete(history.named(key))
                return {"replayed": "", "replay-at": gr.update(visible=False)}
            case "again":
                run = str(uuid4())  # the page accepts no other kind of id
                with self._host.counted_work(session, visitor, visit["address"], (), run):
                    await session.repeat(key, run_id=run, visitor=visitor)
                return {"runs-go": f"?run={run}"}
            case "replay":
                return self._replay(history, key)
            case "compare":
                return await self._compare(history, action.get("picked"))
        return {}

    def _replay(self, history: History, key: str) -> Update:
        from demo.panels import views

        run = history.named(key)
        log = history.log(run)
        title = views.title_of(run, history.runs(views.MAX_RUNS))
        return {
            "replayed": views.replayed(run, len(log)),
            "replay-at": gr.update(
                visible=True, minimum=1, maximum=len(log), value=1, label=f"Replay of {title}",
            ),
        }

    async def _compare(self, history: History, picked: object) -> Update:
        from agent.report.iterations import run_comparison
        from demo.panels import views

        if not isinstance(picked, list) or len(picked) != 2:
            return {
                "replayed": sentence("Two runs are needed. Tick two of them, then compare."),
                "replay-at": gr.update(visible=False),
            }
        ids = [history.named(str(one)) for one in picked]
        listed = history.runs(views.MAX_RUNS)
        both = run_comparison(history.log(ids[0]), history.log(ids[1]))
        names = (views.title_of(ids[0], listed), views.title_of(ids[1], listed))
        return {
            "replayed": await asyncio.to_thread(views.comparison, both, names),
            "replay-at": gr.update(visible=False),
        }

    async def memory(self, visit: Visit, search: str) -> Update:
        """Lists the visitor's fixes and lessons that match a search."""
        from agent.memory import MemoryFault
        from demo.panels import views

        memory = (await self._host.session()).memory(self._panel.visitor(visit))
        try:
            known = memory.fixes(), memory.lessons(), search or ""
        except MemoryFault as fault:
            return {"memory-list": "", "memory-message": sentence(str(fault))}
        return {"memory-list": await asyncio.to_thread(views.memory, *known)}

    async def memory_act(self, action: Action, visit: Visit, search: str) -> Update:
        return await self._listed(
            "memory", self._memory_act(action, visit), self.memory(visit, search)
        )

    async def _memory_act(self, action: Action, visit: Visit) -> Update:
        from agent.memory.fixes import UnknownEntry

        memory = (await self._host.session()).memory(self._panel.visitor(visit))
        match action.get("act"):
            case "forget":
                with suppress(UnknownEntry):  # already deleted in another tab
                    memory.forget(*memory.named([_text(action, "key")]))
            case "forget-all":
                memory.forget_all()
        return {}

    async def benchmarks(self) -> Update:
        """Shows the benchmark results of this machine."""
        from demo.panels import views
        from demo.panels.measured import command, measured

        folder, _ = data_folder((await self._host.session()).settings)
        shown_folder = None if self._host.access.public else folder
        return {"benchmarks-list": views.benchmarks(measured(folder), command(shown_folder))}

    async def _listed(
        self, place: str, act: Coroutine[None, None, Update], lists: Coroutine[None, None, Update]
    ) -> Update:
        from agent.log.store import UnknownRun
        from agent.memory import MemoryFault

        try:
            done = await act
        except UnknownRun:
            done = {f"{place}-message": sentence(NOT_YOURS)}
        except (Unavailable, LlmError, BadModelChoice, MemoryFault, LimitExceeded) as refusal:
            done = {f"{place}-message": sentence(str(refusal))}
        return {f"{place}-message": "", **await lists, **done}


def _text(action: Action, name: str) -> str:
    return str(action.get(name) or "")[:200]
