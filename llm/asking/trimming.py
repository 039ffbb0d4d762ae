"""Shortens the parts of a request to fit into a model's window, the least useful part first.

Each part has a priority and a floor, the characters that always stay. The part with the lowest
priority is shortened until the request fits, at most down to its floor, then the next. So the
possible versions of a request form a chain, from all parts whole down to all at their floors, and
the first one that fits is returned. Three properties hold for every token counter: nothing is cut
if everything fits, a part is shortened only when all less useful parts are at their floors, and a
larger window never shows less. The last one needs a count that does not fall when text is added.

The mark in a shortened text states the original length, not the number of missing characters. So
it is the same in every version, and a shorter version has no text that a longer one lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from llm.errors import ContextOverflow

Keep = Literal["head", "tail", "both"]
Measure = Callable[[Mapping[str, str]], int]
"""Counts the tokens of a request with these texts, by the names of the parts."""

MIN_PART_CHARS = 80
"""Characters below which a part is left out rather than shortened."""
LINE_SLACK = 200
"""The most characters that are dropped to cut at the end of a line."""


@dataclass(frozen=True)
class Part:
    """One text of a request. `floor` is the number of characters that always stay; `None` is all
    of them, and 0 allows leaving the part out."""

    name: str
    text: str
    priority: int
    floor: int | None = None
    keep: Keep = "both"


@dataclass(frozen=True)
class Cut:
    """A shortened part with `kept` of `of` characters."""

    name: str
    kept: int
    of: int

    @property
    def words(self) -> str:
        if self.kept == 0:
            return f"{self.name} left out ({self.of:,} characters)"
        return f"{self.name} cut from {self.of:,} to {self.kept:,} characters"


@dataclass(frozen=True)
class Fitted:
    """The texts of a request that fits, by name, and the cuts in order."""

    texts: Mapping[str, str]
    cuts: tuple[Cut, ...] = ()

    @property
    def words(self) -> str:
        """The cuts for people; empty if there are none."""
        return "; ".join(cut.words for cut in self.cuts)


def fit(parts: Sequence[Part], room: int, measure: Measure) -> Fitted:
    """The parts, shortened to fit into `room` tokens.

    Of two parts with the same priority, the later one is cut first. Raises `ContextOverflow`
    if the floors do not fit.
    """
    texts = {part.name: part.text for part in parts}
    cuts: list[Cut] = []
    tokens = measure(texts)
    for _, part in sorted(enumerate(parts), key=lambda pair: (pair[1].priority, -pair[0])):
        if tokens <= room:
            break
        kept = _most_kept(part, room, measure, texts)
        if kept == len(part.text):
            continue
        texts[part.name] = shortened(part, kept)
        cuts.append(Cut(part.name, sum(_ends(part, kept)), len(part.text)))
        tokens = measure(texts)
    if tokens > room:
        raise ContextOverflow(
            f"the request needs {tokens:,} tokens and the model has room for {max(room, 0):,}; "
            f"no more can be cut from {_sizes(texts)}: choose a model with a longer context, or "
            "use a shorter program"
        )
    return Fitted(texts, tuple(cuts))


def _sizes(texts: Mapping[str, str]) -> str:
    sizes = [f"{name} ({len(text):,} characters)" for name, text in texts.items() if text]
    return ", ".join(sizes) or "the prompt itself"


def _most_kept(part: Part, room: int, measure: Measure, texts: Mapping[str, str]) -> int:
    """The most characters of a part with which the request fits, or its floor. Returns the whole
    length if the mark would be as long as the text that it replaces."""
    whole = len(part.text)
    high = whole - len(_mark(part)) - 2
    if part.floor is None or part.floor > max(high, 0):
        return whole

    def fits(kept: int) -> bool:
        return measure({**texts, part.name: shortened(part, kept)}) <= room

    low = max(part.floor, MIN_PART_CHARS)
    if low > high or not fits(low):
        return part.floor
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def shortened(part: Part, kept: int) -> str:
    """At most `kept` characters of a part around a mark; empty for 0."""
    if kept == 0:
        return ""
    head, tail = _ends(part, kept)
    first, last = part.text[:head], part.text[len(part.text) - tail :]
    line = "" if not first or first.endswith("\n") else "\n"
    return f"{first}{line}{_mark(part)}{last}"


def _mark(part: Part) -> str:
    return f"[... a part of these {len(part.text):,} characters is left out here ...]\n"


def _ends(part: Part, kept: int) -> tuple[int, int]:
    """How many characters stay at the head and at the tail. Neither falls as `kept` grows.

    Both consist of whole lines if that drops at most `LINE_SLACK` characters and none of the floor.
    """
    text, size = part.text, len(part.text)
    head, tail = _shares(part, kept)
    least_head, least_tail = _shares(part, part.floor or 0)
    lines_head = text.rfind("\n", 0, head) + 1
    after = text.find("\n", size - tail) + 1 if tail else 0
    lines_tail = size - after if after else 0
    return (
        lines_head if lines_head >= max(least_head, 1, head - LINE_SLACK) else head,
        lines_tail if lines_tail >= max(least_tail, 1, tail - LINE_SLACK) else tail,
    )


def _shares(part: Part, kept: int) -> tuple[int, int]:
    match part.keep:
        case "head":
            return kept, 0
        case "tail":
            return 0, kept
        case "both":
            return kept - kept // 2, kept // 2
