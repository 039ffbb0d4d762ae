"""The parts of the page by name, and how an act is wired to what it changes."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import uuid4

import gradio as gr

from demo.browser_state import (
    NO_RUN,
    OPTIONS,
    WISHES,
    BrowserRun,
    Update,
    Visit,
    with_choices,
)
from demo.serving import visitors
from demo.serving.host import Unavailable
from demo.views.escape import sentence

QUICK: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
MULTIPLE: dict[str, Any] = {"trigger_mode": "multiple"}
"""By default the page drops an event without a word while its last one is still being answered."""
STREAMED: dict[str, Any] = {
    "concurrency_limit": None, "show_progress": "hidden", "api_visibility": "private",
    **MULTIPLE,
}
MESSAGE_PARTS = ("said", "runs-message", "memory-message", "benchmarks-list")
"""The parts that say why an act could not be."""
AS_SENT: dict[str, Any] = {"preprocess": False}
"""A value that no field has, as a program may send, is refused in words, or cleaned, by who reads
it; Gradio's own check would be a fault."""
ANSWERED = "answered"
"""The part that holds the answer to an act until it is known whether the page still follows the run
that it was asked about."""

ADDRESS = """(kept) => {
  const address = new URL(location.href);
  if (kept.run) address.searchParams.set("run", kept.run);
  else address.searchParams.delete("run");
  history.replaceState(history.state, "", address);
}"""
"""Has the page's address name the run that it follows."""


class Parts:
    """The parts of the page by their names, which are their identifiers in the browser too."""

    def __init__(self) -> None:
        self._parts: dict[str, Any] = {}

    def add(self, name: str, part: Any) -> Any:
        """Names a part that was just made."""
        part.elem_id = name
        self._parts[name] = part
        return part

    @contextmanager
    def later(self, name: str, label: str) -> Iterator[None]:
        """A closed accordion, whose parts the page loads when it is first opened."""
        before = {*self._parts}
        with self.add(name, gr.Accordion(label, open=False)):
            yield
        inside = [part for one, part in self._parts.items() if one not in {*before, name}]
        for part in inside:
            part.visible = False
        self[name].expand(
            None, None, inside, **QUICK,
            js=f"() => Array({len(inside)}).fill({{ __type__: 'update', visible: true }})",
        )

    def __getitem__(self, name: str) -> Any:
        return self._parts[name]

    def of(self, *names: str) -> list[Any]:
        return [self._parts[name] for name in names]

    def on(
        self, event: Callable[..., Any], act: Callable[..., Any], given: tuple[str, ...],
        changed: tuple[str, ...], how: dict[str, Any] = QUICK, asked: tuple[str, ...] = (),
        stirs: str = "", **fixed: object,
    ) -> Any:
        """Has `act` change some parts from what others hold, whenever `event` happens. `WISHES`,
        where `given` begins with them, are given as one visit. Who visits is what the request
        says; `asked` names what of its page's address comes before all that. The part `stirs`
        changes each time, so that what is the same after many acts is wired once."""
        told = (*changed, stirs) if stirs else changed
        wishes = len(WISHES) if given[:len(WISHES)] == WISHES else 0

        def taken(request: gr.Request, values: tuple[Any, ...]) -> tuple[Any, ...]:
            read = _read(request, given, values)
            read = (with_choices(*read[:wishes]), *read[wishes:]) if wishes else read
            return (*(request.query_params.get(name, "") for name in asked), *read)

        async def once(request: gr.Request, *values: Any) -> Any:
            try:
                update = await act(*taken(request, values), **fixed)
            except Unavailable as lack:
                update = lacking(lack, changed)
            return in_order({**update, stirs: uuid4().hex}, told, request)

        async def streaming(request: gr.Request, *values: Any) -> AsyncIterator[Any]:
            try:
                async for update in act(*taken(request, values), **fixed):
                    yield in_order(update, changed, request)
            except Unavailable as lack:
                yield in_order(lacking(lack, changed), changed, request)
            # As a stream ends, Gradio tells its last values once more: by then another one may have
            # told newer ones.
            yield in_order({}, changed, request)

        acting = streaming if inspect.isasyncgenfunction(act) else once
        return event(acting, self.of(*given), self.of(*told), **how, **AS_SENT)

    def on_button(
        self, name: str, act: Callable[..., Any], given: tuple[str, ...], changed: tuple[str, ...]
    ) -> Any:
        """Has `act` change some parts by what a button inside of a part tells of itself, and by
        what others hold."""

        async def once(request: gr.Request, told: gr.EventData, *values: Any) -> Any:
            said = told._data if isinstance(told._data, dict) else {}
            try:
                update = await act(said, *_read(request, given, values))
            except Unavailable as lack:
                update = lacking(lack, changed)
            return in_order(update, changed, request)

        return self._parts[name].submit(
            once, self.of(*given), self.of(*changed), **QUICK, **AS_SENT
        )

    def guarded(
        self, event: Callable[..., Any], act: Callable[..., Any], given: tuple[str, ...],
        changed: tuple[str, ...], *, js: str | None = None, always: tuple[str, ...] = (),
        stirs: str = "", asked: tuple[str, ...] = (), **fixed: Any,
    ) -> Any:
        """As `on`, for an act upon the run that the page follows, the first of what is `given`:
        where by the time of its answer the page follows another, nothing is changed but the parts
        that are `always`. Answers can come in any order, and one about an earlier run would undo
        what was begun since. The page's address comes to name the run that it follows, and the
        part `stirs` changes where something is to follow."""

        async def boxed(*values: Any, **fixed: Any) -> Update:
            kept: BrowserRun = values[len(asked)]
            try:
                update = await act(*values, **fixed)
            except Unavailable as lack:
                update = lacking(lack, changed)
            placed = {str(n): update[name] for n, name in enumerate(changed) if name in update}
            said = {name: update[name] for name in always if name in update}
            return {**said, ANSWERED: {"run": kept["run"], "parts": placed}}

        how = {**QUICK, **MULTIPLE, "js": js}
        told = self.on(event, partial(boxed, **fixed), given, (*always, ANSWERED), how, asked)
        last = (ANSWERED, stirs) if stirs else (ANSWERED,)
        place = changed.index("kept") if "kept" in changed else -1
        return told.then(
            None, self.of("kept", ANSWERED), self.of(*changed, *last), **QUICK,
            js=f"""(kept, answered) => {{
              const parts = answered.run === kept.run ? answered.parts : {{}};
              if (parts[{place}]) ({ADDRESS})(parts[{place}]);
              return [...Array.from({{ length: {len(changed)} }}, (_, place) => parts[place]), {{}},
                String(Math.random())].slice(0, {len(changed) + len(last)});
            }}""",
        )


def lacking(lack: Unavailable, changed: tuple[str, ...]) -> Update:
    """Why the engine does not work, in the first of the changed parts that says something."""
    told = [name for name in changed if name in MESSAGE_PARTS]
    return {name: sentence(str(lack)) for name in told[:1]}


def in_order(update: Update, changed: tuple[str, ...], request: gr.Request) -> Any:
    """The values of an update as Gradio takes them, to go to whoever asked."""
    if "visit" in update:
        kept = visitors.to_keep(update["visit"], request)
        update = {**update, "visit": {**kept, "page": ""}}
    values = [update.get(name, gr.skip()) for name in changed]
    return values if len(values) > 1 else values[0]


def _read(
    request: gr.Request, given: tuple[str, ...], values: tuple[Any, ...]
) -> tuple[Any, ...]:
    """The values of the parts of these names; the options are read by `chosen`."""
    return tuple(
        value if name in OPTIONS else _READ.get(name, _text)(request, value)
        for name, value in zip(given, values, strict=True)
    )


def _text(_: gr.Request, told: object) -> str:
    """What a field holds; nothing where it is left while its page is being loaded."""
    return told if isinstance(told, str) else ""


def _run_kept(_: gr.Request, told: object) -> dict[str, str]:
    """What a browser says that it keeps of a run, in the form that every act counts on."""
    said = told if isinstance(told, dict) else {}
    return {name: one if isinstance(one := said.get(name), str) else "" for name in NO_RUN}


def _visiting(request: gr.Request, told: object) -> Visit:
    return {**visitors.visiting(request, told), "page": request.session_hash or ""}


_READ: dict[str, Callable[[gr.Request, object], Any]] = {
    "visit": _visiting, "kept": _run_kept,
}
"""Who asks may say anything: how the parts are read that acts count on."""
