"""Builds the page, with inputs on the left and the workbench of a run on the right, and connects
its events to the handlers."""

from __future__ import annotations

import json
from functools import partial
from itertools import count
from typing import Any

import gradio as gr

from agent.core.settings import Autonomy
from demo.browser_state import (
    MODEL_CHOICES,
    NEW_VISIT,
    NO_RUN,
    OPTIONS,
    TYPED,
    BrowserRun,
    Update,
    Visit,
)
from demo.handlers import LONGEST_KEPT, Page
from demo.layout.inputs import add_chips, add_examples, add_inputs, examples
from demo.layout.output import add_output
from demo.layout.panels import add_benchmarks, add_memory, add_runs
from demo.layout.parts import ADDRESS, ANSWERED, QUICK, STREAMED, Parts
from demo.layout.theme import ASSETS
from demo.models.panel import MODEL_PARTS
from demo.panels.handlers import Panels
from demo.phases import CHOICES, started_page
from demo.serving.api import PageBlocks, register_endpoints
from demo.serving.endpoints import Endpoints
from demo.serving.host import SessionHost
from demo.views.bench import masthead

RUN_PARTS = (
    "saved-run", "heal", "stop", "review", "question", "asked", *CHOICES, "paused", "needed",
    "go-on", "end-here",
)
END_PARTS = (
    *RUN_PARTS, "reviewed", "approve", "reject", "otherwise", "hinted", "hint", "change", "edited",
    "bench",
)
"""The parts that change when a run ends or waits."""
START_PARTS = (*RUN_PARTS, "said", "bench", "written", "wrong")
"""The parts that change when a run starts."""
ANSWER_PARTS = (*START_PARTS, "tests")
"""The parts that change when a question is answered."""
STREAM_PARTS = ("bench", "said", "writing")
"""The parts that change while a run is in progress."""
OPEN_PARTS = ("saved-run", "said", "bench", "heal", "stop")
"""The parts that change when the page is opened, unless a run has been started by then."""
ALWAYS_PARTS = (*MODEL_CHOICES, *MODEL_PARTS, "banner")
"""The parts that always change when the page is opened."""
PANELS = {"runs": add_runs, "memory": add_memory, "benchmarks": add_benchmarks}
"""The tabs next to the workbench."""
MAX_PASTED = 1_000_000
IDLE_S = 0.05
"""Seconds between two polls of Gradio's idle queue. Its default of 1 ms takes a twentieth of a core
for an unused page, and there is no setting for it."""


def build(
    host: SessionHost, *, max_iterations: int = 5, autonomy: Autonomy = "full_auto",
    most_pasted: int = MAX_PASTED, duplicate: str = "", benchmarks: bool = True,
) -> gr.Blocks:
    """Builds the page.

    Args:
        most_pasted: Maximum characters of one paste into an editor.
        duplicate: The link that duplicates a Space; empty if the page is not on one.
        benchmarks: Whether the page has a tab for benchmarks.
    """
    parts = Parts()
    ui = PageBlocks(title="Self-Healing Code Agent", fill_width=True, analytics_enabled=False)
    with ui:
        for name, nothing in ((*SAVED.items(), (ANSWERED, {}))):
            parts.add(name, gr.JSON(dict(nothing), visible=False))
        parts.add("banner", gr.HTML(""))
        parts.add("masthead", gr.HTML(masthead(duplicate)))
        parts.add("plan", gr.HTML(""))
        with gr.Tabs(elem_id="panels"):
            with gr.Tab("Heal"), gr.Row(elem_id="shell"):
                with gr.Column(scale=36, min_width=320, elem_id="editors"):
                    add_chips(parts)
                    add_inputs(
                        parts, public=host.access.public, max_iterations=max_iterations,
                        autonomy=autonomy,
                    )
                with gr.Column(scale=64, min_width=320, elem_id="output"):
                    add_output(parts)
                with gr.Column(scale=36, min_width=320, elem_id="examples"):
                    add_examples(parts)
            for name, lay in PANELS.items():
                shown = benchmarks or name != "benchmarks"
                with parts.add(f"{name}-panel", gr.Tab(name.capitalize(), visible=shown)):
                    lay(parts)
                    parts.add(f"{name}-again", gr.Button(name, elem_classes="faceless"))
        page = Page(host)
        _wire(ui, parts, page, public=host.access.public)
        _wire_panels(parts, Panels(host, page.panel))
        script = (ASSETS / "panels.js").read_text(encoding="utf-8")
        script = script.replace("MAX_PASTED", str(most_pasted))
        ui.load(None, None, None, js=script, **QUICK)
        register_endpoints(Endpoints(host, page.panel))
    ui.queue(default_concurrency_limit=None, max_size=256)
    ui._queue.sleep_when_free = ui._queue.progress_update_sleep_when_free = IDLE_S
    return ui


def _wire_panels(parts: Parts, panels: Panels) -> None:
    latest: dict[str, Any] = {**QUICK, "trigger_mode": "always_last"}
    for name, listed, act, changed in (
        ("runs", panels.runs, panels.run_act,
         ("runs-go", "replay-at", "replayed")),
        ("memory", panels.memory, panels.memory_act, ()),
    ):
        shown = (f"{name}-list", f"{name}-message")
        given = ("visit", f"{name}-search")
        parts.on(_opened(parts, name), listed, given, shown)
        # A paste triggers no input event; only the user changes this field.
        parts.on(parts[f"{name}-search"].change, listed, given, shown, latest)
        done = parts.on_button(shown[0], act, given, (*shown, *changed))
        if changed:
            done.then(None, parts["runs-go"], None, js=_GO, **QUICK)
            for event in (done.then, parts["replay-at"].change):
                event(None, parts["replay-at"], None, js=_REPLAY, **QUICK)
    parts.on(_opened(parts, "benchmarks"), panels.benchmarks, (), ("benchmarks-list",))


def _opened(parts: Parts, name: str) -> Any:
    """Returns the event of opening a panel, or of reloading it after a refusal; see `page.js`."""
    return partial(gr.on, [parts[f"{name}-panel"].select, parts[f"{name}-again"].click])


def _wire(ui: gr.Blocks, parts: Parts, page: Page, *, public: bool) -> None:
    on, guarded, state = parts.on, parts.guarded, ("saved-run", "visit")

    def followed(
        event: Any, act: Any, settle: Any = page.settle, *,
        given: tuple[str, ...] = state, first: str = "",
    ) -> None:
        """Streams a run, and then updates the buttons, unless the page follows another run by then.
        `first` is JavaScript that runs before."""
        place, chain = given.index("saved-run"), next(chains)
        streams = _STREAMS % {"first": first, "place": place, "chain": chain, "many": len(given)}
        stream = on(event, act, given, STREAM_PARTS, {**STREAMED, "js": streams})
        guarded(stream.then, settle, state, END_PARTS, js=_STREAMED % (chain, json.dumps(NO_RUN)))

    chains = count()
    begun = parts["heal"].click(
        None, parts.of("saved-run", *TYPED), parts.of(*START_PARTS), js=begin_script(), **QUICK,
    )
    followed(begun.then, page.heal, given=(*MODEL_CHOICES, "saved-run", *TYPED, *OPTIONS))
    on(parts["stop"].click, page.stop, state, ("said",), triggers="refollow")
    random = "() => [String(Math.random())]"
    parts["follow"].click(None, None, parts["refollow"], js=random, **QUICK)
    decided: dict[str, Any] = {"changed": ("said", "review"), "triggers": "refollow"}
    on(parts["approve"].click, page.decide, state, **decided, approve=True)
    on(parts["reject"].click, page.decide, state, **decided, approve=False)
    for event in (parts["advise"].click, parts["hint"].submit):
        on(event, page.advise, (*state, "hint"), **decided)
    on(parts["bring"].click, page.bring, (*state, "edited"), **decided)
    on(parts["go-on"].click, page.go_on, state, **decided)
    on(parts["end-here"].click, page.go_on, state, **decided, end=True)
    followed(parts["refollow"].change, page.watch)
    for place, name in enumerate(CHOICES):
        guarded(
            parts[name].click, page.choose_behaviour, (*state, "tests"), ANSWER_PARTS,
            triggers="answering", place=place,
        )
    for event in (parts["write"].click, parts["written"].submit):
        guarded(
            event, page.write_behaviour, ("saved-run", "written", "visit", "tests"), ANSWER_PARTS,
            triggers="answering",
        )
    followed(parts["answering"].change, page.answer, page.settle_answer)
    parts["files"].submit(None, None, parts.of(*TYPED), js=_CLEARS, **QUICK)
    guarded(parts["use"].click, page.use, ("saved-run",), ("code", "said"))
    guarded(
        parts["open"].click, page.edit, ("saved-run", "looked", "visit"), (*TYPED, "said"),
        js=_LOOKED_AT,
    )
    forks = guarded(
        parts["fork"].click, page.begin_fork, ("saved-run", "looked"), START_PARTS, js=_LOOKED_AT
    )
    followed(forks.then, page.fork, page.settle_answer)
    lingered = on(parts["linger"].click, page.linger, state, ("moved",), STREAMED)
    lingered.success(
        None, parts["moved"], None, js="(moved) => { window.movedOn(moved); }", **QUICK
    )
    offered = {str(place): typed for place, (_, _, typed) in enumerate(examples())}

    async def choose(action: dict[str, Any], kept: BrowserRun, visit: Visit) -> Update:
        typed = offered.get(str(action.get("example")))
        return await page.choose(kept, visit, typed=typed) if typed else {}

    for name in ("chips", "cards"):
        chosen = parts.on_button(name, choose, state, (*TYPED, "said"))
        chosen.then(None, None, None, js=_PRESS, **QUICK)
    latest: dict[str, Any] = {**QUICK, "trigger_mode": "always_last"}
    models = ("visit", *MODEL_PARTS, "key-message")
    changes = [parts["provider"].input, *(
        event for name in ("model", "roles") for event in (parts[name].blur, parts[name].submit)
    )]
    on(partial(gr.on, changes), page.panel.choose_models, (*MODEL_CHOICES, *TYPED), models, latest)
    for name, action in (("use-key", "use"), ("test-key", "test"), ("forget-keys", "forget")):
        on(
            parts[name].click, page.panel.change_keys,
            (*MODEL_CHOICES, "key-provider", "key", *TYPED), (*models, "key"), action=action,
        )
    on(
        partial(gr.on, [parts[name].blur for name in TYPED]), page.predict,
        (*MODEL_CHOICES, *TYPED), ("plan", "spending"), latest,
    )
    gr.on([parts[name].change for name in SAVED], None, parts.of(*SAVED), None, js=_KEEPS, **QUICK)

    arrives, filled = _ARRIVES % json.dumps(public), parts.of("saved-run", *TYPED)
    loaded = ui.load(None, None, parts.of(*SAVED, "heal"), js=arrives, **QUICK)
    arrived = guarded(
        loaded.then, page.arrive, ("saved-run", *TYPED, "visit"), OPEN_PARTS, always=ALWAYS_PARTS,
        asked=("run",),
    )
    restored = arrived.then(None, filled, parts.of(*TYPED), js=_RESTORED, **QUICK)
    followed(restored.then, page.watch, first=_UNLESS_BEGUN % json.dumps(NO_RUN))


def begin_script() -> str:
    """Returns the JavaScript that starts a run. The browser creates the run's id, so that no answer
    on its way to the page can interfere."""
    page = started_page(NO_RUN)
    return _BEGINS % (
        LONGEST_KEPT, json.dumps(NO_RUN), json.dumps([page[name] for name in START_PARTS[1:]])
    )


_UUID = """() => {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [[0, 8], [8, 12], [12, 16], [16, 20], [20, 32]]
    .map(([from, to]) => hex.slice(from, to)).join("-");
}"""
"""Creates a random UUID, also on a page without https."""
_BEGINS = f"""(shown, code, tests, words) => {{
  const run = ({_UUID})();
  const typed = {{ code: code || "", tests: tests || "", words: words || "" }};
  const short = typed.code.length + typed.tests.length + typed.words.length <= %d;
  const kept = {{ ...%s, run, before: shown.run, ...(short ? typed : {{}}) }};
  ({ADDRESS})(kept);
  return [kept, ...%s];
}}"""
SAVED: dict[str, Any] = {"saved-run": NO_RUN, "visit": NEW_VISIT}
"""The parts whose value is saved in the browser, with their initial values."""
_STORAGE = "self-healing-code-agent-"
_STORES = '({ "saved-run": [sessionStorage, "kept"], visit: [localStorage, "visit"] })'
"""Each tab has its own run; all tabs share the visit."""
_ARRIVES = f"""() => {{
  const [kept, visit] = Object.entries({json.dumps(SAVED)}).map(([name, nothing]) => {{
    try {{
      const [store, key] = {_STORES}[name];
      return {{ ...nothing, ...JSON.parse(store.getItem("{_STORAGE}" + key)) }};
    }} catch (error) {{
      console.info("the browser's storage cannot be read:", error.message);
      return nothing;
    }}
  }});
  const address = new URLSearchParams(location.search);
  const follows = kept.run || address.has("run");
  const fresh = !(follows || visit.provider || visit.model || visit.roles);
  if (%s && !visit.visitor) visit.visitor = ({_UUID})();
  return [kept, visit, fresh ? {{ __type__: "update", interactive: true }} : undefined];
}}"""
"""Loads the saved state. Heal is enabled at once if there is no run to follow."""
_KEEPS = f"""(...values) => {{
  {json.dumps([*SAVED])}.forEach((name, place) => {{
    try {{
      const [store, key] = {_STORES}[name];
      store.setItem("{_STORAGE}" + key, JSON.stringify(values[place]));
    }} catch (error) {{
      console.info("the browser's storage cannot be written:", error.message);
    }}
  }});
}}"""
_STREAMS = """(...given) => {
  const streamed = window.streamed ??= {};
  %(first)s
  streamed[%(chain)d] = given[%(place)d].run;
  return given.slice(0, %(many)d);
}"""
_STREAMED = """(kept, ...rest) => [
  window.streamed[%d] === kept.run ? kept : %s, ...rest
]"""
"""Records the run of each stream, so that its end updates only that run and not a newer one."""
_UNLESS_BEGUN = "if (Object.values(streamed).includes(given[0].run)) given[0] = %s;"
"""A run that was started before the page was loaded completely is followed already."""
_CLEARS = """() => window.cleared ? ["", "", ""] : Array(3).fill(undefined)"""
_RESTORED = """(kept, ...now) => now.some((one) => one)
  ? now.map(() => undefined) : [kept.code, kept.tests, kept.words]"""
"""Restores the input of an earlier visit, unless there is new input."""
_LOOKED_AT = "(kept, looked, ...rest) => [kept, window.lookedAt(), ...rest]"
_GO = "(go) => { if (go) location.search = go; }"
_REPLAY = "(at) => { window.replayAt(at); }"
_PRESS = """() => { setTimeout(() => document.querySelector("button#heal").click(), 80); }"""
