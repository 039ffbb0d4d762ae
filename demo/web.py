"""The page: inputs on the left, the workbench of a run on the right, and its server."""

from __future__ import annotations

import functools
import inspect
import signal
import tomllib
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import gradio as gr
import yaml
from gradio.events import api
from starlette.applications import Starlette

from agent.core.settings import Autonomy
from agent.thinking.drafts import DRAFTS_FILE, read_drafts
from demo import render
from demo.access import is_loopback
from demo.acts import CHOICES, Page
from demo.browser_state import NEW_VISIT, NO_RUN, WISHES, Update, with_choices
from demo.downloads import download_route
from demo.first_screen import FIRST_SCREEN
from demo.host import Host, Unavailable
from demo.model_choice import BadModelChoice, keyed
from demo.model_choice import offered as providers_offered
from demo.model_panel import SHOWN, Panel
from demo.verbs import Verbs
from llm.provider import MOCK

ASSETS = Path(__file__).with_name("assets")
INPUTS = ("code", "tests", "words")
CLOSED = (
    "kept", "heal", "stop", "review", "question", "asked", *CHOICES, "paused", "needed", "go-on",
    "end-here",
)
SETTLED = (*CLOSED, "reviewed", "approve", "reject", "otherwise", "hint", "edited")
"""The parts that change where a run has ended or waits."""
BEGUN = (*CLOSED, "said", "bench", "written", "wrong")
"""Those that change where one begins, or a question is answered."""
ARRIVED = ("kept", "said", *INPUTS, *WISHES, *SHOWN, "heal", "stop", "banner")
QUICK: dict[str, Any] = {"queue": False, "show_progress": "hidden", "api_visibility": "private"}
STREAMED: dict[str, Any] = {
    "concurrency_limit": None, "show_progress": "hidden", "api_visibility": "private",
}
CHIPS = 3
"""Examples that stand above the editors."""
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
        """Has `act` change some parts from what others hold, whenever `event` happens. `WISHES`,
        where `given` begins with them, are given as one visit."""
        wishes = len(WISHES) if given[:len(WISHES)] == WISHES else 0

        def taken(values: tuple[Any, ...]) -> tuple[Any, ...]:
            return (with_choices(*values[:wishes]), *values[wishes:]) if wishes else values

        async def once(*values: Any) -> Any:
            return _in_order(await act(*taken(values), **fixed), changed)

        async def streaming(*values: Any) -> AsyncIterator[Any]:
            async for update in act(*taken(values), **fixed):
                yield _in_order(update, changed)

        acting = streaming if inspect.isasyncgenfunction(act) else once
        return event(acting, self.of(*given), self.of(*changed), **how)


def _for_programs(verb: Callable[..., Any]) -> Callable[..., Any]:
    """A verb whose refusals reach the program that asked, as their sentences."""

    @functools.wraps(verb)
    async def asked(*values: Any, **named: Any) -> Any:
        try:
            return await verb(*values, **named)
        except _refusals() as refusal:
            raise gr.Error(str(refusal), print_exception=False) from refusal

    @functools.wraps(verb)
    async def streamed(*values: Any, **named: Any) -> AsyncIterator[Any]:
        try:
            async with aclosing(verb(*values, **named)) as told:
                async for one in told:
                    yield one
        except _refusals() as refusal:
            raise gr.Error(str(refusal), print_exception=False) from refusal

    return streamed if inspect.isasyncgenfunction(verb) else asked


def _refusals() -> tuple[type[Exception], ...]:
    """What is said to whoever asked; the session has imported what raises it."""
    from agent.intake import BadInput, NotFixable
    from agent.log.iterations import UnknownIteration
    from agent.log.store import UnknownRun
    from agent.run.fork import BadFork
    from llm import LlmError

    return (
        Unavailable, UnknownRun, UnknownIteration, BadFork, BadInput, NotFixable, BadModelChoice,
        LlmError,
    )


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


def build(
    host: Host, *, max_iterations: int = 5, autonomy: Autonomy = "full_auto"
) -> gr.Blocks:
    """The page, not served yet."""
    parts = Parts()
    ui = gr.Blocks(title="Self-Healing Code Agent", fill_width=True, analytics_enabled=False)
    with ui:
        for name, nothing in (("kept", NO_RUN), ("visit", NEW_VISIT)):
            parts.add(name, gr.BrowserState(
                dict(nothing), secret="kept-in-your-browser",
                storage_key=f"self-healing-code-agent{'' if name == 'kept' else '-visit'}",
            ))
        parts.add("banner", gr.HTML(""))
        parts.add("masthead", gr.HTML(render.MASTHEAD))
        parts.add("plan", gr.HTML(""))
        with gr.Row(elem_id="shell"):
            with gr.Column(scale=36, min_width=320, elem_id="editors"):
                chips = _lay_chips()
                _lay_inputs(
                    parts, public=host.access.public, max_iterations=max_iterations,
                    autonomy=autonomy,
                )
            with gr.Column(scale=64, min_width=320, elem_id="output"):
                _lay_output(parts)
            with gr.Column(scale=36, min_width=320, elem_id="examples"):
                cards = _lay_examples()
        _wire(ui, parts, Page(host), [*chips, *cards])
        _offer(Verbs(host, Panel(host)))
    ui.queue(default_concurrency_limit=None, max_size=256)
    ui._queue.sleep_when_free = ui._queue.progress_update_sleep_when_free = IDLE_S
    return ui


def _lay_inputs(
    parts: Parts, *, public: bool, max_iterations: int, autonomy: Autonomy
) -> None:
    """What a visitor brings, and who is to answer."""
    parts.add("said", gr.HTML(""))
    parts.add("code", gr.Code(
        label="Your Python", language="python", lines=12, max_lines=12, buttons=[],
    ))
    parts.add("tests", gr.Code(
        label="Tests that should pass (optional)", lines=6, max_lines=6, buttons=[],
    ))
    parts.add("words", gr.Textbox(
        label="Or a task in words, with examples", lines=2, max_lines=3,
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
                [("as planned", ""), ("no model", MOCK), *names], value="",
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
        parts.add("autonomy", gr.Dropdown(
            [("never", "full_auto"), ("before a repair is kept", "review_repairs"),
             ("also before a model writes", "review_all")],
            value=autonomy, label="Ask me",
        ))


def _lay_output(parts: Parts) -> None:
    """What is asked of a visitor, above the workbench."""
    with parts.add("review", gr.Column(visible=False, elem_id="review")):
        parts.add("reviewed", gr.HTML(""))
        with gr.Row(elem_classes="pair"):
            parts.add("approve", gr.Button("Approve the patch", variant="primary"))
            parts.add("reject", gr.Button("Reject it"))
        with parts.add("otherwise", gr.Column()):
            with gr.Row(elem_classes="hint"):
                parts.add("hint", gr.Textbox(
                    label="Or say what to do otherwise; a model reads it", max_lines=3, scale=1,
                ))
                parts.add("advise", gr.Button("Try again", scale=0, min_width=130))
            with gr.Accordion("Change it yourself", open=False):
                parts.add("edited", gr.Code(
                    label="The program as it should be", language="python", max_lines=18,
                    buttons=[],
                ))
                parts.add("bring", gr.Button("Judge my version"))
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
    parts.add("bench", gr.HTML(FIRST_SCREEN))
    # Its face stands beside the verdict; see `page.js`.
    parts.add("use", gr.Button("Use this code"))


Card = tuple[gr.Button, dict[str, str]]
"""A button, and what it fills in."""


def _examples() -> list[tuple[str, str, dict[str, str]]]:
    """Title, blurb and what is filled in of each worked example: code to mend, or a task in words,
    for which the mode without a model has a scripted first draft."""
    cards = yaml.safe_load(DRAFTS_FILE.read_text(encoding="utf-8"))["cards"]
    filled = [
        *((card["title"], card["blurb"], (card["code"], card.get("tests", ""), ""))
          for card in cards),
        *((draft.title, "A task in words", ("", "", draft.task)) for draft in read_drafts()),
    ]
    return [
        (title, blurb, dict(zip(INPUTS, typed, strict=True))) for title, blurb, typed in filled
    ]


def _lay_chips() -> list[Card]:
    """The first examples, one line above the editors."""
    with gr.Row(elem_id="chips"):
        gr.HTML("<p>Try</p>", elem_classes="chips-title")
        return [
            (gr.Button(title, elem_classes="chip", size="sm", min_width=60), typed)
            for title, _, typed in _examples()[:CHIPS]
        ]


def _lay_examples() -> list[Card]:
    """A card for each of the others."""
    gr.HTML(render.EXAMPLES_TITLE, elem_classes="cards-title")
    with gr.Column(elem_classes="cards"):
        return [
            (gr.Button(f"{title}\n{blurb}", elem_classes="card"), typed)
            for title, blurb, typed in _examples()[CHIPS:]
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
        begun.then, page.heal, (*WISHES, "kept", *INPUTS, "iterations", "autonomy"),
        ("bench", "said"), STREAMED
    )
    on(run.then, page.settle, state, SETTLED)
    on(parts["stop"].click, page.stop, state, ("said",))
    for event in (
        on(parts["approve"].click, page.decide, state, ("said", "review"), approve=True),
        on(parts["reject"].click, page.decide, state, ("said", "review"), approve=False),
        *(on(event, page.advise, (*state, "hint"), ("said", "review"))
          for event in (parts["advise"].click, parts["hint"].submit)),
        on(parts["bring"].click, page.bring, (*state, "edited"), ("said", "review")),
        on(parts["go-on"].click, page.go_on, state, ("said", "review")),
        on(parts["end-here"].click, page.go_on, state, ("said", "review"), end=True),
    ):
        watched = on(event.then, page.watch, state, ("bench",), STREAMED)
        on(watched.then, page.settle, state, SETTLED)
    for event in (
        *(on(parts[name].click, page.choose_behaviour, ("kept",), BEGUN, place=place)
          for place, name in enumerate(CHOICES)),
        *(on(given, page.write_behaviour, ("kept", "written"), BEGUN)
          for given in (parts["write"].click, parts["written"].submit)),
    ):
        answered = on(addressed(event).then, page.answer, state, ("bench", "said"), STREAMED)
        on(answered.then, page.settle_answer, state, SETTLED)
    on(parts["use"].click, page.use, ("kept",), ("code", "said"))
    for button, typed in cards:
        chosen = on(button.click, page.choose, ("kept",), (*INPUTS, "said"), typed=typed)
        chosen.then(None, None, None, js=_PRESS, **QUICK)
    answering = ("visit", *SHOWN, "came")
    for left in (parts["provider"].input, *(
        event for name in ("model", "roles") for event in (parts[name].blur, parts[name].submit)
    )):
        on(left, page.panel.want, (*WISHES, *INPUTS), answering)
    for name, action in (("use-key", "use"), ("test-key", "test"), ("forget-keys", "forget")):
        on(
            parts[name].click, page.panel.change_keys, (*WISHES, "whose", "key", *INPUTS),
            (*answering, "key"), action=action,
        )
    for name in INPUTS:
        on(parts[name].blur, page.foresee, (*WISHES, *INPUTS), ("spending",))

    async def arrive(request: gr.Request, *values: Any) -> Any:
        asked = request.query_params.get("run", "")
        return _in_order(await page.arrive(asked, *values), ARRIVED)

    arrived = ui.load(
        arrive, parts.of("kept", *INPUTS, "visit"), parts.of(*ARRIVED), **QUICK
    )
    watched = on(arrived.then, page.watch, state, ("bench",), STREAMED)
    on(watched.then, page.settle, state, SETTLED)


def _offer(verbs: Verbs) -> None:
    """What programs may ask for, by its name."""
    for verb in (
        verbs.heal_code, verbs.check_code, verbs.get_run, verbs.cancel_run,
        verbs.runs, verbs.iterations, verbs.compare, verbs.fork,
    ):
        api(_for_programs(verb), api_name=verb.__name__, concurrency_limit=None)


_ADDRESS = """(kept) => {
  const address = new URL(location.href);
  address.searchParams.set("run", kept.run);
  history.replaceState(history.state, "", address);
}"""
_PRESS = """() => { setTimeout(() => document.querySelector("button#heal").click(), 80); }"""


def serve(ui: gr.Blocks, host: Host, server_name: str, server_port: int) -> None:
    """Serves the page until interrupted.

    Raises `OSError` where the port is taken, and `ValueError` for a name that other machines
    can reach while the host is made for this one alone.
    """
    if not host.access.public and not is_loopback(server_name):
        raise ValueError(f"{server_name} can be reached from elsewhere: use Access(public=True)")

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.router.routes.insert(0, download_route(host))
        async with host.serving():
            yield

    signal.signal(signal.SIGTERM, _interrupted)
    try:
        ui.launch(
            server_name=server_name,
            server_port=server_port,
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


def _interrupted(_number: int, _frame: FrameType | None) -> None:
    """A stop from outside closes runs and files as Ctrl+C does; Gradio listens only to that."""
    raise KeyboardInterrupt
