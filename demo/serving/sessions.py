"""Gradio session states that are cheap to create.

Gradio serializes the whole page for each new session, which blocks the event loop for 0.2 s and
takes 200 kB. A client with a new session for each request would block all others. Only links that
restore a page need that text, and this page has its own links.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from gradio.blocks import Blocks
from gradio.state_holder import SessionState, StateHolder

MAX_SESSIONS = 1_000
"""Maximum number of sessions; the state of an older one is reset."""


class Sessions(StateHolder):
    """Replaces Gradio's state holder."""

    def __init__(self, blocks: Blocks) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        blocks.state_session_capacity = MAX_SESSIONS
        self.set_blocks(blocks)

    def __getitem__(self, session_id: str) -> SessionState:
        if session_id not in self.session_data:
            self.session_data[session_id] = _LightState(self.blocks)
        return super().__getitem__(session_id)


class _LightState(SessionState):
    def __init__(self, blocks: Blocks) -> None:
        # Gradio serializes the parts in `blocks`.
        without_parts: Any = SimpleNamespace(default_config=blocks.default_config, blocks={})
        super().__init__(without_parts)
