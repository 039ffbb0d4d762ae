"""The input fields, options and examples of the page."""

from __future__ import annotations

import gradio as gr
import yaml

from agent.core.settings import Autonomy
from agent.interfaces.project.upload import MAX_UPLOAD
from agent.propose.drafts import DRAFTS_FILE, read_drafts
from demo.browser_state import TYPED
from demo.layout.parts import Parts
from demo.models.choice import keyed
from demo.models.choice import offered as providers_offered
from demo.options import most_iterations
from demo.views.bench import EXAMPLES_TITLE, KEYS
from demo.views.escape import escaped
from llm.provider import MOCK

CHIPS = 3
"""Number of examples above the editors."""
DRAFTED = "A task in words; without a model, a prepared draft is repaired"
"""The description of a task example."""


FILES = (
    '<label class="send">Or choose files<span>: a module and its test, or a small project as '
    'a zip</span><input type="file" multiple></label>'
    '<p class="sent" role="status"></p>'
    '<button type="button" class="unsend" hidden>Clear files</button>'
)
FILES_JS = f"""
const MOST = {MAX_UPLOAD};
const input = element.querySelector("input"), said = element.querySelector(".sent");
const clear = element.querySelector(".unsend");
const base64 = async (file) => {{
  const bytes = new Uint8Array(await file.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 32768) {{
    text += String.fromCharCode(...bytes.subarray(at, at + 32768));
  }}
  return btoa(text);
}};
const show = (words, files) => {{
  said.textContent = words;
  said.classList.toggle("sentence", Boolean(words) && !files);
  clear.hidden = !files;
  props.value = files;
}};
input.addEventListener("change", async () => {{
  const chosen = [...input.files];
  const size = chosen.reduce((sum, file) => sum + file.size, 0);
  if (!chosen.length) return show("", null);
  if (!window.mayClear()) {{
    input.value = "";
    return;
  }}
  if (size > MOST) {{
    input.value = "";
    return show(`The files have ${{Math.ceil(size / 1e4) / 100}} MB; at most ${{MOST / 1e6}} MB `
      + "are allowed. Choose only the modules and tests that the failure needs.", null);
  }}
  const files = {{}};
  for (const file of chosen) files[file.name] = await base64(file);
  trigger("submit");
  show(chosen.map((file) => file.name).join(", "), files);
}});
clear.addEventListener("click", (event) => {{
  input.value = ""; show("", null);
  if (event.isTrusted) input.focus();
}});
"""
"""Files are sent with the click on Heal, not before. They replace the program and the words."""


def add_inputs(parts: Parts, *, public: bool, max_iterations: int, autonomy: Autonomy) -> None:
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
    with gr.Column(elem_id="forecast"):
        parts.add("needs-model", gr.HTML(""))
        parts.add("spending", gr.HTML(""))
    with gr.Row(elem_id="actions"):
        # Enabled once the page is loaded; an earlier click would be undone.
        parts.add("heal", gr.Button("Heal it", variant="primary", min_width=120, interactive=False))
        parts.add("stop", gr.Button("Stop", interactive=False, min_width=80))
    parts.add("said", gr.HTML(""))  # below the buttons, so that it does not move them
    parts.add("files", gr.HTML(None, html_template=FILES, js_on_load=FILES_JS))
    parts.add("keys", gr.HTML(KEYS))
    with parts.add_lazy_accordion("models", "Models and keys"):
        with gr.Row(elem_classes="pair"):
            names = [(name, name) for name in providers_offered(public=public)]
            parts.add("provider", gr.Dropdown(
                [("default (see top)", ""), ("no model", MOCK), *names], value="",
                label="Provider", min_width=120,
            ))
            parts.add("model", gr.Textbox(
                "", label="Model", placeholder="the provider's default", max_lines=1,
                min_width=120,
            ))
        parts.add("roles", gr.Textbox(
            "", label="Other models for single roles", max_lines=1,
            info="A role is one kind of question: debugger, generator, critic and others.",
            placeholder="debugger=anthropic, generator=groq/MODEL",
        ))
        with gr.Row(elem_classes="pair"):
            parts.add("key-provider", gr.Dropdown(
                list(keyed(public=public)), label="Key for", min_width=120,
            ))
            parts.add("key", gr.Textbox(
                "", label="Key", type="password", max_lines=1, min_width=120,
                html_attributes=gr.InputHTMLAttributes(autocomplete="off", spellcheck=False),
            ))
        with gr.Row(elem_classes="trio"):
            for name, label in (("use-key", "Use this key"), ("test-key", "Test key"),
                                ("forget-keys", "Delete my keys")):
                parts.add(name, gr.Button(label, min_width=80, size="sm"))
        parts.add("available-keys", gr.HTML(""))
        parts.add("key-message", gr.HTML(""))
    with parts.add_lazy_accordion("options", "Options"):
        _lay_options(parts, max_iterations=max_iterations, autonomy=autonomy)


def _lay_options(parts: Parts, *, max_iterations: int, autonomy: Autonomy) -> None:
    with gr.Row(elem_classes="pair"):
        parts.add("stdin", gr.Textbox(
            "", label="Standard input", lines=1, max_lines=4, min_width=120,
        ))
        parts.add("args", gr.Textbox(
            "", label="Arguments", max_lines=1, min_width=120, placeholder="--year 2024 in.csv",
        ))
    parts.add("iterations", gr.Slider(
        1, most_iterations(max_iterations), value=max_iterations, step=1,
        label="Maximum repair attempts",
    ))
    parts.add("autonomy", gr.Dropdown(
        [("never", "full_auto"), ("before accepting a repair", "review_repairs"),
         ("also before using a model", "review_all")],
        value=autonomy, label="Ask me",
    ))
    parts.add("ask", gr.Checkbox(
        False, label="Ask which behaviour is right before accepting a repair",
        info="Otherwise the most likely one is used, and you can still answer after the run.",
    ))
    with gr.Row(elem_classes="pair"):
        parts.add("require-proof", gr.Dropdown(
            [("E1: my tests pass", "E1"), ("E2: and a held-out test passes", "E2"),
             ("E3: and changed inputs cause no new errors", "E3"),
             ("E4: and the tests detect mutations", "E4")],
            value="E1", label="Required proof", min_width=120,
            info="How well a repair must be shown to be right.",
        ))
        parts.add("require-integrity", gr.Dropdown(
            [("any that is believed", ""), ("isolated: values are compared elsewhere", "isolated")],
            value="", label="Required integrity", min_width=120,
            info="How well test results are protected from the tested program.",
        ))
    parts.add("require-confidence", gr.Textbox(
        "", label="Required confidence, in percent", placeholder="90", max_lines=1,
        info="A patch with a lower probability of being right is only proposed, not healed.",
        html_attributes=gr.InputHTMLAttributes(autocomplete="off"),
    ))
    gr.HTML("<p>Limits for model calls and total time (empty: default)</p>",
            elem_classes="caps-title")
    with gr.Row(elem_classes="caps"):
        for name, label in (
            ("usd", "Dollars"), ("tokens", "Tokens"), ("calls", "Calls"), ("seconds", "Seconds"),
        ):
            parts.add(name, gr.Textbox(
                "", label=label, placeholder="default", min_width=70, max_lines=1,
                html_attributes=gr.InputHTMLAttributes(autocomplete="off"),
            ))
    parts.add("learn", gr.Checkbox(True, label="Learn from this run"))


EXAMPLES_JS = """
element.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-example]");
  if (button) trigger("submit", { example: button.dataset.example });
});
"""
"""Sends which example was chosen."""


def examples() -> list[tuple[str, str, dict[str, str]]]:
    """Returns title, description and input of each example: code to repair, or a task in words,
    which has a prepared first draft for use without a model."""
    cards = yaml.safe_load(DRAFTS_FILE.read_text(encoding="utf-8"))["cards"]
    filled = [
        *((card["title"], card["blurb"], (card["code"], card.get("tests", ""), ""))
          for card in cards),
        *((draft.title, DRAFTED, ("", "", draft.task)) for draft in read_drafts()),
    ]
    return [(title, blurb, dict(zip(TYPED, typed, strict=True))) for title, blurb, typed in filled]


def add_chips(parts: Parts) -> None:
    """Adds the first examples, in one line above the editors."""
    chips = "".join(
        f'<button type="button" class="chip" data-example="{place}">{escaped(title)}</button>'
        for place, (title, _, _) in enumerate(examples()[:CHIPS])
    )
    parts.add("chips", gr.HTML(f"<p>Try</p>{chips}", js_on_load=EXAMPLES_JS))


def add_examples(parts: Parts) -> None:
    """Adds a card for each of the other examples."""
    cards = "".join(
        f'<button type="button" class="card" data-example="{place}"><b>{escaped(title)}</b>'
        f"{escaped(blurb)}</button>"
        for place, (title, blurb, _) in enumerate(examples()[CHIPS:], CHIPS)
    )
    parts.add("cards", gr.HTML(
        f'<details open>{EXAMPLES_TITLE}<div class="cards">{cards}</div></details>',
        js_on_load=EXAMPLES_JS,
    ))
