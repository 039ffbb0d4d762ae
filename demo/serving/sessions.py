"""What Gradio keeps of each page that is open, made at no cost.

Gradio writes down the whole page anew for whoever is new, which takes the server's event loop a
fifth of a second and some 200 kB: a program that names another session with each request would hold
everybody else up. Only links that restore a page need that text, and this page has links of its
own.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from gradio.blocks import Blocks
from gradio.state_holder import SessionState, StateHolder

MAX_SESSIONS = 1_000
"""Sessions that are kept; one that is dropped while its page is open begins anew."""


class Sessions(StateHolder):
    """Stands in for the server's own."""

    def __init__(self, blocks: Blocks) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        blocks.state_session_capacity = MAX_SESSIONS
        self.set_blocks(blocks)

    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self.session_data:
            self.session_data[session_id] = _LightState(self.blocks)
        return super().__getitem__(session_id)


class _LightState(SessionState):
    """The state of a session that has changed nothing yet."""

    def __init__(self, blocks: Blocks) -> None:
        # It writes down the parts that it finds under the second of these.
        unwritten: Any = SimpleNamespace(default_config=blocks.default_config, blocks={})
        super().__init__(unwritten)
