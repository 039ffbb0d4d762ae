"""The questions to a visitor, and the workbench of a run."""

from __future__ import annotations

import gradio as gr

from agent.core.events import from_jsonl
from agent.report.result import fold
from demo.layout.parts import Parts
from demo.layout.theme import ASSETS
from demo.phases import CHOICES
from demo.views.bench import example

EXAMPLE = ASSETS / "example.jsonl"
"""A recorded run, shown before the first run to explain its parts."""
LEAD = (
    "Paste Python code that fails and a test that shows it. The code runs in a jail, the cause is "
    "found, and you get a patch with its proof. Below is a recorded run of “Off by one day”."
)
CHIP = 0
"""The index of that example above the editors."""
FIRST_SCREEN = example(fold(from_jsonl(EXAMPLE.read_text(encoding="utf-8"))), LEAD, CHIP)


def add_output(parts: Parts) -> None:
    with parts.add("review", gr.Column(visible=False, elem_id="review")):
        parts.add("reviewed", gr.HTML(""))
        with gr.Row(elem_classes="pair"):
            parts.add("approve", gr.Button("Approve the patch", variant="primary"))
            parts.add("reject", gr.Button("Reject the patch"))
        with parts.add("otherwise", gr.Column()):
            with parts.add("hinted", gr.Row(elem_classes="hint")):
                parts.add("hint", gr.Textbox(
                    label="Or describe another repair; a model reads it", max_lines=3, scale=1,
                ))
                parts.add("advise", gr.Button("Try again", scale=0, min_width=130))
            with parts.add("change", gr.Accordion("Change it yourself", open=False)):
                parts.add("edited", gr.Code(
                    label="Your version of the program", language="python", max_lines=18,
                    buttons=[],
                ))
                parts.add("bring", gr.Button("Test my version"))
    with parts.add("paused", gr.Column(visible=False)):
        parts.add("needed", gr.HTML(""))
        with gr.Row(elem_id="pause-buttons"):
            parts.add("go-on", gr.Button("Continue", variant="primary"))
            parts.add("end-here", gr.Button("End the run"))
    with parts.add("question", gr.Column(visible=False)):
        parts.add("asked", gr.HTML(""))
        with gr.Row(elem_id="choices"):
            for name in CHOICES:
                parts.add(name, gr.Button("", elem_classes="choice", visible=False, min_width=120))
        with gr.Row(elem_id="other"):
            parts.add("written", gr.Textbox(
                label="None of these? Enter the right result as a Python value",
                placeholder="0, 'text', raises KeyError", max_lines=1, scale=1,
            ))
            parts.add("write", gr.Button("This is right", scale=0, min_width=130))
        parts.add("wrong", gr.HTML(""))
    parts.add("bench", gr.HTML(FIRST_SCREEN))
    # The workbench has visible buttons that press these; see `page.js`.
    for name in ("use", "open", "fork", "linger", "follow"):
        parts.add(name, gr.Button(name, elem_classes="faceless"))
    parts.add("writing", gr.HTML("", elem_classes="faceless"))
    for name in ("looked", "moved", "refollow", "answering"):
        parts.add(name, gr.Textbox(visible=False))
