"""Untrusted text made safe for a page; pure."""

from __future__ import annotations

import html
import re
from typing import Literal

LONGEST_TEXT = 4_000
"""Characters of one untrusted text that are shown; the log holds all of it."""

_UNSEEN = {
    code: f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    for code in (*range(0x00, 0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), 0xAD, 0x61C, 0x115F,
                 0x1160, 0x180E, *range(0x200B, 0x2010), *range(0x2028, 0x202F),
                 *range(0x2060, 0x2070), 0x3164, *range(0xFE00, 0xFE0F), 0xFEFF, 0xFFA0,
                 *range(0xE0000, 0xE0200))
}
"""Characters that are not seen, or that turn the reading order: shown as their escapes."""


def escaped(text: str, limit: int = LONGEST_TEXT) -> str:
    """Untrusted text, safe inside an element or a quoted attribute."""
    if len(text) > limit:
        text = f"{text[:limit]}… {len(text) - limit:,} more characters"
    visible = text.translate(_UNSEEN).encode("utf-8", "backslashreplace").decode()
    return html.escape(visible, quote=True)


def prose(text: str, limit: int = LONGEST_TEXT) -> str:
    """As `escaped`, with what stands between backticks as code, and no figure without its unit."""
    whole = re.sub(r"(?<=\d) (?=m?s\b)", "\N{NO-BREAK SPACE}", escaped(text, limit))
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", whole)


def sentence(text: str, role: Literal["alert", "note", "info", "status"] = "alert") -> str:
    """A sentence for a person: what cannot be done as asked, what must be known, or, as `status`,
    what went as asked; as `info` what does no harm. Nothing for no words."""
    marks = {"status": ("✓", "sentence good"), "info": ("i", "sentence info")}
    mark, kind = marks.get(role, ("!", "sentence"))
    role = "note" if role == "info" else role
    shown = f'<div class="{kind}" role="{role}"><b aria-hidden="true">{mark}</b>'
    return f"{shown}<p>{prose(text)}</p></div>" if text else ""
