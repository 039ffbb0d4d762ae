"""A text that does not compile, as the repair rules see it."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass
from functools import cached_property

from agent.search.syntax.fault import Fault
from agent.search.syntax.tokens import Token, tokens, unclosed

LONG = 600
"""Number of characters above which a line is not rewritten as a whole."""
_MAX_DISTANCE_COST = 1.4
_CHARS_BACK = 60


@dataclass(frozen=True)
class SyntaxEdit:
    """Replaces the text between two places."""

    cost: float
    start: int
    end: int
    new: str

    def applied(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]


@dataclass(frozen=True)
class SourceLine:
    """A line that may contain the error; `distance` is the cost for how unlikely that is."""

    index: int
    start: int
    text: str
    distance: float

    @property
    def width(self) -> int:
        return len(self.text) - len(self.text.lstrip())

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def is_long(self) -> bool:
        """Whether the line is too long to be rewritten as a whole."""
        return len(self.text) > LONG

    def replaced_with(self, cost: float, new: str) -> SyntaxEdit:
        """An edit that replaces the line."""
        return SyntaxEdit(cost + self.distance, self.start, self.end, new)


@dataclass(frozen=True)
class Broken:
    """A text with its first fault, split into lines and tokens."""

    text: str
    fault: Fault

    @property
    def at(self) -> int:
        return len(self.text) - self.fault.to_end

    @cached_property
    def lines(self) -> tuple[str, ...]:
        return tuple(self.text.split("\n"))

    @cached_property
    def starts(self) -> tuple[int, ...]:
        places, start = [], 0
        for line in self.lines:
            places.append(start)
            start += len(line) + 1
        return tuple(places)

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        return tokens(self.text)

    @cached_property
    def fault_token(self) -> int:
        """The index of the token at the fault, or of the first one after it."""
        place = bisect.bisect_right(self.tokens, self.at, key=lambda token: token.start)
        if place and self.tokens[place - 1].end > self.at:
            return place - 1
        return min(place, len(self.tokens) - 1)

    @property
    def index(self) -> int:
        """The index of the fault's line."""
        return min(max(0, self.fault.line - 1), len(self.lines) - 1)

    def row(self, place: int) -> int:
        """The index of the line at an offset."""
        return bisect.bisect_right(self.starts, place) - 1

    @cached_property
    def _filled(self) -> tuple[int, ...]:
        """The indices of the lines that are not blank."""
        return tuple(row for row, line in enumerate(self.lines) if line.strip())

    def above(self, index: int) -> int | None:
        """The index of the last line before this one that is not blank."""
        place = bisect.bisect_left(self._filled, index)
        return self._filled[place - 1] if place else None

    def below(self, index: int) -> int | None:
        """The index of the next line that is not blank."""
        place = bisect.bisect_right(self._filled, index)
        return self._filled[place] if place < len(self._filled) else None

    @cached_property
    def suspect_lines(self) -> tuple[SourceLine, ...]:
        """The lines that may contain the error, the likeliest first."""
        rows: dict[int, float] = {self.index: 0.0}
        before = self.above(self.index)
        if before is not None:
            rows.setdefault(before, 0.25)
        named = re.search(r"on line (\d+)", self.fault.message)
        if named is not None and int(named.group(1)) <= len(self.lines):
            rows.setdefault(int(named.group(1)) - 1, 0.2)
        for opener in self.open_brackets[-3:]:
            rows.setdefault(self.row(opener.start), 0.2)
        if self.fault.mentions("never closed"):
            after = self.index
            for step in range(4):
                following = self.below(after)
                if following is None:
                    break
                rows.setdefault(following, 0.3 + 0.1 * step)
                after = following
        if self.fault.mentions("unterminated triple", "EOF"):
            last = self.above(len(self.lines))
            rows.setdefault(last if last is not None else 0, 0.4)
        if before is not None:
            earlier = self.above(before)
            if earlier is not None:
                rows.setdefault(earlier, 0.9)
        following = self.below(self.index)
        if following is not None:
            rows.setdefault(following, 0.9)
        return tuple(
            SourceLine(row, self.starts[row], self.lines[row], distance)
            for row, distance in rows.items()
            if self.lines[row].strip()
        )

    @cached_property
    def open_brackets(self) -> list[Token]:
        """The brackets that are open at the fault."""
        return [one for one in unclosed(self.tokens[: self.fault_token]) if one.end <= self.at]

    @cached_property
    def inside_strings(self) -> frozenset[int]:
        """The indices of the lines that begin inside a string."""
        rows: set[int] = set()
        for token in self.tokens:
            if token.kind == "string" and "\n" in token.text:
                rows.update(range(self.row(token.start) + 1, self.row(token.end - 1) + 1))
        return frozenset(rows)

    def tokens_of(self, line: SourceLine) -> list[Token]:
        """The tokens of a line without its end; of a very long line, only those near the fault."""
        start, end = line.start, line.end
        if end - start > LONG:
            middle = min(max(self.at, start), end)
            start, end = max(start, middle - LONG // 2), min(end, middle + LONG // 2)
        first = bisect.bisect_left(self.tokens, start, key=lambda token: token.start)
        found = []
        for token in self.tokens[first:]:
            if token.start >= end:
                break
            if token.kind != "newline":
                found.append(token)
        return found

    def away(self, place: int, line: SourceLine) -> float:
        """The cost of a place's distance from the fault: lower before it than after it."""
        if line.index != self.index:
            return 0.3
        distance = place - self.at
        return min(_MAX_DISTANCE_COST, distance / 30 if distance > 0 else -distance / _CHARS_BACK)

    def replaced(self, cost: float, first: int, last: int, new: tuple[str, ...]) -> SyntaxEdit:
        """An edit of the lines from `first` to before `last`."""
        start = self.starts[first] if first < len(self.lines) else len(self.text)
        body = "\n".join(new)
        if last < len(self.lines):
            return SyntaxEdit(cost, start, self.starts[last], body + "\n" if new else "")
        if first >= len(self.lines):
            return SyntaxEdit(cost, len(self.text), len(self.text), "\n" + body)
        return SyntaxEdit(cost, start, len(self.text), body)


def width(line: str) -> int:
    return len(line) - len(line.lstrip())


def moved(line: str, distance: int) -> str:
    """A line with its indentation changed by `distance`; a blank line is not changed."""
    return " " * max(0, width(line) + distance) + line.lstrip() if line.strip() else line
