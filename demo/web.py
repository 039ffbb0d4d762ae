"""The page: inputs on the left, the workbench of a run on the right, and what happens on it."""

from __future__ import annotations

import json
from typing import Any

import gradio as gr

from agent.core.settings import Autonomy
from demo.acts import CHOICES, LONGEST_KEPT, Page, begun_page
from demo.browser_state import NEW_VISIT, NO_RUN, OPTIONS, TYPED, WISHES
from demo.layout.inputs import lay_chips, lay_examples, lay_inputs
from demo.layout.login import lay_login, wire_login
from demo.layout.output import lay_output
from demo.layout.panels import lay_api, lay_benchmarks, lay_memory, lay_runs
from demo.layout.parts import ANSWERED, QUICK, STREAMED, Parts
from demo.layout.theme import ASSETS
from demo.models.panel import SHOWN
from demo.panels.acts import Panels
from demo.serving.api import offer
from demo.serving.host import Host
from demo.serving.verbs import Verbs
from demo.shown.bench import MASTHEAD

CLOSED = (
    "kept", "heal", "stop", "review", "question", "asked", *CHOICES, "paused", "needed", "go-on",
    "end-here",
)
SETTLED = (
    *CLOSED, "reviewed", "approve", "reject", "otherwise", "hinted", "hint", "change", "edited",
    "bench",
)
"""The parts that change where a run has ended or waits."""
BEGUN = (*CLOSED, "said", "bench", "written", "wrong")
"""Those that change where one begins."""
ANSWERS = (*BEGUN, "tests")
"""Those that change where a question is answered."""
FOLLOWED = ("bench", "said", "writing")
"""Those that change while one goes on."""
ARRIVED = ("kept", "said", "bench", *WISHES, *SHOWN, "heal", "stop", "banner")
PANELS = {"runs": lay_runs, "memory": lay_memory, "benchmarks": lay_benchmarks, "api": lay_api}
"""The tabs beside that of the workbench."""
MOST_PASTED = 1_000_000
IDLE_S = 0.05
"""How long Gradio's queue sleeps between two looks where nothing waits: at its own 1 ms a page
that nobody uses takes a twentieth of a core. There is no setting for it."""


def build(
    host: Host, *, max_iterations: int = 5, autonomy: Autonomy = "full_auto",
    sign_in: bool = False, most_pasted: int = MOST_PASTED,
) -> gr.Blocks:
    """The page, not served yet; with `sign_in` visitors may do so with Hugging Face. `most_pasted`
    is how many characters an editor takes at once."""
    parts = Parts()
    ui = gr.Blocks(title="Self-Healing Code Agent", fill_width=True, analytics_enabled=False)
    with ui:
        for name, nothing, key in (
            ("kept", NO_RUN, ""), ("visit", NEW_VISIT, "-visit"), (ANSWERED, {}, "-answered"),
        ):
            parts.add(name, gr.BrowserState(
                dict(nothing), secret="kept-in-your-browser",
                storage_key=f"self-healing-code-agent{key}",
            ))
        parts.add("banner", gr.HTML(""))
        parts.add("masthead", gr.HTML(MASTHEAD))
        if sign_in:
            lay_login(parts)
        parts.add("plan", gr.HTML(""))
        with gr.Tabs(elem_id="panels"):
            with gr.Tab("Heal"), gr.Row(elem_id="shell"):
                with gr.Column(scale=36, min_width=320, elem_id="editors"):
                    chips = lay_chips()
                    lay_inputs(
                        parts, public=host.access.public, max_iterations=max_iterations,
                        autonomy=autonomy,
                    )
                with gr.Column(scale=64, min_width=320, elem_id="output"):
                    lay_output(parts)
                with gr.Column(scale=36, min_width=320, elem_id="examples"):
                    cards = lay_examples()
            for name, lay in PANELS.items():
                label = "API" if name == "api" else name.capitalize()
                with parts.add(f"{name}-panel", gr.Tab(label)):
                    lay(parts)
        page = Page(host)
        arrived = _wire(ui, parts, page, [*chips, *cards])
        if sign_in:
            wire_login(arrived, parts, page.panel)
        _wire_panels(parts, Panels(host, page.panel))
        script = (ASSETS / "panels.js").read_text(encoding="utf-8")
        script = script.replace("MOST_PASTED", str(most_pasted))
        ui.load(None, None, None, js=script, **QUICK)
        offer(Verbs(host, page.panel))
    ui.queue(default_concurrency_limit=None, max_size=256)
    ui._queue.sleep_when_free = ui._queue.progress_update_sleep_when_free = IDLE_S
    return ui


def _wire_panels(parts: Parts, panels: Panels) -> None:
    """What a panel loads when it is opened, and what its buttons do."""
    latest: dict[str, Any] = {**QUICK, "trigger_mode": "always_last"}
    for name, listed, act, changed in (
        ("runs", panels.runs, panels.run_act,
         ("runs-go", "replay-at", "replayed")),
        ("memory", panels.memory, panels.memory_act, ()),
    ):
        shown = (f"{name}-list", f"{name}-told")
        given = ("visit", f"{name}-search")
        parts.on(parts[f"{name}-panel"].select, listed, given, shown)
        parts.on(parts[f"{name}-search"].input, listed, given, shown, latest)
        done = parts.on_told(shown[0], act, given, (*shown, *changed))
        if changed:
            done.then(None, parts["runs-go"], None, js=_GO, **QUICK)
            for event in (done.then, parts["replay-at"].change):
                event(None, parts["replay-at"], None, js=_REPLAY, **QUICK)
    parts.on(
        parts["benchmarks-panel"].select, panels.benchmarks, (), ("benchmarks-list",)
    )
    parts.on(parts["api-panel"].select, panels.endpoints, (), ("api-list",))


def _wire(
    ui: gr.Blocks, parts: Parts, page: Page, cards: list[tuple[gr.Button, dict[str, str]]]
) -> Any:
    """What happens at which event; gives that of an arrival."""
    on, guarded, state = parts.on, parts.guarded, ("kept", "visit")

    def addressed(event: Any) -> Any:
        return event.then(None, parts["kept"], None, js=_ADDRESS, **QUICK)

    begun = addressed(parts["heal"].click(
        None, parts.of(*TYPED, *WISHES[1:], *OPTIONS), parts.of(*BEGUN), js=begins(), **QUICK
    ))
    run = on(
        begun.then, page.heal, (*WISHES, "kept", *TYPED, *OPTIONS),
        FOLLOWED, STREAMED
    )
    addressed(guarded(run.then, page.settle, state, SETTLED))
    parts["stop"].click(None, parts["kept"], parts["kept"], js=_STOPS, **QUICK)
    for event in (
        on(parts["stop"].click, page.stop, state, ("said",)),
        on(parts["approve"].click, page.decide, state, ("said", "review"), approve=True),
        on(parts["reject"].click, page.decide, state, ("said", "review"), approve=False),
        *(on(event, page.advise, (*state, "hint"), ("said", "review"))
          for event in (parts["advise"].click, parts["hint"].submit)),
        on(parts["bring"].click, page.bring, (*state, "edited"), ("said", "review")),
        on(parts["go-on"].click, page.go_on, state, ("said", "review")),
        on(parts["end-here"].click, page.go_on, state, ("said", "review"), end=True),
        parts["follow"].click(None, None, None, js="() => {}", **QUICK),
    ):
        watched = on(event.then, page.watch, state, FOLLOWED, STREAMED)
        guarded(watched.then, page.settle, state, SETTLED)
    for event in (
        *(guarded(parts[name].click, page.choose_behaviour, (*state, "tests"), ANSWERS, place=place)
          for place, name in enumerate(CHOICES)),
        *(guarded(given, page.write_behaviour, ("kept", "written", "visit", "tests"), ANSWERS)
          for given in (parts["write"].click, parts["written"].submit)),
    ):
        answered = on(addressed(event).then, page.answer, state, FOLLOWED, STREAMED)
        addressed(guarded(answered.then, page.settle_answer, state, SETTLED))
    guarded(parts["use"].click, page.use, ("kept",), ("code", "said"))
    guarded(
        parts["open"].click, page.edit, ("kept", "looked", "visit"), (*TYPED, "said"),
        js=_LOOKED_AT,
    )
    guarded(
        parts["compare"].click, page.compare, ("kept", "looked", "visit"), ("bench", "said"),
        js=_LOOKED_AT,
    )
    begun = guarded(
        parts["fork"].click, page.begin_fork, ("kept", "looked"), BEGUN, js=_LOOKED_AT
    )
    forked = on(addressed(begun).then, page.fork, state, FOLLOWED, STREAMED)
    addressed(guarded(forked.then, page.settle_answer, state, SETTLED))
    lingered = on(parts["linger"].click, page.linger, state, ("moved",), STREAMED)
    lingered.success(
        None, parts["moved"], None, js="(moved) => { window.movedOn(moved); }", **QUICK
    )
    for button, typed in cards:
        chosen = on(button.click, page.choose, state, (*TYPED, "said"), typed=typed)
        chosen.then(None, None, None, js=_PRESS, **QUICK)
    answering = ("visit", *SHOWN, "came")
    for left in (parts["provider"].input, *(
        event for name in ("model", "roles") for event in (parts[name].blur, parts[name].submit)
    )):
        on(left, page.panel.want, (*WISHES, *TYPED), answering)
    for name, action in (("use-key", "use"), ("test-key", "test"), ("forget-keys", "forget")):
        on(
            parts[name].click, page.panel.change_keys, (*WISHES, "whose", "key", *TYPED),
            (*answering, "key"), action=action,
        )
    for name in TYPED:
        on(parts[name].blur, page.foresee, (*WISHES, *TYPED), ("spending",))

    arrived = on(
        ui.load, page.arrive, ("kept", *TYPED, "visit"), ARRIVED, {**QUICK, "js": _ARRIVES},
        asked=("run",),
    )
    restored = arrived.then(
        None, parts.of("kept", *TYPED), parts.of(*TYPED), js=_RESTORED, **QUICK
    )
    named = restored.then(None, parts["kept"], None, js=_NAMED, **QUICK)
    resumed = on(named.then, page.resume, state, FOLLOWED, STREAMED)
    addressed(guarded(resumed.then, page.settle, state, SETTLED))
    return arrived


def begins() -> str:
    """What begins a run, in the browser and at one stroke: it knows the run before the run exists,
    and no answer that is on its way comes between."""
    page = begun_page(NO_RUN)
    return _BEGINS % (
        LONGEST_KEPT, json.dumps(NO_RUN), json.dumps([page[name] for name in BEGUN[1:]])
    )


_BEGINS = """(code, tests, words, ...values) => {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  const run = [[0, 8], [8, 12], [12, 16], [16, 20], [20, 32]]
    .map(([from, to]) => hex.slice(from, to)).join("-");
  const typed = { code: code || "", tests: tests || "", words: words || "" };
  const files = values.pop();
  const asked = JSON.stringify([...values, null]);
  const short = typed.code.length + typed.tests.length + typed.words.length + asked.length <= %d;
  const whole = short && !files ? asked : "null";
  const begins = `{"run": "${run}", "at": ${Date.now()}, "values": ${whole}}`;
  return [{ ...%s, run, begins, ...(short ? typed : {}) }, ...%s];
}"""
"""A run's identifier is a UUID of random bytes, also where the page came without https."""
_ARRIVES = """(kept, ...rest) => {
  const at = /"at": (\\d+)/.exec((kept && kept.begins) || "");
  return [at && at[1] > Date.now() - 60000 ? kept : { ...kept, begins: "" }, ...rest];
}"""
"""What was asked for and not heard is begun within a minute; later nobody waits for it."""
_STOPS = """(kept) => ({ ...kept, begins: "" })"""
_ADDRESS = """(kept) => {
  const address = new URL(location.href);
  if (kept.run) address.searchParams.set("run", kept.run);
  else address.searchParams.delete("run");
  history.replaceState(history.state, "", address);
}"""
_NAMED = f"(kept) => {{ if (kept.run) ({_ADDRESS})(kept); }}"
"""The address of a page that was left before it was told is set on arrival."""
_RESTORED = """(kept, ...now) => now.some((one) => one)
  ? now.map(() => undefined) : [kept.code, kept.tests, kept.words]"""
"""What was typed in an earlier visit comes back, unless by now something else is typed."""
_LOOKED_AT = "(kept, looked, ...rest) => [kept, window.lookedAt(), ...rest]"
_GO = "(go) => { if (go) location.search = go; }"
_REPLAY = "(at) => { window.replayAt(at); }"
_PRESS = """() => { setTimeout(() => document.querySelector("button#heal").click(), 80); }"""
