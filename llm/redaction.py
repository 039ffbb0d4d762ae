"""Takes secrets out of texts, of JSON values and of log records.

Two kinds are found. Secrets that are known are replaced in the spellings in which they travel:
plain, URL-quoted, base64 (also as part of something longer), escaped as in JSON or Python source.
And what has the shape of a key of a service we know is replaced, no matter whose it is: `SHAPES` is
the one table of these. A secret that is known and shorter than `SHORTEST` is left alone, since it
would take ordinary words with it; no service issues one.
"""

from __future__ import annotations

import base64
import json
import logging
import re
import traceback
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import quote, quote_plus

from llm.keys import Secret

MARK = "***"
"""What stands where a secret was; no key has stars in it."""
SHORTEST = 6
"""Characters below which a known secret is not looked for."""

SHAPES: dict[str, tuple[str, str]] = {
    "anthropic": ("sk-ant-", r"sk-ant-[\w-]{8,}"),
    "openai": ("sk-", r"sk-(?:proj|svcacct|admin|or-v1|lf)-[\w-]{12,}|sk-[A-Za-z0-9]{16,}"),
    "groq": ("gsk_", r"gsk_[A-Za-z0-9]{12,}"),
    "google": ("AIza", r"AIza[\w-]{12,}"),
    "huggingface": ("hf_", r"hf_[A-Za-z0-9]{12,}"),
    "github": ("gh", r"gh[pousr]_[A-Za-z0-9]{12,}"),
    "github, fine-grained": ("github_pat_", r"github_pat_\w{12,}"),
    "stripe": ("k_", r"[rs]k_(?:live|test)_[A-Za-z0-9]{12,}"),
    "slack": ("xox", r"xox[abeoprs]-[\w-]{12,}"),
    "aws": ("IA", r"A(?:KIA|SIA)[A-Z0-9]{12,}"),
    "langsmith": ("lsv2_", r"lsv2_[a-z]{2}_\w{12,}"),
    "e2b": ("e2b_", r"e2b_[0-9a-f]{16,}"),
    "daytona": ("dtn_", r"dtn_[0-9a-f]{16,}"),
    "json web token": ("eyJ", r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"),
    "private key": (
        "PRIVATE KEY",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----"
        r"(?:[^-]*-----END [A-Z ]*PRIVATE KEY-----|[A-Za-z0-9+/=\s\\]*)",
    ),
    # A header's value. A digit is asked for, since words follow this one in prose.
    "bearer": ("earer ", r"(?<=[Bb]earer )(?=[\w.~+/=-]*\d)[\w.~+/=-]{12,}"),
}
"""Whose key it is, what is in each one, by which most texts are passed over fast, and how one
looks."""

_SHAPED = [
    (mark, re.compile(rf"(?<![A-Za-z0-9])(?:{shape})")) for mark, shape in SHAPES.values()
]
_NAMED = re.compile(
    r"(?:api_?key|token|secret|password|passwd)['\"]?\s*[:=]\s*['\"][^'\"\s]{6,}", re.IGNORECASE
)

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def may_hold_a_key(text: str) -> bool:
    """Whether a text has a key's shape in it, or gives a literal the name of a secret.

    For holding a text back: the second is no ground to change one, since programs that do it run.
    """
    return bool(_NAMED.search(text)) or any(
        mark in text and shape.search(text) for mark, shape in _SHAPED
    )


class Redactor:
    """Replaces secrets by `MARK`; doing it again changes nothing."""

    def __init__(self, secrets: Iterable[Secret | str] = ()) -> None:
        texts = (one.reveal() if isinstance(one, Secret) else one.strip() for one in secrets)
        spelled = {way for text in texts if len(text) >= SHORTEST for way in _spellings(text)}
        longest_first = sorted(spelled, key=lambda way: (-len(way), way))
        self._known = re.compile("|".join(map(re.escape, longest_first))) if spelled else None

    def text(self, text: str) -> str:
        """`text` without secrets."""
        while True:
            # Each round takes at least one key for three stars, so that the last one comes.
            fresh = self._known.sub(MARK, text) if self._known else text
            for mark, shape in _SHAPED:
                if mark in fresh:
                    fresh = shape.sub(MARK, fresh)
            if fresh == text:
                return text
            text = fresh

    def value(self, value: object) -> Json:
        """A JSON value without secrets, in keys and values. What is no JSON is written as text;
        of names that become equal the last one stays."""
        match value:
            case str():
                return self.text(value)
            case None | bool() | int() | float():
                return value
            case Mapping():
                return {self.text(str(name)): self.value(one) for name, one in value.items()}
            case list() | tuple():
                return [self.value(one) for one in value]
            case _:
                return self.text(str(value))


def _spellings(secret: str) -> Iterator[str]:
    """The ways in which a secret is written on a wire or in a file."""
    yield secret
    yield json.dumps(secret)[1:-1]
    yield json.dumps(secret, ensure_ascii=False)[1:-1]
    yield repr(secret)[1:-1]
    yield ascii(secret)[1:-1]
    yield quote(secret)
    yield quote(secret, safe="")
    yield quote_plus(secret)
    raw = secret.encode("utf-8")
    for before, mixed in ((0, 0), (1, 2), (2, 3)):
        # Base64 of something longer holds one of three spellings, by the secret's place in it;
        # the characters at both ends also depend on its neighbours.
        coded = base64.b64encode(bytes(before) + raw).decode("ascii")
        core = coded[mixed : (before + len(raw)) * 8 // 6]
        if len(core) >= SHORTEST:
            yield core
            yield core.replace("+", "-").replace("/", "_")


class LogRedaction(logging.Filter):
    """Takes secrets out of log records: the message, its arguments, extra fields and tracebacks.

    Put it on handlers, which see what all loggers hand up; `redactor` may be replaced when a key
    comes or goes.
    """

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self.redactor = redactor

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            message = record.getMessage()
        except (TypeError, ValueError, KeyError):
            # A log call with the wrong arguments; logging itself would print them as they are.
            message = f"{record.msg} {record.args!r}"
        record.msg, record.args = self.redactor.text(message), None
        if record.exc_info:
            # Some handlers format `exc_info` again, so what is left is its text alone.
            written = "".join(traceback.format_exception(*record.exc_info)).rstrip("\n")
            record.exc_text = record.exc_text or written
            record.exc_info = None
        for name, value in vars(record).items():
            if name != "msg" and isinstance(value, str | list | tuple | dict):
                setattr(record, name, self.redactor.value(value))
        return True


WIRE_LOGGERS = (
    "anthropic", "anthropic._base_client", "httpx", "httpx2", "httpcore", "httpcore2", "langsmith",
    "langsmith.client", "ollama", "openai", "openai._base_client", "urllib3",
    "urllib3.connectionpool",
)
"""Loggers of what sends keys. A filter on a logger sees only what is logged there by name."""


@contextmanager
def redacted_logs(guard: LogRedaction) -> Iterator[LogRedaction]:
    """Has all log handlers of this moment, and the loggers of what sends keys, redact."""
    loggers = [logging.getLogger(name) for name in WIRE_LOGGERS]
    named = [one for one in logging.root.manager.loggerDict.values()
             if isinstance(one, logging.Logger)]
    last = [logging.lastResort] if logging.lastResort else []
    handlers = {one for owner in (logging.root, *named) for one in owner.handlers}
    places: list[logging.Filterer] = [*handlers, *last, *loggers]
    for place in places:
        place.addFilter(guard)
    try:
        yield guard
    finally:
        for place in places:
            place.removeFilter(guard)
