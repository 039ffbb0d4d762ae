"""An edit in words, from the texts before and after it."""

from __future__ import annotations

import difflib
import io
import re
import tokenize

from agent.core.common_ends import common_start

LONG = 400
"""Tokens of a line that a person would not write."""
LONGEST = 400
"""Characters of a line that are shown."""


def edit_in_words(before: str, after: str) -> str:
    """What changed from one text to another: ```<` → `<=` in line 4``."""
    old, new = before.splitlines(), after.splitlines()
    parts = []
    # Long programs differ in a few lines: the matcher sees those and one on either side.
    same, rest = _around(old, new)
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
            parts.append(_within(old[a], new[c], a + 1))
        else:
            parts.append(f"{_lines(a, b)} → {_shown(new[c:d])}")
    return "; ".join(parts) or "changed only line ends"


def _around(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many parts are left out at the beginning and at the end: the same ones but the last."""
    same = max(0, common_start(old, new) - 1)
    return same, max(0, common_start(old[same:][::-1], new[same:][::-1]) - 1)


def _differing(
    before: list[_Token], after: list[_Token]
) -> tuple[list[_Token], list[_Token]]:
    """The tokens in which a very long line differs, and one on either side."""
    old, new = [token for token, _, _ in before], [token for token, _, _ in after]
    same, rest = _around(old, new)
    return before[same : len(before) - rest], after[same : len(after) - rest]


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _within(old: str, new: str, line: int) -> str:
    before, after = _tokens(old.strip()), _tokens(new.strip())
    if max(len(before), len(after)) > LONG:
        before, after = _differing(before, after)
    if max(len(before), len(after)) > LONG:
        return f"changed several places of line {line}"
    matcher = difflib.SequenceMatcher(
        None, [token for token, _, _ in before], [token for token, _, _ in after], autojunk=False
    )
    blocks = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    if not blocks:
        return f"changed the indentation of line {line}"
    a, b = blocks[0][1], blocks[-1][2]
    c, d = blocks[0][3], blocks[-1][4]
    was, now = _spelt(old.strip(), before[a:b]), _spelt(new.strip(), after[c:d])
    if len(blocks) > 1 and max(len(old), len(new)) <= LONGEST:
        # Several places of a line: the tokens between them are shown as they stand.
        was, now = old.strip(), new.strip()
    was, now = _cut(was), _cut(now)
    if not was:
        return f"added `{now}` in line {line}"
    if not now:
        return f"removed `{was}` from line {line}"
    return f"`{was}` → `{now}` in line {line}"


_Token = tuple[str, int, int]
"""A token's text, and where it starts and ends in its line."""


def _tokens(line: str) -> list[_Token]:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(line).readline))
    except (tokenize.TokenError, SyntaxError):
        # A line of a longer statement need not be whole by itself.
        return [(m.group(), m.start(), m.end()) for m in re.finditer(r"\w+|\S", line)]
    return [(t.string, t.start[1], t.end[1]) for t in tokens if t.string.strip()]


def _spelt(line: str, tokens: list[_Token]) -> str:
    return line[tokens[0][1] : tokens[-1][2]] if tokens else ""


def _shown(lines: list[str]) -> str:
    text = "; ".join(line.strip() for line in lines if line.strip()).replace(":; ", ": ")
    return f"`{text}`" if len(text) <= 80 else f"`{text[:77]}...`"


def _after(line: int) -> str:
    return f"after line {line}" if line else "at the start"


def _lines(first: int, last: int) -> str:
    return f"line {first + 1}" if last - first == 1 else f"lines {first + 1} to {last}"
