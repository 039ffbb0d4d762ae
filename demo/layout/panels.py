"""The panels next to the workbench. Their content is loaded when they are opened."""

from __future__ import annotations

import gradio as gr

from demo.layout.parts import Parts

ACTIONS_JS = """
const action = (button) => {
  const act = { act: button.dataset.act, key: button.dataset.key || "" };
  if (button.dataset.sure && !confirm(button.dataset.sure)) return null;
  if (button.dataset.ask) {
    act.value = prompt(button.dataset.ask, button.dataset.value || "");
    if (!act.value) return null;
  }
  return act;
};
element.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-act]");
  if (!button) return;
  const act = action(button);
  if (!act) return;
  act.picked = [...element.querySelectorAll("[data-pick]:checked")].map((one) => one.dataset.pick);
  trigger("submit", act);
});
"""
"""Sends which button of a list was pressed, after a confirmation or a prompt."""
COMPARE = '<button type="button" data-act="compare">Compare two runs</button>'


def add_runs(parts: Parts) -> None:
    parts.add("runs-search", gr.Textbox(
        "", label="Search runs", placeholder="healed late_fee", max_lines=1,
    ))
    parts.add("runs-message", gr.HTML(""))
    parts.add("runs-list", gr.HTML("", html_template=f"${{value}}{COMPARE}", js_on_load=ACTIONS_JS))
    parts.add("runs-go", gr.Textbox("", visible=False))
    parts.add("replay-at", gr.Slider(
        1, 2, value=1, step=1, label="Event of the run", visible=False,
    ))
    parts.add("replayed", gr.HTML(""))


def add_memory(parts: Parts) -> None:
    parts.add("memory-search", gr.Textbox(
        "", label="Search fixes and lessons", max_lines=1, placeholder="IndexError",
    ))
    parts.add("memory-message", gr.HTML(""))
    parts.add("memory-list", gr.HTML("", js_on_load=ACTIONS_JS))


def add_benchmarks(parts: Parts) -> None:
    parts.add("benchmarks-list", gr.HTML(""))
