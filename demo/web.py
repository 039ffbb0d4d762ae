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
from typing import Any, NamedTuple, TypedDict
from uuid import UUID, uuid4

import gradio as gr
from starlette.applications import Starlette

from agent.domain import Rivals
from agent.events import Stamped
from agent.repair.question import BadAnswer, answered_test, choices
from agent.repair.rivals import MOST
from demo import examples, render, theme
from demo.downloads import download_route
from demo.host import Host, Session, Unavailable
from demo.pace import paced
from demo.strangers import is_loopback
from demo.view import View, fold

ASSETS = Path(__file__).with_name("assets")
LONGEST_KEPT = 200_000
"""Characters of input a browser is asked to keep; its storage is small."""


class Kept(TypedDict):
    """What the browser keeps: the run it follows, and what was typed."""

    run: str
    interrupt: str
    asked: str
    """The run whose open question the present one answers, until that is begun."""
    answer: str
    code: str
    tests: str
    words: str


NOTHING: Kept = {
    "run": "", "interrupt": "", "asked": "", "answer": "", "code": "", "tests": "", "words": "",
}


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

    def flat(self) -> tuple[Any, ...]:
        """All of them in one row, as Gradio takes them."""
        return (*self[:-1], *self.asking)


class Page:
    """What happens on the page; every public method handles one kind of event."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._unborn: set[str] = set()
        """Runs that were stopped before they began."""

    async def arrive(
        self, kept: Kept | None, code: str, tests: str, words: str, request: gr.Request
    ) -> tuple[Any, ...]:
        """A page was opened or reloaded: says what heals here and finds the run to follow.

        What somebody has typed meanwhile is left alone.
        """
        asked = request.query_params.get("run", "")
        kept = {**NOTHING, **kept} if kept else NOTHING
        run = asked or kept["run"]
        typed: tuple[Any, ...] = (kept["code"], kept["tests"], kept["words"])
        if any((code, tests, words)) or not any(typed):
            typed = (gr.skip(), gr.skip(), gr.skip())
        try:
            running = await self._host.running()
        except Unavailable as fault:
            kept = {**kept, "run": "", "interrupt": ""}
            return (kept, "", render.sentence(str(fault)), *typed, *_buttons(running=False), "")
        session = running.session
        found = session.plan()
        plan = render.place(found.provider, found.why, running.jail)
        banner = render.banner(running.warning, running.refusal)
        said = ""
        if run and _known(session, run) is None:
            said = (
                "That run is not known here: its address is wrong, or its log was removed. "
                "Heal something to start a new one."
            )
            run = ""
        kept = {**kept, "run": run, "interrupt": ""}
        buttons = _buttons(running=bool(run), closed=bool(running.refusal))
        return (kept, plan, render.sentence(said), *typed, *buttons, banner)

    def begin(self, code: str, tests: str, words: str) -> tuple[Any, ...]:
        """Gives the browser the run's identifier before the run exists."""
        if len(code) + len(tests) + len(words) > LONGEST_KEPT:
            code = tests = words = ""
        return _begun({
            **NOTHING, "run": str(uuid4()), "code": code, "tests": tests, "words": words,
        })

    async def heal(
        self, kept: Kept, code: str, tests: str, words: str, iterations: float | None
    ) -> AsyncIterator[tuple[Any, Any]]:
        """Starts the run and follows it."""
        try:
            running = await self._host.running()
            intake = await asyncio.to_thread(running.engine.paste, code, tests, words)
        except Unavailable as fault:
            yield render.empty(), render.sentence(str(fault))
            return
        except running.engine.refusals as refusal:
            yield render.empty(), render.sentence(str(refusal))
            return
        if running.refusal:
            yield render.empty(), render.sentence(running.refusal)
            return
        if kept["run"] in self._unborn:
            self._unborn.discard(kept["run"])
            yield render.empty(), render.sentence("Stopped before it began.")
            return
        limit = int(iterations) if iterations else None
        if _known(running.session, kept["run"]) is None:
            await running.session.start(intake.task, run_id=kept["run"], max_iterations=limit)
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

    async def answer(self, kept: Kept) -> AsyncIterator[tuple[Any, Any]]:
        """Gives the chosen answer, if there is one, and follows the run that it leads to."""
        if not kept["answer"]:
            yield gr.skip(), gr.skip()
            return
        try:
            session = await self._host.session()
            if kept["asked"]:
                await session.settle(kept["asked"], kept["answer"], run_id=kept["run"])
            else:
                await session.answer(kept["run"], kept["interrupt"], {"answer": kept["answer"]})
        except (Unavailable, ValueError) as fault:
            yield render.empty(), render.sentence(str(fault))
            return
        async for shown in self.watch(kept):
            yield shown, gr.skip()

    async def watch(self, kept: Kept) -> AsyncIterator[Any]:
        """Follows a run from its first event until it ends or waits for a person."""
        if not kept["run"]:
            yield render.empty()
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

    async def settle(self, kept: Kept) -> tuple[Any, ...]:
        """The run ended, waits or never began: gives the buttons back."""
        self._unborn.discard(kept["run"])
        try:
            view = await self._view(kept["run"])
        except Unavailable:  # `heal` has said why
            hidden = gr.update(visible=False)
            return (kept, *_buttons(running=False), hidden, *_question(None))
        waiting = view.waiting
        kept = {
            **kept, "interrupt": waiting.interrupt if waiting is not None else "",
            "asked": "", "answer": "",
        }
        running = view.phase in ("running", "waiting")
        closed = bool((await self._host.running()).refusal)
        buttons = _buttons(running=running, closed=closed)
        review = waiting is not None and waiting.rivals is None
        asked = None if closed else view.question
        return (kept, *buttons, gr.update(visible=review), *_question(asked))

    async def settle_answer(self, kept: Kept) -> tuple[Any, ...]:
        """As `settle`, once an answer was given. Where what was written answered nothing, the page
        stays as it is: by now another answer may be on its way."""
        if not kept["answer"]:
            told = (kept, *_buttons(running=False), None, *_question(None))
            return tuple(gr.skip() for _ in told)
        return await self.settle(kept)

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
        kept, said="", bench=render.starting(), heal=heal, stop=stop,
        review=gr.update(visible=False), written="", wrong="", asking=_question(None),
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
    ui = gr.Blocks(title="Self-Healing Code Agent", fill_width=True, analytics_enabled=False)
    with ui:
        kept = gr.BrowserState(
            dict(NOTHING), storage_key="self-healing-code-agent", secret="kept-in-your-browser"
        )
        banner = gr.HTML("", elem_id="banner")
        gr.HTML(render.masthead(), elem_id="masthead")
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
                gr.HTML(render.keys(), elem_id="keys")
                with gr.Accordion("Options", open=False, elem_id="options"):
                    iterations = gr.Slider(
                        1, 10, value=max_iterations, step=1, label="Repair attempts at most",
                        elem_id="iterations",
                    )
            with gr.Column(scale=64, min_width=320, elem_id="output"):
                with gr.Row(visible=False, elem_id="review") as review:
                    approve = gr.Button("Approve the patch", variant="primary", elem_id="approve")
                    reject = gr.Button("Reject it", elem_id="reject")
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
                bench = gr.HTML(render.empty(), elem_id="bench")
            with gr.Column(scale=36, min_width=320, elem_id="examples"):
                gr.HTML(render.cards_title(), elem_classes="cards-title")
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
        asking = [question, asked, *offered]
        settled = [kept, heal, stop, review, *asking]
        begun = Begun(
            kept, said, bench, heal, stop, review, written, wrong, asking=tuple(asking)
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
            page.heal, [kept, *inputs, iterations], [bench, said], **streamed
        ).then(page.settle, kept, settled, **quick)
        stop.click(page.stop, kept, said, **quick)
        for button, answer in ((approve, True), (reject, False)):
            button.click(_deciding(page, answer), kept, said, **quick).then(
                page.watch, kept, bench, **streamed
            ).then(page.settle, kept, settled, **quick)
        answers = [
            button.click(_choosing_behaviour(page, place), kept, begun, **quick)
            for place, button in enumerate(offered)
        ]
        answers += [
            told(page.write_behaviour, [kept, written], begun, **quick)
            for told in (write.click, written.submit)
        ]
        for answered in answers:
            answered.then(
                None, kept, None, js=_ADDRESS, **quick
            ).then(page.answer, kept, [bench, said], **streamed).then(
                page.settle_answer, kept, settled, **quick
            )
        for button, typed in cards:
            button.click(_choosing(page, typed), kept, [*inputs, said], **quick).then(
                None, None, None, js=_PRESS, **quick
            )
        ui.load(
            page.arrive, [kept, *inputs], [kept, plan, said, *inputs, heal, stop, banner], **quick
        ).then(page.watch, kept, bench, **streamed).then(page.settle, kept, settled, **quick)
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


def _deciding(page: Page, approve: bool) -> Callable[[Kept], Any]:
    async def decide(kept: Kept) -> str:
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
