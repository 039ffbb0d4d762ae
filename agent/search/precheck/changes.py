"""One text, described by where it differs from another.

Thousands of candidates differ from a long program in one place each: what they have in common
crosses no wall again.
"""

from __future__ import annotations

from hashlib import blake2b

from agent.core.common_ends import common_ends

Change = tuple[int, int, str]
"""Characters of the base from the first to the second place are the text's own instead."""


def change(base: str, text: str) -> Change:
    """What makes the text of the base."""
    start, tail = common_ends(base, text)
    return start, len(base) - tail, text[start : len(text) - tail]


def changed(base: str, made: Change) -> str:
    """The text that `change` describes."""
    start, end, own = made
    return base[:start] + own + base[end:]


def short_hash(text: str) -> str:
    """What tells one text from others, wherever texts are many."""
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
