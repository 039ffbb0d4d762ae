"""Texts encoded by their difference from a base text.

Thousands of candidates differ from a long program in one place each; so only that place is sent to
the jail.
"""

from __future__ import annotations

from hashlib import blake2b

from agent.core.common_ends import common_ends

Change = tuple[int, int, str]
"""Start and end of the replaced characters of the base, and their replacement."""


def change(base: str, text: str) -> Change:
    """The change from the base to the text."""
    start, tail = common_ends(base, text)
    return start, len(base) - tail, text[start : len(text) - tail]


def changed(base: str, made: Change) -> str:
    """The text that `change` describes."""
    start, end, replacement = made
    return base[:start] + replacement + base[end:]


def short_hash(text: str) -> str:
    """A hash of 64 bits."""
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()
