"""What a visitor brings, and the examples that fill it in."""

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
"""Examples that stand above the editors."""
DRAFTED = "A task in words; without a model, a scripted draft is healed"
"""The blurb of a demo task."""


FILES = (
    '<label class="send">Choose files instead<span> a module and its test, or a small project as '
    'a zip</span><input type="file" multiple></label>'
    '<p class="sent" role="status"></p>'
    '<button type="button" class="unsend" hidden>Clear files</button>'
)
SENDS = f"""
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
const told = (words, files) => {{
  said.textContent = words;
  said.classList.toggle("sentence", Boolean(words) && !files);
  clear.hidden = !files;
  props.value = files;
}};
input.addEventListener("change", async () => {{
  const chosen = [...input.files];
  const size = chosen.reduce((sum, file) => sum + file.size, 0);
  if (!chosen.length) return told("", null);
  if (!window.mayClear()) {{
    input.value = "";
    return;
  }}
  if (size > MOST) {{
    input.value = "";
    return told(`These are ${{Math.ceil(size / 1e4) / 100}} MB; ${{MOST / 1e6}} MB are the most. `
      + "Choose the modules and tests that the failure needs.", null);
  }}
  const files = {{}};
  for (const file of chosen) files[file.name] = await base64(file);
  trigger("submit");
  told(chosen.map((file) => file.name).join(", "), files);
}});
clear.addEventListener("click", (event) => {{
  input.value = ""; told("", null);
  if (event.isTrusted) input.focus();
}});
"""
"""Files go along with the click on Heal, and nowhere before it; they are what is healed next, so
that program and words make room for them."""


def add_inputs(
    parts: Parts, *, public: bool, max_iterations: int, autonomy: Autonomy
) -> None:
    """What a visitor brings, and who is to answer."""
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
        # Enabled on arrival: a click before it would be undone by what arrives.
        parts.add("heal", gr.Button(
            "Heal it", variant="primary", min_width=120, interactive=False,
        ))
        parts.add("stop", gr.Button("Stop", interactive=False, min_width=80))
    parts.add("said", gr.HTML(""))  # here it moves no button while a run goes on
    parts.add("files", gr.HTML(None, html_template=FILES, js_on_load=SENDS))
    parts.add("keys", gr.HTML(KEYS))
    with parts.later("models", "Models and keys"):
        with gr.Row(elem_classes="pair"):
            names = [(name, name) for name in providers_offered(public=public)]
            parts.add("provider", gr.Dropdown(
                [("as at the top", ""), ("no model", MOCK), *names], value="",
                label="Who answers", min_width=120,
            ))
            parts.add("model", gr.Textbox(
                "", label="Its model", placeholder="its usual one", max_lines=1, min_width=120,
            ))
        parts.add("roles", gr.Textbox(
            "", label="Roles given to others", max_lines=1,
            info="Another model for one kind of question: debugger, generator, critic and others.",
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
                                ("forget-keys", "Forget my keys")):
                parts.add(name, gr.Button(label, min_width=80, size="sm"))
        parts.add("available-keys", gr.HTML(""))
        parts.add("key-message", gr.HTML(""))
    with parts.later("options", "Options"):
        _lay_options(parts, max_iterations=max_iterations, autonomy=autonomy)


def _lay_options(parts: Parts, *, max_iterations: int, autonomy: Autonomy) -> None:
    with gr.Row(elem_classes="pair"):
        parts.add("stdin", gr.Textbox(
            "", label="Its standard input", lines=1, max_lines=4, min_width=120,
        ))
        parts.add("args", gr.Textbox(
            "", label="Its arguments", max_lines=1, min_width=120, placeholder="--year 2024 in.csv",
        ))
    parts.add("iterations", gr.Slider(
        1, most_iterations(max_iterations), value=max_iterations, step=1,
        label="Repair attempts at most",
    ))
    parts.add("autonomy", gr.Dropdown(
        [("never", "full_auto"), ("before a repair is kept", "review_repairs"),
         ("also before a model writes", "review_all")],
        value=autonomy, label="Ask me",
    ))
    parts.add("ask", gr.Checkbox(
        False, label="Ask which behaviour is right before a repair is taken",
        info="Without it the likeliest is taken, and you may still answer after the run.",
    ))
    with gr.Row(elem_classes="pair"):
        parts.add("require-proof", gr.Dropdown(
            [("E1, my tests pass", "E1"), ("E2, so does a hidden one", "E2"),
             ("E3, and changed inputs", "E3"), ("E4, and they notice slips", "E4")],
            value="E1", label="The least proof", min_width=120,
            info="How far a repair must be shown to be right.",
        ))
        parts.add("require-integrity", gr.Dropdown(
            [("any that is believed", ""), ("compared outside of its process", "isolated")],
            value="", label="The least integrity", min_width=120,
            info="How little the program may have to do with its own verdict.",
        ))
    parts.add("require-confidence", gr.Textbox(
        "", label="The required confidence, in percent", placeholder="90", max_lines=1,
        info="A patch that is less likely right is proposed, and not called healed.",
        html_attributes=gr.InputHTMLAttributes(autocomplete="off"),
    ))
    gr.HTML("<p>At most, for models and in all; empty is the usual:</p>", elem_classes="caps-title")
    with gr.Row(elem_classes="caps"):
        for name, label in (
            ("usd", "Dollars"), ("tokens", "Tokens"), ("calls", "Calls"), ("seconds", "Seconds"),
        ):
            parts.add(name, gr.Textbox(
                "", label=label, placeholder="usual", min_width=70, max_lines=1,
                html_attributes=gr.InputHTMLAttributes(autocomplete="off"),
            ))
    parts.add("learn", gr.Checkbox(True, label="Learn from this run"))


CHOOSES = """
element.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-example]");
  if (button) trigger("submit", { example: button.dataset.example });
});
"""
"""Tells which example was chosen."""


def examples() -> list[tuple[str, str, dict[str, str]]]:
    """Title, blurb and what is filled in of each worked example: code to mend, or a task in words,
    for which the mode without a model has a scripted first draft."""
    cards = yaml.safe_load(DRAFTS_FILE.read_text(encoding="utf-8"))["cards"]
    filled = [
        *((card["title"], card["blurb"], (card["code"], card.get("tests", ""), ""))
          for card in cards),
        *((draft.title, DRAFTED, ("", "", draft.task)) for draft in read_drafts()),
    ]
    return [
        (title, blurb, dict(zip(TYPED, typed, strict=True))) for title, blurb, typed in filled
    ]


def add_chips(parts: Parts) -> None:
    """The first examples, one line above the editors."""
    chips = "".join(
        f'<button type="button" class="chip" data-example="{place}">{escaped(title)}</button>'
        for place, (title, _, _) in enumerate(examples()[:CHIPS])
    )
    parts.add("chips", gr.HTML(f"<p>Try</p>{chips}", js_on_load=CHOOSES))


def add_examples(parts: Parts) -> None:
    """A card for each of the others."""
    cards = "".join(
        f'<button type="button" class="card" data-example="{place}"><b>{escaped(title)}</b>'
        f"{escaped(blurb)}</button>"
        for place, (title, blurb, _) in enumerate(examples()[CHIPS:], CHIPS)
    )
    parts.add("cards", gr.HTML(
        f'<details open>{EXAMPLES_TITLE}<div class="cards">{cards}</div></details>',
        js_on_load=CHOOSES,
    ))
