"""An edit in words, from the texts before and after it."""

from __future__ import annotations

import difflib
import io
import re
import tokenize

from agent.core.common_ends import common_start

MAX_COMPARED_TOKENS = 400
"""Tokens of a line beyond which only the differing part is compared."""
MAX_SHOWN_CHARACTERS = 400
"""Characters of a line that are shown."""


def edit_in_words(before: str, after: str) -> str:
    """What changed from one text to another: ```<` → `<=` in line 4``."""
    old, new = before.splitlines(), after.splitlines()
    parts = []
    # The matcher is slow for long texts, so it gets only the part that differs.
    same, rest = _margins(old, new)
    matcher = difflib.SequenceMatcher(
        None, old[same : len(old) - rest], new[same : len(new) - rest], autojunk=False
    )
    for kind, *places in matcher.get_opcodes():
        a, b, c, d = (place + same for place in places)
        if kind == "equal":
            continue
        if kind == "insert":
            parts.append(f"added {_shown(new[c:d])} {_after(a)}")
        elif kind == "delete":
            parts.append(f"removed {_shown(old[a:b])} from {_lines(a, b)}")
        elif b - a == d - c == 1:
            parts.append(_line_edit_in_words(old[a], new[c], a + 1))
        else:
            parts.append(f"{_lines(a, b)} → {_shown(new[c:d])}")
    return "; ".join(parts) or "changed only line ends"


def _margins(old: list[str], new: list[str]) -> tuple[int, int]:
    """The number of equal items at the start and at the end, less one each for context."""
    same = max(0, common_start(old, new) - 1)
    return same, max(0, common_start(old[same:][::-1], new[same:][::-1]) - 1)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[: MAX_SHOWN_CHARACTERS - 3]}..."


def _line_edit_in_words(old: str, new: str, line: int) -> str:
    is_short = max(len(old), len(new)) <= MAX_SHOWN_CHARACTERS
    old, new = old.strip(), new.strip()
    before, after = _tokens(old), _tokens(new)
    if max(len(before), len(after)) > MAX_COMPARED_TOKENS:
        same, rest = _margins([token for token, *_ in before], [token for token, *_ in after])
        before, after = before[same : len(before) - rest], after[same : len(after) - rest]
    if max(len(before), len(after)) > MAX_COMPARED_TOKENS:
        return f"changed several places of line {line}"
    matcher = difflib.SequenceMatcher(
        None, [token for token, *_ in before], [token for token, *_ in after], autojunk=False
    )
    blocks = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    if not blocks:
        return f"changed the indentation of line {line}"
    a, b = blocks[0][1], blocks[-1][2]
    c, d = blocks[0][3], blocks[-1][4]
    if len(blocks) > 1 and is_short:
        removed, added = old, new
    else:
        removed, added = _source(old, before[a:b]), _source(new, after[c:d])
        if removed and added and old.count(removed) > 1:  # the tokens beside it show which one
            start, stop = min(a, c, 1), min(len(before) - b, len(after) - d, 1)
            removed = _source(old, before[a - start : b + stop])
            added = _source(new, after[c - start : d + stop])
    removed, added = _cut(removed), _cut(added)
    if not removed:
        return f"added `{added}` in line {line}"
    if not added:
        return f"removed `{removed}` from line {line}"
    return f"`{removed}` → `{added}` in line {line}"


_Token = tuple[str, int, int]
"""A token's text, and where it starts and ends in its line."""


def _tokens(line: str) -> list[_Token]:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(line).readline))
    except (tokenize.TokenError, SyntaxError):
        # A line of a longer statement may not be valid by itself.
        return [(m.group(), m.start(), m.end()) for m in re.finditer(r"\w+|\S", line)]
    return [(t.string, t.start[1], t.end[1]) for t in tokens if t.string.strip()]


def _source(line: str, tokens: list[_Token]) -> str:
    return line[tokens[0][1] : tokens[-1][2]] if tokens else ""


def _shown(lines: list[str]) -> str:
    text = "; ".join(line.strip() for line in lines if line.strip()).replace(":; ", ": ")
    return f"`{text}`" if len(text) <= 80 else f"`{text[:77]}...`"


def _after(line: int) -> str:
    return f"after line {line}" if line else "at the start"


def _lines(first: int, last: int) -> str:
    return f"line {first + 1}" if last - first == 1 else f"lines {first + 1} to {last}"
