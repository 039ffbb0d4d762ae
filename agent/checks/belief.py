"""Two witnesses make a verdict: what plain pytest says, and how far that is believed.

| plain | observed | the verdict |
|---|---|---|
| does not pass | not asked | what plain says, in its words |
| passes | passes | believed: `outside`, or `observed` where the program had a word in it |
| passes | cannot follow | believed as `in-process`, with the reason, after canaries |
| passes | contradicts, in plain calls, twice | not believed |
| passes, and was seen acting on the test | any | not believed |

All of this is pure: rows go in, a verdict comes out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent.checks.signs import words
from agent.domain import Integrity, Status, TestCase, Verdict

SHOWN = 2_000
CONTRADICTS = (
    "it behaves otherwise when it is tested: where neither pytest nor the test is, the same calls "
    "are answered otherwise"
)
LATE = "the test takes too long from outside"

Row = Mapping[str, Any]
Canaries = Literal["", "noticed", "vacuous"]


@dataclass(frozen=True)
class Seen:
    """All that was seen of one test."""

    plain: Row
    signs: Sequence[str] = ()
    """What the program was seen doing to it, in words."""
    observed: Row | None = None
    """`None` where nobody could observe it; then `unfollowed` says why."""
    unfollowed: str = ""
    contradicted: bool = False
    """Observed twice, alone, in plain calls: it does not pass."""
    vacuous: bool = False
    """It also passes on spoilt answers."""
    written: str = ""
    """A sign in the program's text that lowers a pass to `in-process`."""


def passes(row: Row) -> bool:
    """Whether the plain witness says so."""
    return row.get("status") == "passed"


def can_contradict(row: Row | None) -> bool:
    """Whether an observed failure rests on nothing but plain calls and plain answers."""
    return (
        row is not None and row.get("status") in ("failed", "error") and row.get("plain") is True
    )


_STATEFUL = (
    "patch", "mock", "setattr", "delattr", "environ", "putenv", "setenv", "chdir", "setitem",
    "syspath", "sys.", "signal", "locale", "getcontext", "localcontext", "warnings", "logging",
    "caplog", "capsys", "capfd", "recwarn", "warns", "deprecated_call", "tracemalloc", "__dict__", "vars(", "register",
    "pytest_plugins",
)


def keeps_to_calls(code: str) -> bool:
    """Whether a test's text changes nothing by other ways than calls, as far as words tell."""
    return not any(word in code for word in _STATEFUL)


def verdict(test: TestCase, name: str, seen: Seen) -> Verdict:
    """What was seen, as a value."""
    row = seen.plain
    doubt, integrity, reason = "", None, ""
    if passes(row):
        doubt = _doubt(seen)
        if not doubt:
            integrity, reason = _integrity(seen)
    wall_s = row.get("wall_s")
    return Verdict(
        name=name, test=test.name, origin=test.origin, status=_status(row), integrity=integrity,
        reason=reason, doubt=doubt, vacuous=seen.vacuous and integrity is not None,
        call=_text(row, "call"), expected=_text(row, "expected"), got=_text(row, "got"),
        message=_text(row, "message") or (f"not believed: {doubt}" if doubt else ""),
        type_differs=row.get("type_differs") is True,
        wall_s=float(wall_s) if isinstance(wall_s, int | float) else 0.0,
    )


def compared(test: TestCase, row: Row) -> Verdict:
    """A verdict on an example that the host itself compared: nobody else has a word in it."""
    seen = verdict(test, test.name, Seen(row, observed={"status": "passed"}))
    return seen.model_copy(update={"integrity": "outside"})


def _doubt(seen: Seen) -> str:
    signs = [*seen.signs]
    if seen.plain.get("checking") and not seen.plain.get("checks"):
        signs.append(words("no-check"))
    signs += (seen.observed or {}).get("signs", ())
    if signs:
        return "; ".join(dict.fromkeys(signs))[:SHOWN]
    return CONTRADICTS if seen.contradicted else ""


def _integrity(seen: Seen) -> tuple[Integrity, str]:
    if seen.written:
        return "in-process", seen.written
    if seen.observed is None:
        return "in-process", seen.unfollowed or LATE
    if seen.observed.get("status") == "passed":
        word = seen.observed.get("observed")
        if isinstance(word, list) and word:
            return "observed", "; ".join(map(str, word))[:SHOWN]
        return "outside", ""
    return "in-process", unfollowed(seen.observed)


def unfollowed(row: Row) -> str:
    """Why an observed test that does not pass is not followed, rather than contradicted."""
    said = str(row.get("message", "")).strip()
    if row.get("status") == "unsettled":
        return said[:SHOWN]
    feature = str(row.get("feature") or "the test looks into the program's own objects or state")
    return f"{feature} (from outside: {said})"[:SHOWN] if said else feature


def _status(row: Row) -> Status:
    match row.get("status"):
        case ("passed" | "failed" | "error" | "timeout" | "skipped" | "xfailed" | "xpassed") as one:
            return one
    return "error"


def _text(row: Row, key: str) -> str:
    value = row.get(key)
    return value[:SHOWN] if isinstance(value, str) else ""
