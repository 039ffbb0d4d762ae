"""Escapes untrusted text for HTML. Pure functions."""

from __future__ import annotations

import html
import re
from typing import Literal

LONGEST_TEXT = 4_000
"""Maximum shown characters of an untrusted text; the log has all."""

_UNSEEN = {
    code: f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    for code in (*range(0x00, 0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0xAD, 0x61C, 0x115F,
                 0x1160, 0x180E, *range(0x200B, 0x2010), *range(0x2028, 0x202F),
                 *range(0x2060, 0x2070), 0x3164, *range(0xFE00, 0xFE0F), 0xFEFF, 0xFFA0,
                 *range(0xE0000, 0xE0200))
}
"""Escapes for characters that are invisible or change the reading order."""


def escaped(text: str, limit: int = LONGEST_TEXT) -> str:
    """Escapes untrusted text for an element or a quoted attribute."""
    if len(text) > limit:
        text = f"{text[:limit]}… {len(text) - limit:,} more characters"
    visible = text.translate(_UNSEEN).encode("utf-8", "backslashreplace").decode()
    return html.escape(visible, quote=True)


def prose(text: str, limit: int = LONGEST_TEXT) -> str:
    """Escapes text, renders backticks as code, and does not break a line before a unit."""
    whole = re.sub(r"(?<=\d) (?=m?s\b)", "\N{NO-BREAK SPACE}", escaped(text, limit))
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", whole)


def sentence(text: str, role: Literal["alert", "note", "info", "status"] = "alert") -> str:
    """Renders a message: an error (`alert`), a warning (`note`), a success (`status`) or
    information (`info`); empty for an empty text."""
    marks = {"status": ("✓", "sentence good"), "info": ("i", "sentence info")}
    mark, kind = marks.get(role, ("!", "sentence"))
    role = "note" if role == "info" else role
    shown = f'<div class="{kind}" role="{role}"><b aria-hidden="true">{mark}</b>'
    return f"{shown}<p>{prose(text)}</p></div>" if text else ""
