"""What one run is asked to do differently, as the page's fields and its endpoints have it; pure."""

from __future__ import annotations

import base64
import binascii
import math
import shlex
from collections.abc import Mapping, Sequence
from typing import cast, get_args

from agent.core.domain import Integrity, ProofLevel
from agent.core.settings import Autonomy, Settings
from agent.interfaces.project.upload import MAX_UPLOAD, UploadedFile
from agent.interfaces.request import HealRequest
from agent.target.errors import BadInput
from demo.browser_state import OPTIONS
from llm.budget import Caps

MAX_ITERATIONS = 10
MAX_ARGUMENTS = 100
LONGEST_ARGUMENTS = 4_000
"""Characters, which are split where everybody else waits."""


def chosen(given: Mapping[str, object], settings: Settings, *, public: bool) -> HealRequest:
    """The options that some values say, by their names. On a public page a run may be
    given less than the host allows, and never more; to add to it at a cap counts as another
    start. Raises `BadInput` with the next step."""
    unknown = sorted({*given} - {*OPTIONS})
    if unknown:
        told = f"There is no option {unknown[0]!r}; there are {', '.join(OPTIONS)}."
        raise BadInput(told.replace("-", "_"))  # as programs name them, who alone can err here

    def number(name: str, most: float | None) -> float | None:
        value = given.get(name)
        if value is None or str(value).strip() == "":
            return None
        try:
            found = float(str(value).strip())
        except ValueError:
            found = math.nan
        if not (math.isfinite(found) and found >= 0):
            raise BadInput(f"{_LABELS[name]}: write a number from 0 on, or leave it empty.")
        if name in ("tokens", "calls") and found % 1:
            raise BadInput(f"{_LABELS[name]}: write a whole number, or leave it empty.")
        if most is not None and found > most:
            raise BadInput(
                f"{_LABELS[name]}: {most:g} is the most here. Write less, or leave it empty."
            )
        return found

    caps, limit = settings.caps, settings.budget_s + settings.model_s
    usd = number("usd", caps.usd if public else None)
    tokens = number("tokens", caps.tokens if public else None)
    calls = number("calls", caps.calls if public else None)
    confidence = number("require-confidence", 100)
    seconds = number("seconds", limit if public else None)
    if seconds is not None and seconds < 1:
        raise BadInput("A run needs a second at least: give more, or leave the seconds empty.")
    often = most_iterations(settings.max_iterations)
    iterations = number("iterations", often)
    if iterations is not None and (iterations < 1 or iterations % 1):
        raise BadInput(f"Repair attempts are a whole number from 1 to {often}.")
    return HealRequest(
        max_iterations=int(iterations) if iterations is not None else None,
        autonomy=cast("Autonomy | None", _one_of("autonomy", given, get_args(Autonomy))),
        ask=_true(given, "ask") or None,
        learn=_true(given, "learn") is not False,
        require_proof=cast(
            ProofLevel, _one_of("require-proof", given, get_args(ProofLevel)) or "E1"
        ),
        require_integrity=cast(
            "Integrity | None", _one_of("require-integrity", given, get_args(Integrity))
        ),
        require_confidence=None if confidence is None else confidence / 100,
        caps=None if usd is tokens is calls is None else Caps(
            usd=caps.usd if usd is None else usd,
            tokens=caps.tokens if tokens is None else int(tokens),
            calls=caps.calls if calls is None else int(calls),
        ),
        timeout=seconds,
        stdin=_text(given, "stdin"),
        args=_arguments(_text(given, "args")),
        files=_files(given.get("files")),
    )


_LABELS = {
    "usd": "Dollars", "tokens": "Tokens", "calls": "Calls", "seconds": "Seconds",
    "iterations": "Repair attempts", "autonomy": "Autonomy", "require-proof": "The required proof",
    "require-integrity": "The required integrity",
    "require-confidence": "The required confidence", "stdin": "The standard input",
    "args": "The arguments",
}


def most_iterations(usual: int) -> int:
    """How many tries can be asked for, where so many are usual."""
    return max(MAX_ITERATIONS, usual)


def _true(given: Mapping[str, object], name: str) -> bool | None:
    value = given.get(name)
    if value in (None, ""):
        return None
    if not isinstance(value, bool):
        raise BadInput(f"{name}: give true or false, or leave it out.")
    return value


def _text(given: Mapping[str, object], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str | None):
        raise BadInput(f"{_LABELS[name]}: write a text, or leave it empty.")
    return value or ""


def _one_of(name: str, given: Mapping[str, object], known: Sequence[str]) -> str | None:
    value = given.get(name)
    if value in (None, ""):
        return None
    if value not in known:
        raise BadInput(f"{_LABELS[name]}: choose one of {', '.join(known)}.")
    return cast(str, value)


def _arguments(typed: str) -> tuple[str, ...]:
    """The program's arguments as a shell would read them; nothing is expanded."""
    if len(typed) > LONGEST_ARGUMENTS:
        raise BadInput(f"The arguments have {len(typed):,} characters; {LONGEST_ARGUMENTS:,} are "
                       "the most. Give the rest as standard input, or as a file.")
    try:
        found = tuple(shlex.split(typed))
    except ValueError as error:
        raise BadInput(
            f"The arguments cannot be read ({error}): close each quote, as in --name 'two words'."
        ) from None
    if len(found) > MAX_ARGUMENTS:
        raise BadInput(f"There are {len(found)} arguments; {MAX_ARGUMENTS} are the most.")
    return found


def _files(given: object) -> tuple[UploadedFile, ...]:
    if not given:
        return ()
    if not isinstance(given, dict) or not all(isinstance(one, str) for one in given.values()):
        raise BadInput("Files are given as one object: each name, and its bytes in base64.")
    if sum(len(one) for one in given.values()) > MAX_UPLOAD * 3 // 2:
        raise BadInput(f"What was sent is larger than {MAX_UPLOAD // 1_000_000} MB. Send less.")
    try:
        return tuple(
            UploadedFile(str(name), base64.b64decode(text, validate=True))
            for name, text in given.items()
        )
    except (binascii.Error, ValueError):
        raise BadInput("A file's bytes are no base64. Encode them, and send them again.") from None
