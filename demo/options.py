"""Reads the options of a run, from the page's fields or from an endpoint. Pure functions."""

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
"""Characters; they are split in the event loop."""


def chosen(given: Mapping[str, object], settings: Settings, *, public: bool) -> HealRequest:
    """Returns a request with these options. On a public page, a run may get less than the host's
    limits, but not more. Raises `BadInput`."""
    unknown = sorted({*given} - {*OPTIONS})
    if unknown:
        message = f"There is no option {unknown[0]!r}. Options are {', '.join(OPTIONS)}."
        raise BadInput(message.replace("-", "_"))  # only endpoint calls can reach this

    def number(name: str, most: float | None) -> float | None:
        value = given.get(name)
        if value is None or str(value).strip() == "":
            return None
        try:
            found = float(str(value).strip())
        except ValueError:
            found = math.nan
        if not (math.isfinite(found) and found >= 0):
            raise BadInput(f"{_LABELS[name]}: enter a number of at least 0, or leave it empty.")
        if name in ("tokens", "calls") and found % 1:
            raise BadInput(f"{_LABELS[name]}: enter a whole number, or leave it empty.")
        if most is not None and found > most:
            raise BadInput(
                f"{_LABELS[name]}: at most {most:g} is allowed. Enter less, or leave it empty."
            )
        return found

    caps, limit = settings.caps, settings.budget_s + settings.model_s
    usd = number("usd", caps.usd if public else None)
    tokens = number("tokens", caps.tokens if public else None)
    calls = number("calls", caps.calls if public else None)
    confidence = number("require-confidence", 100)
    seconds = number("seconds", limit if public else None)
    if seconds is not None and seconds < 1:
        raise BadInput("Seconds: a run needs at least 1. Enter more, or leave it empty.")
    most_attempts = most_iterations(settings.max_iterations)
    iterations = number("iterations", most_attempts)
    if iterations is not None and (iterations < 1 or iterations % 1):
        raise BadInput(f"Repair attempts: enter a whole number from 1 to {most_attempts}.")
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
        require_confidence=confidence / 100 if confidence and confidence > 1 else confidence,
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
    "iterations": "Repair attempts", "autonomy": "Autonomy", "require-proof": "Required proof",
    "require-integrity": "Required integrity", "require-confidence": "Required confidence",
    "stdin": "Standard input", "args": "Arguments",
}


def most_iterations(usual: int) -> int:
    """Returns the largest number of repair attempts that can be chosen."""
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
        raise BadInput(f"{_LABELS[name]}: enter a text, or leave it empty.")
    return value or ""


def _one_of(name: str, given: Mapping[str, object], known: Sequence[str]) -> str | None:
    value = given.get(name)
    if value in (None, ""):
        return None
    if value not in known:
        raise BadInput(f"{_LABELS[name]}: choose one of {', '.join(known)}.")
    return cast(str, value)


def _arguments(typed: str) -> tuple[str, ...]:
    """Splits the program's arguments as a shell does, without expansion."""
    if len(typed) > LONGEST_ARGUMENTS:
        raise BadInput(f"The arguments have {len(typed):,} characters; at most "
                       f"{LONGEST_ARGUMENTS:,} are allowed. Use standard input or a file instead.")
    try:
        found = tuple(shlex.split(typed))
    except ValueError as error:
        raise BadInput(
            f"The arguments cannot be read ({error}). Close each quote, as in --name 'two words'."
        ) from None
    if len(found) > MAX_ARGUMENTS:
        raise BadInput(f"There are {len(found)} arguments; at most {MAX_ARGUMENTS} are allowed.")
    return found


def _files(given: object) -> tuple[UploadedFile, ...]:
    if not given:
        return ()
    if not isinstance(given, dict) or not all(isinstance(one, str) for one in given.values()):
        raise BadInput("Files must be one object: each name with its content in base64.")
    if sum(len(one) for one in given.values()) > MAX_UPLOAD * 3 // 2:
        raise BadInput(f"The files are larger than {MAX_UPLOAD // 1_000_000} MB. Send less.")
    try:
        return tuple(
            UploadedFile(str(name), base64.b64decode(text, validate=True))
            for name, text in given.items()
        )
    except (binascii.Error, ValueError):
        raise BadInput("A file is not valid base64. Encode it, and send it again.") from None
