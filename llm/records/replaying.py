"""A provider that answers from a record, without a model."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from os.path import commonprefix
from pathlib import Path

from llm.errors import CallFailed, NotRecorded
from llm.provider import estimated_tokens
from llm.questions import Question, clean_question, fingerprint, text_address
from llm.records.calls import VERSION, Call, read_call
from llm.records.file import BadRecord, read
from llm.redaction import Redactor
from llm.types import Request, Stream


class Replaying:
    """A provider that answers from a record, each question as often and in the order as there.

    Its replies are those of then, `cached` and for no dollars: nothing is paid now. Their usage is
    that of then.
    """

    def __init__(
        self, path: Path, name: str = "", model: str = "", redactor: Redactor | None = None
    ) -> None:
        """`name` and `model` say as whom of several recorded providers it answers; without them it
        is the only one. Raises `BadRecord`."""
        calls, counts, _ = _read(path)
        whom = list(dict.fromkeys(one.whom for one in calls))
        if not (name or model):
            if len(whom) != 1:
                several = ", ".join("/".join(pair) for pair in whom[:8]) or "no call at all"
                raise BadRecord(f"{path} is not the record of one provider; it has {several}")
            name, model = whom[0]
        self.name = name
        self.model = model
        self._path = path
        self._redactor = redactor or Redactor()
        mine = [call for call in calls if call.whom == (name, model)]
        self._all = calls
        self._calls: dict[str, list[Call]] = defaultdict(list)
        for call in mine:
            self._calls[call.key].append(call)
        self._asked: dict[str, int] = defaultdict(int)
        self._counts = {
            text: tokens for (whose, text), tokens in counts.items() if whose == (name, model)
        }
        self._mine = mine
        self._served = 0

    @property
    def _coming(self) -> Call | None:
        """The call that comes next, if all are asked as they were then."""
        return self._mine[min(self._served, len(self._mine) - 1)] if self._mine else None

    @property
    def exact(self) -> bool:
        return self._coming is not None and self._coming.exact

    @property
    def window(self) -> int | None:
        return None if self._coming is None else self._coming.window

    @property
    def thinks(self) -> bool:
        return self._coming is not None and self._coming.thinks

    async def stream(self, request: Request) -> Stream:
        call = self._next(clean_question(self.name, self.model, request, self._redactor))
        for piece in call.pieces:
            yield piece
        if isinstance(call.error, CallFailed):
            call.error.replayed = True
        if call.error is not None:
            raise call.error
        if call.reply is None:
            raise NotRecorded(
                f"the record {self._path} has no end of this answer for the role {request.role!r}: "
                "whoever asked for it went away before it came"
            )
        yield replace(call.reply, cached=True, cost_usd=0.0)

    def _next(self, wanted: Question) -> Call:
        place = fingerprint(wanted)
        known = self._calls.get(place, [])
        turn = self._asked[place]
        if turn < len(known):
            self._asked[place] += 1
            self._served += 1
            return known[turn]
        role = wanted["role"]
        if known:
            raise NotRecorded(
                f"the role {role!r} asks for time {turn + 1} what the record {self._path} has "
                f"{len(known)} answer{'s' if len(known) > 1 else ''} to"
            )
        raise NotRecorded(
            f"the record {self._path} does not hold what the role {role!r} asks: "
            f"{nearest(wanted, [call.question for call in self._all])}"
        )

    async def models(self) -> tuple[str, ...]:
        return (self.model,)

    def count(self, text: str) -> int:
        return self._counts.get(text_address(text), estimated_tokens(text))

    async def close(self) -> None:
        """Nothing is held."""


MOST_COMPARED, LONGEST, SHOWN = 200, 600, 40
"""Questions that are looked at, the last ones; characters of what is said, and of a part of it."""


def nearest(wanted: Question, known: Sequence[Question]) -> str:
    """The recorded question of the same role that `wanted` is most like, and what differs."""
    alike = [one for one in known if one["role"] == wanted["role"]]
    if not alike:
        roles = sorted({str(one["role"]) for one in known})
        return (
            f"it holds no question of that role, only of {', '.join(roles)}"[:LONGEST] if roles
            else "it holds no question"
        )

    def differing(one: Question) -> list[str]:
        return [name for name in wanted if wanted[name] != one.get(name)]

    def same(one: Question) -> int:
        """How many characters of what differs begin and end alike."""
        pairs = [(_text(wanted[name]), _text(one.get(name))) for name in differing(one)]
        return sum(_common(*pair) + _common(*(text[::-1] for text in pair)) for pair in pairs)

    best = min(alike[-MOST_COMPARED:], key=lambda one: (len(differing(one)), -same(one)))
    told = []
    for name in differing(best):
        asked, recorded = _text(wanted[name]), _text(best.get(name))
        place = max(0, _common(asked, recorded) - 12)
        told.append(f"{name}: asked {_part(asked, place)}, recorded {_part(recorded, place)}")
    return f"the nearest of {len(alike)} recorded differs in {'; '.join(told)}"[:LONGEST]


def _common(one: str, other: str) -> int:
    return len(commonprefix([one, other]))  # noqa: RUF071 - of texts, in C


def _part(text: str, place: int) -> str:
    end = place + SHOWN
    return f"{'…' if place else ''}{text[place:end]!r}{'…' if len(text) > end else ''}"


def _text(value: object) -> str:
    """A part as it is compared; messages one after the other."""
    if isinstance(value, list):
        return "\n".join(
            f"{one['speaker']}: {one['text']}" if isinstance(one, dict) else str(one)
            for one in value
        )
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


Whom = tuple[str, str]
"""A provider and its model."""


def answered(path: Path) -> tuple[dict[str, tuple[Whom, ...]], str]:
    """Which provider and model were asked for each role, the first one first, which the plan of a
    replay is made from, since it has no keys to make one with; and what there is to tell of a
    record that is not whole, empty where it is. Raises `BadRecord`."""
    calls, _, notice = _read(path)
    found: dict[str, dict[tuple[str, str], None]] = defaultdict(dict)
    for call in calls:
        found[str(call.question["role"])][call.whom] = None
    return {role: tuple(whom) for role, whom in found.items()}, notice


_DAMAGE = (
    ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError
)
"""What reading a line of another form raises: one nested too deeply, a count beyond all."""

_Counts = dict[tuple[tuple[str, str], str], int]


def _read(path: Path) -> tuple[list[Call], _Counts, str]:
    """The calls and counts of a record, and what there is to tell of it."""
    calls: list[Call] = []
    counts: _Counts = {}
    lines, notice = read(path)
    for number, line in enumerate(lines, 1):
        try:
            content = json.loads(line)
            version = content["version"]
            if version != VERSION:
                raise BadRecord(
                    f"line {number} of the record {path} is of version {version!r}; this program "
                    f"reads version {VERSION}: record it anew"
                )
            match content["kind"]:
                case "call":
                    calls.append(read_call(content))
                case "count":
                    whose = (str(content["provider"]), str(content["model"]))
                    counts[whose, str(content["text"])] = int(content["tokens"])
                case kind:
                    raise ValueError(f"nothing is known of the kind {kind!r}")
        except _DAMAGE as error:
            raise BadRecord(
                f"line {number} of the record {path} is damaged: {type(error).__name__}: {error}"
            ) from error
    return calls, counts, notice
