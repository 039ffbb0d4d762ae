"""What is asked of a visitor, above the workbench."""

from __future__ import annotations

import gradio as gr

from agent.core.events import from_jsonl
from agent.report.result import fold
from demo.layout.parts import Parts
from demo.layout.theme import ASSETS
from demo.phases import CHOICES
from demo.views.bench import example

EXAMPLE = ASSETS / "example.jsonl"
"""A recorded run, which stands on the page before the first one and explains what a run gives."""
LEAD = (
    "Paste Python that fails and a test that shows it. It is run in a jail, the cause is found, "
    "and a patch is shown with its proof. Below a recorded run of “Off by one day”."
)
CHIP = 0
"""The place of that example among those above the editors."""
FIRST_SCREEN = example(fold(from_jsonl(EXAMPLE.read_text(encoding="utf-8"))), LEAD, CHIP)


def add_output(parts: Parts) -> None:
    """What is asked of a visitor, above the workbench."""
    with parts.add("review", gr.Column(visible=False, elem_id="review")):
        parts.add("reviewed", gr.HTML(""))
        with gr.Row(elem_classes="pair"):
            parts.add("approve", gr.Button("Approve the patch", variant="primary"))
            parts.add("reject", gr.Button("Reject it"))
        with parts.add("otherwise", gr.Column()):
            with parts.add("hinted", gr.Row(elem_classes="hint")):
                parts.add("hint", gr.Textbox(
                    label="Or say what to do otherwise; a model reads it", max_lines=3, scale=1,
                ))
                parts.add("advise", gr.Button("Try again", scale=0, min_width=130))
            with parts.add("change", gr.Accordion("Change it yourself", open=False)):
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
                placeholder="0, 'text', raises KeyError", max_lines=1, scale=1,
            ))
            parts.add("write", gr.Button("This is right", scale=0, min_width=130))
        parts.add("wrong", gr.HTML(""))
    parts.add("bench", gr.HTML(FIRST_SCREEN))
    # Their faces stand in the bench; see `page.js`.
    for name in ("use", "open", "fork", "linger", "follow"):
        parts.add(name, gr.Button(name, elem_classes="faceless"))
    parts.add("writing", gr.HTML("", elem_classes="faceless"))
    for name in ("looked", "moved", "stirred", "answering"):
        parts.add(name, gr.Textbox(visible=False))
