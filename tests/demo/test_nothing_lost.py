"""Arrival, reload and click lose no run, in whatever order the server's answers come: a browser is
played over the page's own wiring, with every answer held back until the test lets it through."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import gradio as gr
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.requests import Request

from agent.core.domain import Task
from agent.report.result import fold
from demo.browser_state import NEW_VISIT, NO_RUN
from demo.layout.parts import ANSWERED
from demo.phases import started_page
from demo.serving.host import SessionHost
from demo.web import _ARRIVES, _PRESS, SAVED, START_PARTS, begin_script, build
from tests.demo.recorded import Log, RecordedSession, recorded

RUNS = ("healed", "waiting", "rivals", "held")
CLICKS = (
    "heal", "stop", "approve", "reject", "use", "choice-0", "choice-1", "fork", "open",
)


def chosen(task: Task) -> Log:
    """The recorded run that the words name; a held one goes on until it is stopped, and one by an
    answer heals."""
    log = recorded(task.text if task.text in RUNS[:3] else "healed")
    return log[:3] if task.text == "held" else log


@dataclass
class Call:
    """An event on its way: asked of the server, and answered."""

    act: Any
    values: list[Any]
    query: str
    answers: list[list[Any]] = field(default_factory=list)
    task: asyncio.Task[None] | None = None

    @property
    def is_ready(self) -> bool:
        """Whether there is an answer, or it is over."""
        return bool(self.answers) or (self.task is not None and self.task.done())


class Tab:
    """What a browser does with the page's wiring: it reads the inputs of an event when it happens,
    and changes its parts when the answer is there."""

    def __init__(self, ui: gr.Blocks, kept: dict[str, Any], query: str) -> None:
        self.acts: list[Any] = list(ui.fns.values())
        self.names = {
            part._id: part.elem_id for part in ui.blocks.values() if getattr(part, "elem_id", "")
        }
        self.parts = {
            self.names[part._id]: {
                "value": getattr(part, "value", None), "visible": part.visible,
                "interactive": getattr(part, "interactive", None),
            }
            for part in ui.blocks.values() if part._id in self.names
        }
        for name, value in {**kept, "looked": "0 1"}.items():
            self.parts[name]["value"] = value
        self.query = query
        self.calls: list[Call] = []
        for act in self.acts:
            if any(event == "load" for _, event in act.targets):
                self.happen(act)

    def value(self, name: str) -> Any:
        return self.parts[name]["value"]

    def enabled(self, name: str) -> bool:
        part = self.parts[name]
        shown = {"approve": "review", "reject": "review", "choice-0": "question",
                 "choice-1": "question"}.get(name, name)
        return part["interactive"] is not False and bool(self.parts[shown]["visible"])

    def click(self, name: str) -> None:
        self.tell(name, "click")

    def tell(self, name: str, kind: str) -> None:
        for act in self.acts:
            if any(self.names.get(part) == name and event == kind for part, event in act.targets):
                self.happen(act)

    def happen(self, act: Any) -> None:
        values = [self.parts[self.names[part._id]]["value"] for part in act.inputs]
        if act.fn is None:
            self.change(act, _in_the_browser(act, values, self))
            self.follow(act)
        elif act.trigger_mode == "multiple" or all(one.act is not act for one in self.calls):
            self.calls.append(Call(act, values, self.query))

    def change(self, act: Any, values: list[Any] | None) -> None:
        for part, value in zip(act.outputs, values or (), strict=False):
            name = self.names[part._id]
            if isinstance(value, dict) and value.get("__type__") == "update":
                self.parts[name].update(value)
            elif value is not None and value != self.value(name):
                self.parts[name]["value"] = value
                self.tell(name, "change")

    def follow(self, act: Any) -> None:
        for one in self.acts:
            if one.trigger_after == act._id:
                self.happen(one)

    def answered(self, call: Call) -> None:
        """One answer of the server arrives; with the last one, the event is over."""
        if call.answers:
            self.change(call.act, call.answers.pop(0))
        if call.task is not None and call.task.done() and not call.answers:
            self.calls.remove(call)
            self.follow(call.act)


def _in_the_browser(act: Any, values: list[Any], tab: Tab) -> list[Any] | None:
    """What the page's own scripts do, in Python."""
    if act.js == begin_script():
        (shown, code, tests, words), page, run = values, started_page(NO_RUN), str(uuid4())
        kept = {**NO_RUN, "run": run, "before": shown["run"], "code": code, "tests": tests,
                "words": words}
        tab.query = f"run={run}"
        return [kept, *(page[name] for name in START_PARTS[1:])]
    if "answered.run === kept.run" in act.js:
        kept, answered = values
        current = answered.get("run") == kept["run"]
        names = [tab.names[part._id] for part in act.outputs]
        at = names.index(ANSWERED)
        parts = answered["parts"] if current else {}
        if "saved-run" in names[:at] and (received := parts.get(str(names.index("saved-run")))):
            tab.query = f"run={received['run']}" if received["run"] else ""
        return [*(parts.get(str(place)) for place in range(at)), {}, str(uuid4())][:len(names)]
    if act.js == _ARRIVES % "false" and not tab.value("saved-run")["run"] and not tab.query:
        return [None, None, {"__type__": "update", "interactive": True}]
    if act.js == "() => [String(Math.random())]":
        return [str(uuid4())]
    if act.js == _PRESS and tab.enabled("heal"):
        tab.click("heal")
    return None


class Browsing:
    """One visitor at one tab, on a slow and shuffling line."""

    def __init__(self, session: RecordedSession, ui: gr.Blocks, again: str) -> None:
        self.session, self.ui = session, ui
        self.begun: list[str] = []
        """The runs that a click on Heal began."""
        self.stopped: set[str] = set()
        self.tab = Tab(ui, {"saved-run": {**NO_RUN, "run": again}, "visit": dict(NEW_VISIT)}, "")

    async def serve(self, call: Call) -> None:
        """The server hears of an event, and begins to answer it."""
        scope = {"type": "http", "headers": [], "query_string": call.query.encode(), "client": None}
        request = gr.Request(Request(scope), session_hash=str(id(self.tab)))

        def received(values: Any) -> None:
            call.answers.append([values] if len(call.act.outputs) == 1 else list(values))

        async def answer() -> None:
            answering = call.act.fn(request, *call.values)
            if hasattr(answering, "__aiter__"):
                values = None
                async for values in answering:
                    received(values)
                if values is not None:  # Gradio tells the last of a stream again as it ends
                    received(values)
            else:
                received(await answering)

        call.task = asyncio.create_task(answer())
        await a_while()

    async def heard(self, place: int) -> None:
        waiting = [one for one in self.tab.calls if one.task is None]
        if waiting:
            await self.serve(waiting[place % len(waiting)])

    async def answered(self, place: int) -> None:
        ready = [one for one in self.tab.calls if one.is_ready]
        if ready:
            self.tab.answered(ready[place % len(ready)])

    async def click(self, place: int) -> None:
        name = CLICKS[place % len(CLICKS)]
        for _ in range(1 + place % 2):  # or a double click
            if self.tab.enabled(name):
                self.tab.click(name)
                run = self.tab.value("saved-run")["run"]
                if name == "heal":
                    self.begun.append(run)
                    assert self.tab.query == f"run={run}"
                if name in ("stop", "reject"):
                    self.stopped.add(run)

    async def type(self, place: int) -> None:
        self.tab.parts["words"]["value"] = RUNS[place % len(RUNS)]

    async def reload(self, place: int) -> None:
        for call in self.tab.calls:
            if call.task is None and place % 2:
                await self.serve(call)
        self.tab = Tab(self.ui, {name: self.tab.value(name) for name in SAVED}, self.tab.query)

    async def settle(self) -> None:
        """Every answer arrives, and none is a fault."""
        for _ in range(400):
            for call in [*self.tab.calls]:
                if call.task is None:
                    await self.serve(call)
                elif call.task.done():
                    call.task.result()
                while call in self.tab.calls and call.is_ready:
                    self.tab.answered(call)
            await a_while()
            if not any(one.task is None or one.is_ready for one in self.tab.calls):
                return
        raise AssertionError("the page never comes to rest")


ACTS = ("heard", "heard", "answered", "answered", "answered", "click", "type", "reload")


async def a_while() -> None:
    """Lets the server do what it can."""
    for _ in range(60):
        await asyncio.sleep(0)


class Stage:
    """The page, built once, over a session for each visit; in one event loop."""

    def __init__(self) -> None:
        self.session = RecordedSession(chosen)
        self.host = SessionHost(self.opened)
        self.runner = asyncio.Runner()
        self.ui = self.runner.run(self.built())

    async def built(self) -> gr.Blocks:
        return build(self.host)  # which makes a loop of its own where none runs

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[RecordedSession]:
        self.session = RecordedSession(chosen)
        yield self.session


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    async def at_once(work: Callable[..., Any], *given: Any, **named: Any) -> Any:
        return work(*given, **named)

    built = Stage()
    with built.runner, pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio, "to_thread", at_once)  # nobody waits for a thread here
        yield built


async def play(stage: Stage, again: str, script: list[tuple[str, int]]) -> None:
    """One visit, and what must hold once it comes to rest."""
    async with stage.host.serving():
        await stage.host.running()
        session = stage.session
        earlier = str(uuid4()) if again else ""
        if again:
            await session.start(Task(text=again), run_id=earlier)
        browsing = Browsing(session, stage.ui, earlier)
        for act, place in script:
            await getattr(browsing, act)(place)
        await browsing.settle()

        tab, known = browsing.tab, session.recorded
        for run in browsing.begun:
            assert run in known or run in browsing.stopped or tab.value("said")
        followed = tab.value("saved-run")["run"]
        last = [one for one in known if one != earlier][-1:]
        assert not last or followed == last[0] or followed in browsing.begun
        phase = fold(session.log(followed)).phase if followed in known else "empty"
        for _ in range(100):  # what the page shows is sent at most so often a second
            if phase != "finished" or 'data-phase="finished"' in tab.value("bench"):
                break
            await asyncio.sleep(0.02)
            await browsing.settle()
        going = phase in ("running", "waiting")
        assert tab.enabled("heal") is not going
        assert bool(tab.parts["stop"]["interactive"]) == going
        if followed in known and phase == "finished":
            assert 'data-phase="finished"' in tab.value("bench")
        for task in (one.task for one in tab.calls):
            assert task is not None
            task.cancel()
        await asyncio.gather(*(one.task for one in tab.calls if one.task), return_exceptions=True)


async def stopped_amid_a_beat(stage: Stage) -> None:
    """The stream of the click on Heal is between two beats while that of Stop tells of the end."""
    async with stage.host.serving():
        await stage.host.running()
        browsing = Browsing(stage.session, stage.ui, "")
        await browsing.settle()
        tab = browsing.tab
        tab.parts["words"]["value"] = "held"
        tab.click("heal")
        (healing,) = tab.calls
        await browsing.serve(healing)
        while healing.answers:
            tab.answered(healing)
        tab.click("stop")
        while others := [one for one in tab.calls if one is not healing and (
            one.task is None or one.is_ready
        )]:
            await browsing.serve(others[0]) if others[0].task is None else tab.answered(others[0])
        assert 'data-phase="finished"' in tab.value("bench")
        assert healing.task is not None
        await healing.task
        await browsing.settle()
        assert 'data-phase="finished"' in tab.value("bench")


def test_an_ended_stream_undoes_nothing(stage: Stage) -> None:
    stage.runner.run(stopped_amid_a_beat(stage))


@settings(max_examples=50)
@given(
    again=st.sampled_from(["", *RUNS]),
    script=st.lists(st.tuples(st.sampled_from(ACTS), st.integers(0, 60)), max_size=40),
)
def test_no_order_of_answers_loses_a_run(
    stage: Stage, again: str, script: list[tuple[str, int]]
) -> None:
    stage.runner.run(play(stage, again, script))
