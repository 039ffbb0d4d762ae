"""The page: inputs on the left, the workbench of a run on the right.

A run is a task of the session, known to the browser by its identifier before it begins.
The page only follows it: closing the page stops nothing, reloading follows again.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import gradio as gr
from starlette.applications import Starlette

from agent.domain import Rivals
from agent.events import Stamped, Waiting
from agent.repair.question import BadAnswer, answered_test, choices
from agent.repair.rivals import MOST
from agent.result import Result as View
from agent.result import fold
from demo import examples, render, theme
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


class Begun(NamedTuple):
    """What changes where a run begins, or a question is answered: a value for each part of the
    page, or the parts themselves; what is left out stays as it is."""

    kept: Any
    said: Any = gr.skip()
    bench: Any = gr.skip()
    heal: Any = gr.skip()
    stop: Any = gr.skip()
    review: Any = gr.skip()
    written: Any = gr.skip()
    wrong: Any = gr.skip()
    asking: tuple[Any, ...] = (gr.skip(),) * (2 + MOST)
    """The row of a question, its words and its buttons, as `_question` has them."""
    pausing: tuple[Any, ...] = (gr.skip(),) * 4
    """The row of a run that waits for caps or a key, as `_paused` has it."""

    def flat(self) -> tuple[Any, ...]:
        """All of them in one row, as Gradio takes them."""
        return (*self[:-2], *self.asking, *self.pausing)


class Page:
    """What happens on the page; every public method handles one kind of event."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.panel = Panel(host)
        self._unborn: set[str] = set()
        """Runs that were stopped before they began."""

    async def arrive(
        self, kept: Kept | None, code: str, tests: str, words: str, visit: Visit | None,
        request: gr.Request,
    ) -> tuple[Any, ...]:
        """A page was opened or reloaded: says who heals here and finds the run to follow.

        What somebody has typed meanwhile is left alone.
        """
        asked = request.query_params.get("run", "")
        kept = {**NOTHING, **kept} if kept else NOTHING
        visit = self.panel.known({**NOBODY, **visit} if visit else NOBODY)
        run = asked or kept["run"]
        typed: tuple[Any, ...] = (kept["code"], kept["tests"], kept["words"])
        if any((code, tests, words)) or not any(typed):
            typed = (gr.skip(), gr.skip(), gr.skip())
        try:
            running = await self._host.running()
        except Unavailable as fault:
            kept = {**kept, "run": "", "interrupt": ""}
            told = render.sentence(str(fault))
            return (kept, "", told, *typed, visit, *_buttons(running=False), "")
        session = running.session
        plan = (await self.panel.shown(visit)).plan
        warned = banner(running.warning, running.refusal)
        said = ""
        if run and _known(session, run) is None:
            said = (
                "That run is not known here: its address is wrong, or its log was removed. "
                "Heal something to start a new one."
            )
            run = ""
        kept = {**kept, "run": run, "interrupt": ""}
        buttons = _buttons(running=bool(run), closed=bool(running.refusal))
        return (kept, plan, render.sentence(said), *typed, visit, *buttons, warned)

    async def offer(self, visit: Visit, *typed: Typed) -> tuple[Any, ...]:
        """What the visitor wanted of models when the page was left, and what that may cost."""
        try:
            shown = await self.panel.shown(visit, *typed)
        except Unavailable:  # `arrive` has said why
            return (gr.skip(),) * 5
        return (visit["provider"], visit["model"], visit["roles"], shown.spending, shown.keys)

    async def foresee(
        self, visit: Visit, provider: Typed, model: Typed, roles: Typed, *typed: Typed
    ) -> Any:
        """What a run may cost for what is typed now."""
        try:
            shown = await self.panel.shown(wishing(visit, provider, model, roles), *typed)
        except Unavailable:
            return gr.skip()
        return shown.spending

    def begin(self, code: str, tests: str, words: str) -> tuple[Any, ...]:
        """Gives the browser the run's identifier before the run exists."""
        if len(code) + len(tests) + len(words) > LONGEST_KEPT:
            code = tests = words = ""
        return _begun({
            **NOTHING, "run": str(uuid4()), "code": code, "tests": tests, "words": words,
        })

    async def heal(
        self, kept: Kept, code: str, tests: str, words: str, iterations: float | None,
        visit: Visit = NOBODY, provider: Typed = "", model: Typed = "", roles: Typed = "",
    ) -> AsyncIterator[tuple[Any, Any]]:
        """Starts the run and follows it."""
        try:
            running = await self._host.running()
            intake = await asyncio.to_thread(running.engine.paste, code, tests, words)
        except Unavailable as fault:
            yield render.EMPTY, render.sentence(str(fault))
            return
        except running.engine.refusals as refusal:
            yield render.EMPTY, render.sentence(str(refusal))
            return
        if running.refusal:
            yield render.EMPTY, render.sentence(running.refusal)
            return
        if kept["run"] in self._unborn:
            self._unborn.discard(kept["run"])
            yield render.EMPTY, render.sentence("Stopped before it began.")
            return
        limit = int(iterations) if iterations else None
        if _known(running.session, kept["run"]) is None:
            try:
                plan = self.panel.plan(
                    running.session, wishing(visit, provider, model, roles)
                )
            except (NoProvider, BadWish) as error:
                yield render.EMPTY, render.sentence(str(error))
                return
            await running.session.start(
                intake.task, run_id=kept["run"], max_iterations=limit, plan=plan,
                visitor=self.panel.visitor(visit), pauses=True,
            )
        if kept["run"] in self._unborn:  # stopped while it was being started
            await running.session.cancel(kept["run"])
        yield gr.skip(), "".join(map(render.sentence, intake.notices))
        async for shown in self.watch(kept):
            yield shown, gr.skip()

    async def choose_behaviour(self, kept: Kept, place: int) -> tuple[Any, ...]:
        """The answer to the question that is shown, by its place among the buttons."""
        rivals = (await self._view(kept["run"])).question
        offered = choices(rivals) if rivals is not None else ()
        if place >= len(offered):
            return _closed(kept)
        labels, _ = offered[place]
        return _begun(_answering(kept, labels.split()[0]))

    async def write_behaviour(self, kept: Kept, written: str) -> tuple[Any, ...]:
        """The answer to the question that is shown, as a person wrote it; what answers nothing
        is told and stays to be changed."""
        rivals = (await self._view(kept["run"])).question
        if rivals is None:
            return _closed(kept)
        try:
            if answered_test(rivals, written) is None and not kept["interrupt"]:
                raise BadAnswer("That run has ended: there is nothing to skip.")
        except BadAnswer as error:
            return Begun(kept, wrong=render.sentence(str(error))).flat()
        return _begun(_answering(kept, written))

    async def answer(self, kept: Kept, visit: Visit = NOBODY) -> AsyncIterator[tuple[Any, Any]]:
        """Gives the chosen answer, if there is one, and follows the run that it leads to."""
        if not kept["answer"]:
            yield gr.skip(), gr.skip()
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
            yield render.EMPTY, render.sentence(str(fault))
            return
        async for shown in self.watch(kept):
            yield shown, gr.skip()

    async def watch(self, kept: Kept) -> AsyncIterator[Any]:
        """Follows a run from its first event until it ends or waits for a person."""
        if not kept["run"]:
            yield render.EMPTY
            return
        session = await self._host.session()
        seen: tuple[Stamped, ...] = ()
        async for batch in paced(session.follow(kept["run"])):
            if not batch:
                yield gr.skip()
                continue
            seen = (*seen, *batch)
            view = fold(seen)
            yield render.workbench(view)
            if view.waiting is not None:
                return

    async def settle(self, kept: Kept, visit: Visit = NOBODY) -> tuple[Any, ...]:
        """The run ended, waits or never began: gives the buttons back."""
        self._unborn.discard(kept["run"])
        try:
            view = await self._view(kept["run"])
        except Unavailable:  # `heal` has said why
            hidden = gr.update(visible=False)
            return (kept, *_buttons(running=False), hidden, *_question(None), *_paused(None))
        waiting = view.waiting
        kept = {
            **kept, "interrupt": waiting.interrupt if waiting is not None else "",
            "asked": "", "answer": "",
        }
        running = view.phase in ("running", "waiting")
        here = await self._host.running()
        closed = bool(here.refusal)
        buttons = _buttons(running=running, closed=closed)
        review = waiting is not None and waiting.rivals is None and waiting.needs == "answer"
        asked = None if closed else view.question
        paused = None
        if waiting is not None and waiting.needs != "answer" and not closed:
            paused = waiting
        own = paused is not None and self.panel.owns(here.session, kept["run"], visit)
        return (
            kept, *buttons, gr.update(visible=review), *_question(asked), *_paused(paused, own=own)
        )

    async def settle_answer(self, kept: Kept, visit: Visit = NOBODY) -> tuple[Any, ...]:
        """As `settle`, once an answer was given. Where what was written answered nothing, the page
        stays as it is: by now another answer may be on its way."""
        if not kept["answer"]:
            told = (kept, *_buttons(running=False), None, *_question(None), *_paused(None))
            return tuple(gr.skip() for _ in told)
        return await self.settle(kept, visit)

    async def choose(self, kept: Kept, typed: tuple[str, str, str]) -> tuple[Any, ...]:
        """Fills an example in, unless that would put it beside another program's run."""
        try:
            view = await self._view(kept["run"])
        except Unavailable as fault:
            return (gr.skip(), gr.skip(), gr.skip(), render.sentence(str(fault)))
        if view.phase in ("running", "waiting"):
            said = render.sentence("A run goes on here. Stop it, then choose an example.")
            return (gr.skip(), gr.skip(), gr.skip(), said)
        return (*typed, "")

    async def stop(self, kept: Kept) -> str:
        """Cancels the run; whoever follows it sees its end."""
        session = await self._host.session()
        if not kept["run"]:
            return render.sentence("There is no run to stop.")
        if _known(session, kept["run"]) is None:
            self._unborn.add(kept["run"])
            return ""
        await session.cancel(kept["run"])
        return ""

    async def decide(self, kept: Kept, approve: bool) -> str:
        """Answers the question that this page showed, and no later one."""
        session = await self._host.session()
        try:
            await session.answer(kept["run"], kept["interrupt"], {"approve": approve})
        except Unavailable as refusal:
            return render.sentence(str(refusal))
        return ""

    async def go_on(self, kept: Kept, visit: Visit = NOBODY, *, end: bool = False) -> str:
        """Lets a run go on that has reached a cap or lacked a key, or ends it there; only whoever
        started it may have more spent."""
        session = await self._host.session()
        view = await self._view(kept["run"])
        if view.waiting is None or view.waiting.interrupt != kept["interrupt"]:
            return render.sentence("That question is closed.")
        if not self.panel.owns(session, kept["run"], visit):
            return render.sentence("Only whoever started this run can let it go on.")
        if view.waiting.needs == "key" and not (end or session.can_go_on(kept["run"])):
            return render.sentence("That key is still missing: give it under “Models and keys”.")
        try:
            await session.answer(kept["run"], kept["interrupt"], {"end": True} if end else {})
        except Unavailable as refusal:
            return render.sentence(str(refusal))
        return ""

    async def _view(self, run: str) -> View:
        session = await self._host.session()
        return fold(_known(session, run) or ()) if run else View()


def _known(session: Session, run: str) -> tuple[Stamped, ...] | None:
    """The log of a run, or `None` where there is no such run."""
    try:
        return session.log(str(UUID(run)))
    except (KeyError, ValueError):
        return None


def _buttons(*, running: bool, closed: bool = False) -> tuple[Any, Any]:
    """Heal and Stop; where no code is run, there is nothing to heal with."""
    return gr.update(interactive=not running and not closed), gr.update(interactive=running)


def _begun(kept: Kept) -> tuple[Any, ...]:
    """The page at the start of a run."""
    heal, stop = _buttons(running=True)
    return Begun(
        kept, said="", bench=render.STARTING, heal=heal, stop=stop,
        review=gr.update(visible=False), written="", wrong="", asking=_question(None),
        pausing=_paused(None),
    ).flat()


def _closed(kept: Kept) -> tuple[Any, ...]:
    """The page where a question was answered that is not open any more."""
    said = render.sentence("That question is closed.")
    return Begun(kept, said=said, written="", wrong="", asking=_question(None)).flat()


def _answering(kept: Kept, answer: str) -> Kept:
    """What the browser keeps of an answer: a run that waits for it goes on; one that has ended
    is begun again under another identifier, which the browser knows before it exists."""
    if kept["interrupt"]:
        return {**kept, "asked": "", "answer": answer}
    return {**kept, "asked": kept["run"], "answer": answer, "run": str(uuid4())}


def _question(rivals: Rivals | None) -> tuple[Any, ...]:
    """The row of a question, its words, and a button for each answer."""
    offered = choices(rivals) if rivals is not None else ()
    return (
        gr.update(visible=rivals is not None), render.question(rivals),
        *(
            gr.update(visible=True, value=render.choice(*offered[place]))
            if place < len(offered) else gr.update(visible=False)
            for place in range(MOST)
        ),
    )


def _paused(waiting: Waiting | None, *, own: bool = False) -> tuple[Any, ...]:
    """The row of a run that waits for caps or a key, its words, and its two buttons."""
    budget = waiting is not None and waiting.needs == "budget"
    go_on = "Add as much again and go on" if budget else "Go on"
    return (
        gr.update(visible=waiting is not None),
        render.paused(waiting, own=own) if waiting is not None else "",
        gr.update(visible=own, value=go_on), gr.update(visible=own),
    )


class Look(gr.themes.Base):
    """The theme that `demo.theme` describes."""

    def __init__(self) -> None:
        accent = gr.themes.Color(*theme.ACCENT, name="petrol")
        super().__init__(
            primary_hue=accent,
            secondary_hue=accent,
            neutral_hue=gr.themes.Color(*theme.NEUTRAL, name="mist"),
            font=[gr.themes.LocalFont(theme.FONT, theme.WEIGHTS), "system-ui", "sans-serif"],
            font_mono=[gr.themes.LocalFont(theme.FONT_MONO, theme.WEIGHTS), "monospace"],
        )
        super().set(**theme.VARIABLES)


def build(host: Host, *, max_iterations: int = 5) -> gr.Blocks:
    """The page, not served yet."""
    page = Page(host)
    shown = examples.load()
    at_choice = providers_offered(public=host.door.public)
    ui = gr.Blocks(title="Self-Healing Code Agent", fill_width=True, analytics_enabled=False)
    with ui:
        kept = gr.BrowserState(
            dict(NOTHING), storage_key="self-healing-code-agent", secret="kept-in-your-browser"
        )
        visit = gr.BrowserState(
            dict(NOBODY), storage_key="self-healing-code-agent-visit",
            secret="kept-in-your-browser",
        )
        warned = gr.HTML("", elem_id="banner")
        gr.HTML(render.MASTHEAD, elem_id="masthead")
        plan = gr.HTML("", elem_id="plan")
        with gr.Row(elem_id="shell"):
            with gr.Column(scale=36, min_width=320, elem_id="editors"):
                said = gr.HTML("", elem_id="said")
                code = gr.Code(
                    label="Your Python", language="python", lines=12, max_lines=12,
                    elem_id="code", buttons=[],
                )
                tests = gr.Code(
                    label="Tests that should pass (optional)",
                    lines=6, max_lines=6, elem_id="tests", buttons=[],
                )
                words = gr.Textbox(
                    label="Or a task in words, with examples", lines=3, max_lines=3,
                    placeholder="Write double(n). double(4) returns 8.", elem_id="words",
                )
                with gr.Row(elem_id="actions"):
                    # Enabled on arrival: a click before it would be undone by what arrives.
                    heal = gr.Button(
                        "Heal it", variant="primary", elem_id="heal", min_width=120,
                        interactive=False,
                    )
                    stop = gr.Button("Stop", elem_id="stop", interactive=False, min_width=80)
                gr.HTML(render.KEYS, elem_id="keys")
                spending = gr.HTML("", elem_id="spending")
                with gr.Accordion("Models and keys", open=False, elem_id="models"):
                    with gr.Row(elem_classes="pair"):
                        provider = gr.Dropdown(
                            [("as planned", ""), ("no model", NO_MODEL),
                             *((name, name) for name in at_choice)],
                            value="", label="Who answers", elem_id="provider", min_width=120,
                        )
                        model = gr.Textbox(
                            "", label="Its model", placeholder="its usual one", max_lines=1,
                            elem_id="model", min_width=120,
                        )
                    roles = gr.Textbox(
                        "", label="Roles given to others", max_lines=1, elem_id="roles",
                        placeholder="debugger=anthropic, generator=groq/MODEL",
                    )
                    with gr.Row(elem_classes="pair"):
                        whose = gr.Dropdown(
                            list(keyed(public=host.door.public)), label="Key for",
                            elem_id="whose", min_width=120,
                        )
                        key = gr.Textbox(
                            "", label="Key", type="password", max_lines=1, elem_id="key",
                            min_width=120, html_attributes=gr.InputHTMLAttributes(
                                autocomplete="off", spellcheck=False,
                            ),
                        )
                    with gr.Row(elem_classes="trio"):
                        use_key, test_key, forget = (
                            gr.Button(text, elem_id=name, min_width=80, size="sm")
                            for text, name in (
                                ("Use this key", "use-key"), ("Test key", "test-key"),
                                ("Forget my keys", "forget-keys"),
                            )
                        )
                    at_hand = gr.HTML("", elem_id="at-hand")
                    came = gr.HTML("", elem_id="came")
                with gr.Accordion("Options", open=False, elem_id="options"):
                    iterations = gr.Slider(
                        1, 10, value=max_iterations, step=1, label="Repair attempts at most",
                        elem_id="iterations",
                    )
            with gr.Column(scale=64, min_width=320, elem_id="output"):
                with gr.Row(visible=False, elem_id="review") as review:
                    approve = gr.Button("Approve the patch", variant="primary", elem_id="approve")
                    reject = gr.Button("Reject it", elem_id="reject")
                with gr.Column(visible=False, elem_id="paused") as pause:
                    needed = gr.HTML("", elem_id="needed")
                    with gr.Row(elem_id="pause-buttons"):
                        more = gr.Button("Go on", variant="primary", elem_id="go-on")
                        end = gr.Button("End here", elem_id="end-here")
                with gr.Column(visible=False, elem_id="question") as question:
                    asked = gr.HTML("", elem_id="asked")
                    with gr.Row(elem_id="choices"):
                        offered = [
                            gr.Button("", elem_classes="choice", visible=False, min_width=120)
                            for _ in range(MOST)
                        ]
                    with gr.Row(elem_id="other"):
                        written = gr.Textbox(
                            label="None of these? What is right, as Python writes it",
                            placeholder="0, 'text', [1, 2], raises ValueError", max_lines=1,
                            elem_id="written", scale=1,
                        )
                        write = gr.Button(
                            "This is right", elem_id="write", scale=0, min_width=130,
                        )
                    wrong = gr.HTML("", elem_id="wrong")
                bench = gr.HTML(render.EMPTY, elem_id="bench")
            with gr.Column(scale=36, min_width=320, elem_id="examples"):
                gr.HTML(render.EXAMPLES_TITLE, elem_classes="cards-title")
                with gr.Column(elem_classes="cards"):
                    cards = [
                        (gr.Button(f"{card.title}\n{card.blurb}", elem_classes="card"),
                         (card.code, card.tests, ""))
                        for card in shown.cards
                    ] + [
                        (gr.Button(f"{draft.title}\nA task in words", elem_classes="card"),
                         ("", "", draft.task))
                        for draft in shown.drafts
                    ]

        inputs = [code, tests, words]
        wishes = [visit, provider, model, roles]
        asking = [question, asked, *offered]
        pausing = [pause, needed, more, end]
        settled = [kept, heal, stop, review, *asking, *pausing]
        begun = Begun(
            kept, said, bench, heal, stop, review, written, wrong, asking=tuple(asking),
            pausing=tuple(pausing),
        ).flat()
        quick: dict[str, Any] = {
            "queue": False, "show_progress": "hidden", "api_visibility": "private",
        }
        streamed: dict[str, Any] = {
            "concurrency_limit": None, "show_progress": "hidden", "api_visibility": "private",
        }
        heal.click(
            page.begin, inputs, begun, **quick
        ).then(None, kept, None, js=_ADDRESS, **quick).then(
            page.heal, [kept, *inputs, iterations, *wishes], [bench, said], **streamed
        ).then(page.settle, [kept, visit], settled, **quick)
        stop.click(page.stop, kept, said, **quick)
        deciding = ((approve, _deciding(page, True)), (reject, _deciding(page, False)),
                    (more, page.go_on), (end, _ending(page)))
        for button, decide in deciding:
            button.click(decide, [kept, visit], said, **quick).then(
                page.watch, kept, bench, **streamed
            ).then(page.settle, [kept, visit], settled, **quick)
        answers = [
            button.click(_choosing_behaviour(page, place), kept, begun, **quick)
            for place, button in enumerate(offered)
        ]
        answers += [
            given(page.write_behaviour, [kept, written], begun, **quick)
            for given in (write.click, written.submit)
        ]
        for answered in answers:
            answered.then(
                None, kept, None, js=_ADDRESS, **quick
            ).then(page.answer, [kept, visit], [bench, said], **streamed).then(
                page.settle_answer, [kept, visit], settled, **quick
            )
        for button, typed in cards:
            button.click(_choosing(page, typed), kept, [*inputs, said], **quick).then(
                None, None, None, js=_PRESS, **quick
            )
        told = [visit, plan, spending, at_hand, came, key]
        for chosen in (provider.input, model.blur, model.submit, roles.blur, roles.submit):
            chosen(page.panel.want, [*wishes, *inputs], told[:-1], **quick)
        for button, done in ((use_key, page.panel.use_key), (test_key, page.panel.test_key),
                             (forget, page.panel.forget_keys)):
            button.click(done, [*wishes, whose, key, *inputs], told, **quick)
        for left in (code.blur, tests.blur, words.blur):
            left(page.foresee, [*wishes, *inputs], spending, **quick)
        arrived = ui.load(
            page.arrive, [kept, *inputs, visit],
            [kept, plan, said, *inputs, visit, heal, stop, warned], **quick,
        )
        arrived.then(
            page.offer, [visit, *inputs], [provider, model, roles, spending, at_hand], **quick
        )
        arrived.then(page.watch, kept, bench, **streamed).then(
            page.settle, [kept, visit], settled, **quick
        )
    ui.queue(default_concurrency_limit=None, max_size=256)
    return ui


_ADDRESS = """(kept) => {
  const address = new URL(location.href);
  address.searchParams.set("run", kept.run);
  history.replaceState(history.state, "", address);
}"""
_PRESS = """() => { setTimeout(() => document.querySelector("button#heal").click(), 80); }"""


def _choosing(page: Page, typed: tuple[str, str, str]) -> Callable[[Kept], Any]:
    async def choose(kept: Kept) -> tuple[Any, ...]:
        return await page.choose(kept, typed)

    return choose


def _choosing_behaviour(page: Page, place: int) -> Callable[[Kept], Any]:
    async def choose(kept: Kept) -> tuple[Any, ...]:
        return await page.choose_behaviour(kept, place)

    return choose


def _ending(page: Page) -> Callable[[Kept, Visit], Any]:
    async def end(kept: Kept, visit: Visit) -> str:
        return await page.go_on(kept, visit, end=True)

    return end


def _deciding(page: Page, approve: bool) -> Callable[[Kept, Visit], Any]:
    async def decide(kept: Kept, visit: Visit) -> str:
        return await page.decide(kept, approve)

    return decide


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
            theme=Look(),
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
