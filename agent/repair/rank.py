"""Which of several plausible candidates to believe first, and what each one did, in words."""

from __future__ import annotations

import difflib
import io
import math
import re
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import replace

from agent.repair.facts import Candidate

WRONG_TYPE = 2.0
"""Cost of results that equal the expected ones but are of another type, as `0` and `False`."""
RARE = 0.25
"""What rarity adds among candidates that all pass: an operator with hundreds of edits passes a
few tests by chance."""
ALIKE = 1.0
"""Cost of answering otherwise than the candidates that are likely by their edits."""
CRASHING = 1.5
"""Cost of an exception on every call to which the base gave a value."""
BLIND = 100.0
"""Cost of an answer that is the same for all arguments: behind every other."""


def ranked(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Best first: cheap edits whose results have the types the tests expect."""
    once: dict[str, Candidate] = {}
    for candidate in candidates:
        known = once.get(candidate.text)
        if known is None or candidate.cost < known.cost:
            once[candidate.text] = candidate
    return tuple(sorted(once.values(), key=lambda one: (weight(one), one.text)))


def weight(candidate: Candidate) -> float:
    return (
        candidate.cost + candidate.penalty + RARE * candidate.rarity
        + WRONG_TYPE * bool(candidate.types) + BLIND * candidate.blind
    )


def behaved(
    candidates: Sequence[Candidate], answers: Sequence[tuple[str, ...] | None]
) -> tuple[Candidate, ...]:
    """The candidates with what they answer beyond the tests, and what that adds to their cost.

    The first of the answers are the base's. Candidates that answer alike speak for each other;
    an exception where the base gave a value speaks against.
    """
    base, *others = answers
    mass: dict[tuple[str, ...], float] = {}
    for candidate, own in zip(candidates, others, strict=True):
        if own is not None:
            mass[own] = mass.get(own, 0.0) + math.exp(-weight(candidate))
    whole = sum(mass.values())
    found = []
    for candidate, own in zip(candidates, others, strict=True):
        if own is None:
            found.append(replace(candidate, penalty=CRASHING))
            continue
        penalty = -ALIKE * math.log(mass[own] / whole)
        if base is not None:
            pairs = list(zip(base, own, strict=True))
            worse = sum(is_failure(now) and not is_failure(was) for was, now in pairs)
            penalty += CRASHING * worse / len(pairs)
        found.append(replace(candidate, answers=own, penalty=penalty))
    return tuple(found)


def is_failure(answer: str) -> bool:
    """Whether a call ended in an exception or not at all."""
    return answer.startswith(("!", "~"))


def described(before: str, after: str) -> str:
    """What changed from one text to another: ``changed `<` to `<=` in line 4``."""
    old, new = before.splitlines(), after.splitlines()
    parts = []
    # Long programs differ in a few lines: the matcher sees those and one on either side.
    same = max(0, _alike(old, new) - 1)
    rest = max(0, _alike(old[same:][::-1], new[same:][::-1]) - 1)
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
            parts.append(f"changed {_lines(a, b)} to {_shown(new[c:d])}")
    return " and ".join(parts) or "changed only line ends"


def _alike(old: list[str], new: list[str]) -> int:
    """How many lines are the same at the start."""
    pairs = enumerate(zip(old, new, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(old), len(new)))


def _within(old: str, new: str, line: int) -> str:
    before, after = _tokens(old.strip()), _tokens(new.strip())
    matcher = difflib.SequenceMatcher(
        None, [token for token, _, _ in before], [token for token, _, _ in after], autojunk=False
    )
    blocks = [code for code in matcher.get_opcodes() if code[0] != "equal"]
    if not blocks:
        return f"changed the indentation of line {line}"
    a, b = blocks[0][1], blocks[-1][2]
    c, d = blocks[0][3], blocks[-1][4]
    was, now = _spelt(old.strip(), before[a:b]), _spelt(new.strip(), after[c:d])
    if len(blocks) > 1:
        # Several places of a line: the tokens between them are shown as they stand.
        was, now = old.strip(), new.strip()
    if not was:
        return f"inserted `{now}` in line {line}"
    if not now:
        return f"removed `{was}` from line {line}"
    return f"changed `{was}` to `{now}` in line {line}"


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
