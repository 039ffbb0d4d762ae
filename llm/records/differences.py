"""Says in a few words how a question differs from the one most like it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from llm.questions import Question

MOST_COMPARED = 200
"""Questions that are looked at; the last ones, where there are more."""
LONGEST = 600
"""Characters of what is said."""
_SHOWN = 40


def nearest(wanted: Question, known: Sequence[Question]) -> str:
    """The recorded question of the same role that `wanted` is most like, and what differs."""
    if not known:
        return "it holds no question"
    role = wanted["role"]
    alike = [one for one in known if one["role"] == role]
    if not alike:
        roles = sorted({str(one["role"]) for one in known})
        return f"it holds no question of that role, only of {', '.join(roles)}"[:LONGEST]
    best = min(alike[-MOST_COMPARED:], key=lambda one: _distance(wanted, one))
    told = [_told(name, wanted[name], best.get(name))
            for name in wanted if wanted[name] != best.get(name)]
    return f"the nearest of {len(alike)} recorded differs in {'; '.join(told)}"[:LONGEST]


def _distance(one: Question, other: Question) -> tuple[int, float]:
    """How many parts differ, then how much of the texts."""
    names = [name for name in one if one[name] != other.get(name)]
    return len(names), sum(_unlike(_text(one[name]), _text(other.get(name))) for name in names)


def _unlike(one: str, other: str) -> float:
    longest = max(len(one), len(other))
    shared = _common(one, other) + _common(one[::-1], other[::-1])
    return 1 - min(shared, longest) / longest if longest else 0.0


def _common(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one.startswith(other[:middle]):
            low = middle
        else:
            high = middle - 1
    return low


def _told(name: str, here: object, there: object) -> str:
    asked, recorded = _text(here), _text(there)
    place = max(0, _common(asked, recorded) - 12)
    return (
        f"{name}: asked {_part(asked, place)}, recorded {_part(recorded, place)}"
    )


def _part(text: str, place: int) -> str:
    end = place + _SHOWN
    return f"{'…' if place else ''}{text[place:end]!r}{'…' if len(text) > end else ''}"


def _text(value: object) -> str:
    """A part as it is compared; messages one after the other."""
    if isinstance(value, list):
        return "\n".join(
            f"{one['speaker']}: {one['text']}" if isinstance(one, dict) else str(one)
            for one in value
        )
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
