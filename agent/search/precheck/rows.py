"""Parses the replies of the processes that run candidates.

The candidate shares that process and could write to its channel, so the shape of each row is
checked; the content is a hint, never a verdict.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, cast

from agent.search.values import PrecheckResult
from sandbox.types import Json, LostItem

MALFORMED_REPLY = "the reply made no sense"
_ENDS = ("ok", "failed", "syntax", "timeout", "endless")
_PASSED = {"1": True, "0": False, "-": None}


def candidate_rows(reply: Json) -> list[list[Json]] | None:
    """The row of each candidate, for `precheck_result`; `None` if the reply is malformed."""
    if isinstance(reply, list) and all(isinstance(row, list) and len(row) == 8 for row in reply):
        return cast(list[list[Json]], reply)
    return None


def precheck_result(row: list[Json], count: int) -> PrecheckResult:
    """Parses the row of one candidate with `count` tests; `lost` if the row is inconsistent."""
    ended, passed, exception, message, line, types, near, behaviour = row
    lost = PrecheckResult((None,) * count, "lost", message=MALFORMED_REPLY)
    if not isinstance(passed, str) or ended not in _ENDS:
        return lost
    marks = tuple(_PASSED.get(mark) for mark in passed) if passed else (None,) * count
    if len(marks) != count or (ended == "ok" and not all(marks)):
        return lost
    return PrecheckResult(
        passed=marks, outcome=cast(Literal["ok", "failed", "syntax", "timeout", "endless"], ended),
        exception=str(exception), message=str(message),
        line=line if isinstance(line, int) else None,
        types=tuple(str(one) for one in types) if isinstance(types, list) else (),
        similarity=_hundredths(near, count), behaviour=str(behaviour),
    )


def _hundredths(near: Json, count: int) -> tuple[float, ...]:
    if not isinstance(near, list) or len(near) != count:
        return (0.0,) * count
    return tuple(one / 100 if isinstance(one, int) else 0.0 for one in near)


def probe_rows(
    reply: Json | LostItem, texts: int, calls: int
) -> list[tuple[tuple[str, int], ...]] | None:
    """Each text's answers to each call with their steps; `None` if the reply is malformed."""
    if not isinstance(reply, list) or len(reply) != texts:
        return None
    rows = []
    for row in reply:
        if not isinstance(row, list) or len(row) != calls:
            return None
        answers = []
        for one in row:
            match one:
                case [str(answer), int(steps)]:
                    answers.append((answer, steps))
                case _:
                    return None
        rows.append(tuple(answers))
    return rows


class BaseRow(NamedTuple):
    """The result of one test of the base."""

    result: PrecheckResult
    steps: int = 0
    cpu_s: float = 0.0


def base_rows(reply: Json | LostItem, count: int) -> list[BaseRow] | None:
    """The result of each test; `None` if the reply is malformed."""
    runs = reply.get("runs") if isinstance(reply, dict) else None
    if not isinstance(runs, list) or len(runs) != count:
        return None
    rows = []
    for run in runs:
        match run:
            case [
                bool(passed), bool(timeout), str(exception), str(message), line, int(steps),
                list(types), float(near), float(cpu_s),
            ]:
                one = PrecheckResult(
                    (passed,), "ok" if passed else "timeout" if timeout else "failed", exception,
                    message, line if isinstance(line, int) else None,
                    types=tuple(map(str, types)), similarity=(near,),
                )
                rows.append(BaseRow(one, steps, cpu_s))
            case _:
                return None
    return rows
