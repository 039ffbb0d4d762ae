"""The parts of the page by name, and helpers to connect events with handlers."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from uuid import uuid4

import gradio as gr

from demo.browser_state import (
    MODEL_CHOICES,
    NO_RUN,
    OPTIONS,
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
"""By default Gradio silently drops an event while the previous one is still being handled."""
STREAMED: dict[str, Any] = {
    "concurrency_limit": None, "show_progress": "hidden", "api_visibility": "private",
    **MULTIPLE,
}
MESSAGE_PARTS = ("said", "runs-message", "memory-message", "benchmarks-list")
"""The parts that show why an action failed."""
UNVALIDATED: dict[str, Any] = {"preprocess": False}
"""Gradio's own check would raise an internal error for invalid values, which programs may send. The
handlers validate them instead."""
ANSWERED = "answered"
"""The part that holds the result of a handler until it is known whether the page still follows the
same run."""

ADDRESS = """(kept) => {
  const address = new URL(location.href);
  if (kept.run) address.searchParams.set("run", kept.run);
  else address.searchParams.delete("run");
  history.replaceState(history.state, "", address);
}"""
"""Puts the id of the followed run into the page's address."""


class Parts:
    """The parts of the page by name; the names are also their element ids."""

    def __init__(self) -> None:
        self._parts: dict[str, Any] = {}

    def add(self, name: str, part: Any) -> Any:
        """Adds a part under a name."""
        part.elem_id = name
        self._parts[name] = part
        return part

    @contextmanager
    def add_lazy_accordion(self, name: str, label: str) -> Iterator[None]:
        """Adds a closed accordion, whose parts are loaded when it is first opened."""
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
        triggers: str = "", **fixed: object,
    ) -> Any:
        """Connects an event with a handler.

        Args:
            act: The handler; it returns or yields an `Update`.
            given: The parts whose values it gets. Leading `MODEL_CHOICES` are passed as one visit.
            changed: The parts that it may change.
            asked: Parameters of the page's address that it gets first.
            triggers: A part that changes after each call, to trigger a common follow-up.
        """
        outputs = (*changed, triggers) if triggers else changed
        choices = len(MODEL_CHOICES) if given[:len(MODEL_CHOICES)] == MODEL_CHOICES else 0

        def taken(request: gr.Request, values: tuple[Any, ...]) -> tuple[Any, ...]:
            read = _read(request, given, values)
            read = (with_choices(*read[:choices]), *read[choices:]) if choices else read
            return (*(request.query_params.get(name, "") for name in asked), *read)

        async def once(request: gr.Request, *values: Any) -> Any:
            try:
                update = await act(*taken(request, values), **fixed)
            except Unavailable as lack:
                update = unavailable_update(lack, changed)
            return output_values({**update, triggers: uuid4().hex}, outputs, request)

        async def streaming(request: gr.Request, *values: Any) -> AsyncIterator[Any]:
            try:
                async for update in act(*taken(request, values), **fixed):
                    yield output_values(update, changed, request)
            except Unavailable as lack:
                yield output_values(unavailable_update(lack, changed), changed, request)
            # At the end of a stream Gradio sends its last values again, which could overwrite newer
            # values of another stream.
            yield output_values({}, changed, request)

        acting = streaming if inspect.isasyncgenfunction(act) else once
        return event(acting, self.of(*given), self.of(*outputs), **how, **UNVALIDATED)

    def on_button(
        self, name: str, act: Callable[..., Any], given: tuple[str, ...], changed: tuple[str, ...]
    ) -> Any:
        """Connects the buttons inside of a part with a handler, which gets the button's data and
        the values of the `given` parts."""

        async def once(request: gr.Request, event: gr.EventData, *values: Any) -> Any:
            action = event._data if isinstance(event._data, dict) else {}
            try:
                update = await act(action, *_read(request, given, values))
            except Unavailable as lack:
                update = unavailable_update(lack, changed)
            return output_values(update, changed, request)

        return self._parts[name].submit(
            once, self.of(*given), self.of(*changed), **QUICK, **UNVALIDATED
        )

    def guarded(
        self, event: Callable[..., Any], act: Callable[..., Any], given: tuple[str, ...],
        changed: tuple[str, ...], *, js: str | None = None, always: tuple[str, ...] = (),
        triggers: str = "", asked: tuple[str, ...] = (), **fixed: Any,
    ) -> Any:
        """Connects an event with a handler for the followed run, the first of the `given` parts.

        Results can arrive in any order. If the page follows another run by then, only the `always`
        parts change. The page's address is updated to the followed run. See `on` for the other
        arguments.
        """

        async def boxed(*values: Any, **fixed: Any) -> Update:
            kept: BrowserRun = values[len(asked)]
            try:
                update = await act(*values, **fixed)
            except Unavailable as lack:
                update = unavailable_update(lack, changed)
            placed = {str(n): update[name] for n, name in enumerate(changed) if name in update}
            direct = {name: update[name] for name in always if name in update}
            return {**direct, ANSWERED: {"run": kept["run"], "parts": placed}}

        how = {**QUICK, **MULTIPLE, "js": js}
        handled = self.on(event, partial(boxed, **fixed), given, (*always, ANSWERED), how, asked)
        last = (ANSWERED, triggers) if triggers else (ANSWERED,)
        place = changed.index("saved-run") if "saved-run" in changed else -1
        return handled.then(
            None, self.of("saved-run", ANSWERED), self.of(*changed, *last), **QUICK,
            js=f"""(kept, answered) => {{
              const parts = answered.run === kept.run ? answered.parts : {{}};
              if (parts[{place}]) ({ADDRESS})(parts[{place}]);
              return [...Array.from({{ length: {len(changed)} }}, (_, place) => parts[place]), {{}},
                String(Math.random())].slice(0, {len(changed) + len(last)});
            }}""",
        )


def unavailable_update(lack: Unavailable, changed: tuple[str, ...]) -> Update:
    """Shows why the engine is unavailable, in the first changed part that shows messages."""
    shown = [name for name in changed if name in MESSAGE_PARTS]
    return {name: sentence(str(lack)) for name in shown[:1]}


def output_values(update: Update, changed: tuple[str, ...], request: gr.Request) -> Any:
    """Returns the values of an update in the order that Gradio expects."""
    if "visit" in update:
        kept = visitors.visit_to_save(update["visit"], request)
        update = {**update, "visit": {**kept, "page": ""}}
    values = [update.get(name, gr.skip()) for name in changed]
    return values if len(values) > 1 else values[0]


def _read(request: gr.Request, given: tuple[str, ...], values: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(
        value if name in OPTIONS else _READ.get(name, _text)(request, value)
        for name, value in zip(given, values, strict=True)
    )


def _text(_: gr.Request, value: object) -> str:
    return value if isinstance(value, str) else ""


def _saved_run(_: gr.Request, value: object) -> dict[str, str]:
    """Reads the run that a browser has saved."""
    saved = value if isinstance(value, dict) else {}
    return {name: one if isinstance(one := saved.get(name), str) else "" for name in NO_RUN}


def _visiting(request: gr.Request, value: object) -> Visit:
    return {**visitors.visiting(request, value), "page": request.session_hash or ""}


_READ: dict[str, Callable[[gr.Request, object], Any]] = {
    "visit": _visiting, "saved-run": _saved_run,
}
"""Functions that validate parts with a fixed form, since a request may contain anything."""
