"""A session of a page costs next to nothing until it changes something."""

from __future__ import annotations

from unittest.mock import patch

import gradio as gr

from demo.serving import sessions
from demo.serving.sessions import Sessions


def page() -> gr.Blocks:
    with gr.Blocks() as ui:
        gr.Textbox(elem_id="typed")
        gr.Slider(1, 10)
    return ui


async def test_a_new_session_writes_no_part_of_the_page_down() -> None:
    ui = page()
    held = Sessions(ui)
    with patch.object(gr.Textbox, "get_config", side_effect=AssertionError("written down")):
        held["one"]
    assert [*held["one"].components] == []


async def test_what_a_session_changes_is_its_own() -> None:
    ui = page()
    held = Sessions(ui)
    typed = next(key for key, part in ui.blocks.items() if isinstance(part, gr.Textbox))
    held["one"][typed] = gr.Textbox(value="mine", render=False)
    assert (held["one"][typed].value, held["two"][typed].value) == ("mine", None)
    assert [one["id"] for one in held["one"].components] == [typed]


async def test_who_was_here_longest_ago_is_dropped_first() -> None:
    with patch.object(sessions, "MAX_SESSIONS", 2):
        held = Sessions(page())
        for name in "abc":
            held[name]
    assert [*held.session_data] == ["b", "c"]
