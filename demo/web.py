"""The page: inputs on the left, the workbench of a run on the right.

A run is a task of the session, known to the browser by its identifier before it begins.
The page only follows it: closing the page stops nothing, reloading follows again.
"""

from __future__ import annotations

import asyncio
import inspect
import signal
import tomllib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from uuid import UUID, uuid4

import gradio as gr
from starlette.applications import Starlette

from agent.domain import Rivals
from agent.events import Stamped, Waiting
from agent.repair.question import BadAnswer, answered_test, choices
from agent.repair.rivals import MOST
from agent.result import Result, fold
from demo import examples, render
from demo.downloads import download_route
from demo.host import Host, Session, Unavailable
from demo.kept import NOBODY, NOTHING, Kept, Typed, Visit, wishing
from demo.pace import paced
from demo.panel import Panel
from demo.place import banner
from demo.strangers import is_loopback
from demo.wanted import NO_MODEL, BadWish, keyed
from demo.wanted import offered as providers_offered
from llm import NoProvider

ASSETS = Path(__file__).with_name("assets")
LONGEST_KEPT = 200_000
"""Characters of input a browser is asked to keep; its storage is small."""

Update = dict[str, Any]
"""New values for parts of the page, or changes of the parts themselves, by the parts' names; what
is left out stays as it is."""


class Page:
    """What happens on the page; every public method handles one kind of event."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.panel = Panel(host)
        self._stopped_early: set[str] = set()
        """Runs that were stopped before they began."""

    async def arrive(
        self, asked: str, kept: Kept | None, code: str, tests: str, words: str,
        visit: Visit | None,
    ) -> Update:
        """A page was opened or reloaded: says who heals here and finds the run to follow, first
        the one that its address asks for.

        What somebody has typed meanwhile is left alone.
        """
        kept = {**NOTHING, **kept} if kept else NOTHING
        visit = self.panel.known({**NOBODY, **visit} if visit else NOBODY)
        run = asked or kept["run"]
        before = {"code": kept["code"], "tests": kept["tests"], "words": kept["words"]}
        typed = before if any(before.values()) and not any((code, tests, words)) else {}
        try:
            running = await self._host.running()
        except Unavailable as fault:
            return {
                "kept": {**kept, "run": "", "interrupt": ""}, "said": render.sentence(str(fault)),
                "plan": "", "banner": "", "visit": visit, **typed, **_buttons(running=False),
            }
        said = ""
        if run and _known(running.session, run) is None:
            said = (
                "That run is not known here: its address is wrong, or its log was removed. "
                "Heal something to start a new one."
            )
            run = ""
        return {
            "kept": {**kept, "run": run, "interrupt": ""}, "said": render.sentence(said),
            "plan": (await self.panel.shown(visit)).plan,
            "banner": banner(running.warning, running.refusal), "visit": visit, **typed,
            **_buttons(running=bool(run), closed=bool(running.refusal)),
        }

    async def offer(self, visit: Visit, *typed: Typed) -> Update:
        """What the visitor wanted of models when the page was left, and what that may cost."""
        try:
            shown = await self.panel.shown(visit, *typed)
        except Unavailable:  # `arrive` has said why
            return {}
        return {
            "provider": visit["provider"], "model": visit["model"], "roles": visit["roles"],
            "spending": shown.spending, "at-hand": shown.keys,
        }

    async def foresee(
        self, visit: Visit, provider: Typed, model: Typed, roles: Typed, *typed: Typed
    ) -> Update:
        """What a run may cost for what is typed now."""
        try:
            shown = await self.panel.shown(wishing(visit, provider, model, roles), *typed)
        except Unavailable:
            return {}
        return {"spending": shown.spending}

    async def begin(self, code: str, tests: str, words: str) -> Update:
        """Gives the browser the run's identifier before the run exists."""
        if len(code) + len(tests) + len(words) > LONGEST_KEPT:
            code = tests = words = ""
        return _begun({
            **NOTHING, "run": str(uuid4()), "code": code, "tests": tests, "words": words,
        })

    async def heal(
        self, kept: Kept, code: str, tests: str, words: str, iterations: float | None,
        visit: Visit = NOBODY, provider: Typed = "", model: Typed = "", roles: Typed = "",
    ) -> AsyncIterator[Update]:
        """Starts the run and follows it."""
        try:
            running = await self._host.running()
            intake = await asyncio.to_thread(running.engine.paste, code, tests, words)
        except Unavailable as fault:
            yield _refused(fault)
            return
        except running.engine.refusals as refusal:
            yield _refused(refusal)
            return
        if running.refusal:
            yield _refused(running.refusal)
            return
        if kept["run"] in self._stopped_early:
            self._stopped_early.discard(kept["run"])
            yield _refused("Stopped before it began.")
            return
        if _known(running.session, kept["run"]) is None:
            try:
                plan = self.panel.plan(running.session, wishing(visit, provider, model, roles))
            except (NoProvider, BadWish) as error:
                yield _refused(error)
                return
            await running.session.start(
                intake.task, run_id=kept["run"], plan=plan, visitor=self.panel.visitor(visit),
                max_iterations=int(iterations) if iterations else None, pauses=True,
            )
        if kept["run"] in self._stopped_early:  # stopped while it was being started
            await running.session.cancel(kept["run"])
        yield {"said": "".join(map(render.sentence, intake.notices))}
        async for shown in self.watch(kept):
            yield shown

    async def choose_behaviour(self, kept: Kept, *, place: int) -> Update:
        """The answer to the question that is shown, by its place among the buttons."""
        rivals = (await self._result(kept["run"])).question
        offered = choices(rivals) if rivals is not None else ()
        if place >= len(offered):
            return _closed(kept)
        labels, _ = offered[place]
        return _begun(_answering(kept, labels.split()[0]))

    async def write_behaviour(self, kept: Kept, written: str) -> Update:
        """The answer to the question that is shown, as a person wrote it; what answers nothing
        is told and stays to be changed."""
        rivals = (await self._result(kept["run"])).question
        if rivals is None:
            return _closed(kept)
        try:
            if answered_test(rivals, written) is None and not kept["interrupt"]:
                raise BadAnswer("That run has ended: there is nothing to skip.")
        except BadAnswer as error:
            return {"kept": kept, "wrong": render.sentence(str(error))}
        return _begun(_answering(kept, written))

    async def answer(self, kept: Kept, visit: Visit = NOBODY) -> AsyncIterator[Update]:
        """Gives the chosen answer, if there is one, and follows the run that it leads to."""
        if not kept["answer"]:
            yield {}
            return
        try:
            session = await self._host.session()
            if kept["asked"]:
                await session.settle(
                    kept["asked"], kept["answer"], run_id=kept["run"],
                    visitor=self.panel.visitor(visit),
                )
            else:
                await session.answer(kept["run"], kept["interrupt"], {"answer": kept["answer"]})
        except (Unavailable, NoProvider, ValueError) as fault:
            yield _refused(fault)
            return
        async for shown in self.watch(kept):
            yield shown

    async def watch(self, kept: Kept) -> AsyncIterator[Update]:
        """Follows a run from its first event until it ends or waits for a person."""
        if not kept["run"]:
            yield {}
            return
        session = await self._host.session()
        seen: tuple[Stamped, ...] = ()
        async for batch in paced(session.follow(kept["run"])):
            if not batch:
                yield {}
                continue
            seen = (*seen, *batch)
            result = fold(seen)
            yield {"bench": render.workbench(result)}
            if result.waiting is not None:
                return

    async def settle(self, kept: Kept, visit: Visit = NOBODY) -> Update:
        """The run ended, waits or never began: gives the buttons back. A page that came to follow
        none is left as it is: by now its visitor may have begun one."""
        if not kept["run"]:
            return {}
        self._stopped_early.discard(kept["run"])
        try:
            here = await self._host.running()
            result = await self._result(kept["run"])
        except Unavailable:  # `heal` has said why
            return {
                "kept": kept, **_buttons(running=False), "review": gr.update(visible=False),
                **_question(None), **_paused(None),
            }
        waiting, closed = result.waiting, bool(here.refusal)
        needs = waiting.needs if waiting is not None else None
        paused = waiting if needs in ("budget", "key") and not closed else None
        own = paused is not None and self.panel.owns(here.session, kept["run"], visit)
        review = waiting is not None and needs == "answer" and waiting.rivals is None
        interrupt = waiting.interrupt if waiting is not None else ""
        return {
            "kept": {**kept, "interrupt": interrupt, "asked": "", "answer": ""},
            **_buttons(running=result.phase in ("running", "waiting"), closed=closed),
            "review": gr.update(visible=review),
            **_question(None if closed else result.question), **_paused(paused, own=own),
        }

    async def settle_answer(self, kept: Kept, visit: Visit = NOBODY) -> Update:
        """As `settle`, once an answer was given. Where what was written answered nothing, the page
        stays as it is: by now another answer may be on its way."""
        return await self.settle(kept, visit) if kept["answer"] else {}

    async def choose(self, kept: Kept, *, typed: dict[str, str]) -> Update:
        """Fills an example in, unless that would put it beside another program's run."""
        try:
            result = await self._result(kept["run"])
        except Unavailable as fault:
            return {"said": render.sentence(str(fault))}
        if result.phase in ("running", "waiting"):
            said = "A run goes on here. Stop it, then choose an example."
            return {"said": render.sentence(said)}
        return {**typed, "said": ""}

    async def stop(self, kept: Kept) -> Update:
        """Cancels the run; whoever follows it sees its end."""
        session = await self._host.session()
        if not kept["run"]:
            return {"said": render.sentence("There is no run to stop.")}
        if _known(session, kept["run"]) is None:
            self._stopped_early.add(kept["run"])
        else:
            await session.cancel(kept["run"])
        return {"said": ""}

    async def decide(self, kept: Kept, *, approve: bool) -> Update:
        """Answers the question that this page showed, and no later one."""
        return await self._given(kept, {"approve": approve})

    async def go_on(self, kept: Kept, visit: Visit = NOBODY, *, end: bool = False) -> Update:
        """Lets a run go on that has reached a cap or lacked a key, or ends it there; only whoever
        started it may have more spent."""
        session = await self._host.session()
        waiting = (await self._result(kept["run"])).waiting
        if waiting is None or waiting.interrupt != kept["interrupt"]:
            said = "That question is closed."
        elif not self.panel.owns(session, kept["run"], visit):
            said = "Only whoever started this run can let it go on."
        elif waiting.needs == "key" and not (end or session.can_go_on(kept["run"])):
            said = "That key is still missing: give it under “Models and keys”."
        else:
            return await self._given(kept, {"end": True} if end else {})
        return {"said": render.sentence(said)}

    async def _given(self, kept: Kept, value: dict[str, object]) -> Update:
        session = await self._host.session()
        try:
            await session.answer(kept["run"], kept["interrupt"], value)
        except Unavailable as refusal:
            return {"said": render.sentence(str(refusal))}
        return {"said": ""}

    async def _result(self, run: str) -> Result:
        session = await self._host.session()
        return fold(_known(session, run) or ()) if run else Result()


def _known(session: Session, run: str) -> tuple[Stamped, ...] | None:
    """The log of a run, or `None` where there is no such run."""
    try:
        return session.log(str(UUID(run)))
    except (KeyError, ValueError):
        return None


def _refused(why: object) -> Update:
    """The page where nothing was begun, and why."""
    return {"bench": render.EMPTY, "said": render.sentence(str(why))}


def _buttons(*, running: bool, closed: bool = False) -> Update:
    """Heal and Stop; where no code is run, there is nothing to heal with."""
    return {
        "heal": gr.update(interactive=not running and not closed),
        "stop": gr.update(interactive=running),
    }


def _begun(kept: Kept) -> Update:
    """The page at the start of a run."""
    return {
        "kept": kept, "said": "", "bench": render.STARTING, **_buttons(running=True),
        "review": gr.update(visible=False), "written": "", "wrong": "", **_question(None),
        **_paused(None),
    }


def _closed(kept: Kept) -> Update:
    """The page where a question was answered that is not open any more."""
    said = render.sentence("That question is closed.")
    return {"kept": kept, "said": said, "written": "", "wrong": "", **_question(None)}


def _answering(kept: Kept, answer: str) -> Kept:
    """What the browser keeps of an answer: a run that waits for it goes on; one that has ended
    is begun again under another identifier, which the browser knows before it exists."""
    if kept["interrupt"]:
        return {**kept, "asked": "", "answer": answer}
    return {**kept, "asked": kept["run"], "answer": answer, "run": str(uuid4())}


def _question(rivals: Rivals | None) -> Update:
    """The row of a question, its words, and a button for each answer."""
    offered = choices(rivals) if rivals is not None else ()
    return {
        "question": gr.update(visible=rivals is not None), "asked": render.question(rivals),
        **{
            name: gr.update(visible=True, value=render.choice(*offered[place]))
            if place < len(offered) else gr.update(visible=False)
            for place, name in enumerate(CHOICES)
        },
    }


def _paused(waiting: Waiting | None, *, own: bool = False) -> Update:
    """The row of a run that waits for caps or a key, its words, and its two buttons."""
    budget = waiting is not None and waiting.needs == "budget"
    go_on = "Add as much again and go on" if budget else "Go on"
    return {
        "paused": gr.update(visible=waiting is not None),
        "needed": render.paused(waiting, own=own) if waiting is not None else "",
        "go-on": gr.update(visible=own, value=go_on), "end-here": gr.update(visible=own),
    }


CHOICES = tuple(f"choice-{place}" for place in range(MOST))
INPUTS = ("code", "tests", "words")
WISHES = ("visit", "provider", "model", "roles")
SETTLED = (
    "kept", "heal", "stop", "review", "question", "asked", *CHOICES, "paused", "needed", "go-on",
    "end-here",
)
"""The parts that change where a run has ended or waits."""
BEGUN = (*SETTLED, "said", "bench", "written", "wrong")
"""Those that change where one begins, or a question is answered."""
ARRIVED = ("kept", "plan", "said", *INPUTS, "visit", "heal", "stop", "banner")
QUICK: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
STREAMED: dict[str, Any] = {
    "concurrency_limit": None, "show_progress": "hidden", "api_visibility": "private",
}
IDLE_S = 0.05
"""How long Gradio's queue sleeps between two looks where nothing waits: at its own 1 ms a page
that nobody uses takes a twentieth of a core. There is no setting for it."""


class Parts:
    """The parts of the page by their names, which are their identifiers in the browser too."""

    def __init__(self) -> None:
        self._parts: dict[str, Any] = {}

    def add(self, name: str, part: Any) -> Any:
        """Names a part that was just made."""
        part.elem_id = name
        self._parts[name] = part
        return part

    def __getitem__(self, name: str) -> Any:
        return self._parts[name]

    def of(self, *names: str) -> list[Any]:
        return [self._parts[name] for name in names]

    def on(
        self, event: Callable[..., Any], act: Callable[..., Any], given: tuple[str, ...],
        changed: tuple[str, ...], how: dict[str, Any] = QUICK, **fixed: object,
    ) -> Any:
        """Has `act` change some parts from what others hold, whenever `event` happens."""

        async def once(*values: Any) -> Any:
            return _in_order(await act(*values, **fixed), changed)

        async def streaming(*values: Any) -> AsyncIterator[Any]:
            async for update in act(*values, **fixed):
                yield _in_order(update, changed)

        acting = streaming if inspect.isasyncgenfunction(act) else once
        return event(acting, self.of(*given), self.of(*changed), **how)


def _in_order(update: Update, changed: tuple[str, ...]) -> Any:
    """The values of an update as Gradio takes them."""
    values = [update.get(name, gr.skip()) for name in changed]
    return values if len(values) > 1 else values[0]


class PageTheme(gr.themes.Base):
    """The theme that `assets/theme.toml` describes."""

    def __init__(self) -> None:
        look = tomllib.loads((ASSETS / "theme.toml").read_text(encoding="utf-8"))
        accent = gr.themes.Color(*look["accent"])
        super().__init__(
            primary_hue=accent,
            secondary_hue=accent,
            neutral_hue=gr.themes.Color(*look["neutral"]),
            font=[gr.themes.LocalFont(look["font"], look["weights"]), "system-ui", "sans-serif"],
            font_mono=[gr.themes.LocalFont(look["font_mono"], look["weights"]), "monospace"],
        )
        super().set(**look["variables"])


def build(host: Host, *, max_iterations: int = 5) -> gr.Blocks:
    """The page, not served yet."""
    parts = Parts()
    ui = gr.Blocks(title="Self-Healing Code Agent", fill_width=True, analytics_enabled=False)
    with ui:
        for name, nothing in (("kept", NOTHING), ("visit", NOBODY)):
            parts.add(name, gr.BrowserState(
                dict(nothing), secret="kept-in-your-browser",
                storage_key=f"self-healing-code-agent{'' if name == 'kept' else '-visit'}",
            ))
        parts.add("banner", gr.HTML(""))
        parts.add("masthead", gr.HTML(render.MASTHEAD))
        parts.add("plan", gr.HTML(""))
        with gr.Row(elem_id="shell"):
            with gr.Column(scale=36, min_width=320, elem_id="editors"):
                _lay_inputs(parts, public=host.door.public, max_iterations=max_iterations)
            with gr.Column(scale=64, min_width=320, elem_id="output"):
                _lay_output(parts)
            with gr.Column(scale=36, min_width=320, elem_id="examples"):
                cards = _lay_examples()
        _wire(ui, parts, Page(host), cards)
    ui.queue(default_concurrency_limit=None, max_size=256)
    ui._queue.sleep_when_free = ui._queue.progress_update_sleep_when_free = IDLE_S
    return ui


def _lay_inputs(parts: Parts, *, public: bool, max_iterations: int) -> None:
    """What a visitor brings, and who is to answer."""
    parts.add("said", gr.HTML(""))
    parts.add("code", gr.Code(
        label="Your Python", language="python", lines=12, max_lines=12, buttons=[],
    ))
    parts.add("tests", gr.Code(
        label="Tests that should pass (optional)", lines=6, max_lines=6, buttons=[],
    ))
    parts.add("words", gr.Textbox(
        label="Or a task in words, with examples", lines=3, max_lines=3,
        placeholder="Write double(n). double(4) returns 8.",
    ))
    with gr.Row(elem_id="actions"):
        # Enabled on arrival: a click before it would be undone by what arrives.
        parts.add("heal", gr.Button(
            "Heal it", variant="primary", min_width=120, interactive=False,
        ))
        parts.add("stop", gr.Button("Stop", interactive=False, min_width=80))
    parts.add("keys", gr.HTML(render.KEYS))
    parts.add("spending", gr.HTML(""))
    with gr.Accordion("Models and keys", open=False, elem_id="models"):
        with gr.Row(elem_classes="pair"):
            names = [(name, name) for name in providers_offered(public=public)]
            parts.add("provider", gr.Dropdown(
                [("as planned", ""), ("no model", NO_MODEL), *names], value="",
                label="Who answers", min_width=120,
            ))
            parts.add("model", gr.Textbox(
                "", label="Its model", placeholder="its usual one", max_lines=1, min_width=120,
            ))
        parts.add("roles", gr.Textbox(
            "", label="Roles given to others", max_lines=1,
            placeholder="debugger=anthropic, generator=groq/MODEL",
        ))
        with gr.Row(elem_classes="pair"):
            parts.add("whose", gr.Dropdown(
                list(keyed(public=public)), label="Key for", min_width=120,
            ))
            parts.add("key", gr.Textbox(
                "", label="Key", type="password", max_lines=1, min_width=120,
                html_attributes=gr.InputHTMLAttributes(autocomplete="off", spellcheck=False),
            ))
        with gr.Row(elem_classes="trio"):
            for name, label in (("use-key", "Use this key"), ("test-key", "Test key"),
                                ("forget-keys", "Forget my keys")):
                parts.add(name, gr.Button(label, min_width=80, size="sm"))
        parts.add("at-hand", gr.HTML(""))
        parts.add("came", gr.HTML(""))
    with gr.Accordion("Options", open=False, elem_id="options"):
        parts.add("iterations", gr.Slider(
            1, 10, value=max_iterations, step=1, label="Repair attempts at most",
        ))


def _lay_output(parts: Parts) -> None:
    """What is asked of a visitor, above the workbench."""
    with parts.add("review", gr.Row(visible=False)):
        parts.add("approve", gr.Button("Approve the patch", variant="primary"))
        parts.add("reject", gr.Button("Reject it"))
    with parts.add("paused", gr.Column(visible=False)):
        parts.add("needed", gr.HTML(""))
        with gr.Row(elem_id="pause-buttons"):
            parts.add("go-on", gr.Button("Go on", variant="primary"))
            parts.add("end-here", gr.Button("End here"))
    with parts.add("question", gr.Column(visible=False)):
        parts.add("asked", gr.HTML(""))
        with gr.Row(elem_id="choices"):
            for name in CHOICES:
                parts.add(name, gr.Button(
                    "", elem_classes="choice", visible=False, min_width=120,
                ))
        with gr.Row(elem_id="other"):
            parts.add("written", gr.Textbox(
                label="None of these? What is right, as Python writes it",
                placeholder="0, 'text', [1, 2], raises ValueError", max_lines=1, scale=1,
            ))
            parts.add("write", gr.Button("This is right", scale=0, min_width=130))
        parts.add("wrong", gr.HTML(""))
    parts.add("bench", gr.HTML(render.EMPTY))


def _lay_examples() -> list[tuple[gr.Button, dict[str, str]]]:
    """A button for each example, with what it fills in."""
    gr.HTML(render.EXAMPLES_TITLE, elem_classes="cards-title")
    broken, drafts = examples.load()
    filled = [
        *((f"{card.title}\n{card.blurb}", (card.code, card.tests, "")) for card in broken),
        *((f"{draft.title}\nA task in words", ("", "", draft.task)) for draft in drafts),
    ]
    with gr.Column(elem_classes="cards"):
        return [
            (gr.Button(label, elem_classes="card"), dict(zip(INPUTS, typed, strict=True)))
            for label, typed in filled
        ]


def _wire(
    ui: gr.Blocks, parts: Parts, page: Page, cards: list[tuple[gr.Button, dict[str, str]]]
) -> None:
    """What happens at which event."""
    on, state = parts.on, ("kept", "visit")

    def addressed(event: Any) -> Any:
        return event.then(None, parts["kept"], None, js=_ADDRESS, **QUICK)

    begun = addressed(on(parts["heal"].click, page.begin, INPUTS, BEGUN))
    run = on(
        begun.then, page.heal, ("kept", *INPUTS, "iterations", *WISHES), ("bench", "said"), STREAMED
    )
    on(run.then, page.settle, state, SETTLED)
    on(parts["stop"].click, page.stop, ("kept",), ("said",))
    for event in (
        on(parts["approve"].click, page.decide, ("kept",), ("said",), approve=True),
        on(parts["reject"].click, page.decide, ("kept",), ("said",), approve=False),
        on(parts["go-on"].click, page.go_on, state, ("said",)),
        on(parts["end-here"].click, page.go_on, state, ("said",), end=True),
    ):
        watched = on(event.then, page.watch, ("kept",), ("bench",), STREAMED)
        on(watched.then, page.settle, state, SETTLED)
    for event in (
        *(on(parts[name].click, page.choose_behaviour, ("kept",), BEGUN, place=place)
          for place, name in enumerate(CHOICES)),
        *(on(given, page.write_behaviour, ("kept", "written"), BEGUN)
          for given in (parts["write"].click, parts["written"].submit)),
    ):
        answered = on(addressed(event).then, page.answer, state, ("bench", "said"), STREAMED)
        on(answered.then, page.settle_answer, state, SETTLED)
    for button, typed in cards:
        chosen = on(button.click, page.choose, ("kept",), (*INPUTS, "said"), typed=typed)
        chosen.then(None, None, None, js=_PRESS, **QUICK)
    told = parts.of("visit", "plan", "spending", "at-hand", "came", "key")
    wished = parts.of(*WISHES, *INPUTS)
    for left in (parts["provider"].input, *(
        event for name in ("model", "roles") for event in (parts[name].blur, parts[name].submit)
    )):
        left(page.panel.want, wished, told[:-1], **QUICK)
    given_key = parts.of(*WISHES, "whose", "key", *INPUTS)
    for name, act in (("use-key", page.panel.use_key), ("test-key", page.panel.test_key),
                      ("forget-keys", page.panel.forget_keys)):
        parts[name].click(act, given_key, told, **QUICK)
    for name in INPUTS:
        on(parts[name].blur, page.foresee, (*WISHES, *INPUTS), ("spending",))

    async def arrive(request: gr.Request, *values: Any) -> Any:
        asked = request.query_params.get("run", "")
        return _in_order(await page.arrive(asked, *values), ARRIVED)

    arrived = ui.load(
        arrive, parts.of("kept", *INPUTS, "visit"), parts.of(*ARRIVED), **QUICK
    )
    on(arrived.then, page.offer, ("visit", *INPUTS),
       ("provider", "model", "roles", "spending", "at-hand"))
    watched = on(arrived.then, page.watch, ("kept",), ("bench",), STREAMED)
    on(watched.then, page.settle, state, SETTLED)


_ADDRESS = """(kept) => {
  const address = new URL(location.href);
  address.searchParams.set("run", kept.run);
  history.replaceState(history.state, "", address);
}"""
_PRESS = """() => { setTimeout(() => document.querySelector("button#heal").click(), 80); }"""


def serve(
    ui: gr.Blocks, host: Host, server_name: str, server_port: int, *, block: bool = True
) -> str:
    """Serves the page until interrupted, or in the background; returns its address, which is
    empty where it was interrupted before it stood.

    Raises `OSError` where the port is taken, and `ValueError` for a name that other machines
    can reach while the host's door was made for this one alone.
    """
    if not host.door.public and not is_loopback(server_name):
        raise ValueError(f"{server_name} can be reached from elsewhere: use Door(public=True)")

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.router.routes.insert(0, download_route(host))
        async with host.serving():
            yield

    if block:
        signal.signal(signal.SIGTERM, _interrupted)
    try:
        _, address, _ = ui.launch(
            server_name=server_name,
            server_port=server_port,
            prevent_thread_lock=not block,
            max_threads=256,
            ssr_mode=False,
            # An environment variable of Gradio's would open a tunnel to a page of this machine.
            share=False,
            run_history=False,
            enable_monitoring=False,
            footer_links=[],
            theme=PageTheme(),
            css_paths=ASSETS / "page.css",
            js=(ASSETS / "page.js").read_text(encoding="utf-8"),
            app_kwargs={"lifespan": lifespan},
        )
    except KeyboardInterrupt:
        # While serving, Gradio takes the interrupt itself; this one came during the start.
        ui.close()
        return ""
    return str(address)


def _interrupted(_number: int, _frame: FrameType | None) -> None:
    """A stop from outside closes runs and files as Ctrl+C does; Gradio listens only to that."""
    raise KeyboardInterrupt
