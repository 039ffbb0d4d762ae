"""Removes secrets from texts, JSON values and log records.

Known secrets are replaced in all their usual spellings: plain, URL-quoted, base64 (also within
longer data), and escaped as in JSON or Python source. In addition, everything with the shape of a
service's key is replaced; `SHAPES` is the table of shapes. A known secret shorter than `SHORTEST`
is not replaced, since it could be part of ordinary words; no service issues such keys.
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
"""The replacement of a secret; no key contains stars."""
SHORTEST = 6
"""The minimum length of a known secret that is replaced."""

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
    # A header's value. A digit is required, since in prose ordinary words follow.
    "bearer": ("earer ", r"(?<=[Bb]earer )(?=[\w.~+/=-]*\d)[\w.~+/=-]{12,}"),
}
"""Service to a fixed part of its keys, for a fast pre-check, and the pattern of a key."""

_PATTERNS = [(mark, re.compile(rf"(?<![A-Za-z0-9])(?:{shape})")) for mark, shape in SHAPES.values()]
_ASSIGNED_SECRET = re.compile(
    r"(?:api_?key|token|secret|password|passwd)['\"]?\s*[:=]\s*['\"][^'\"\s]{6,}", re.IGNORECASE
)

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def may_hold_a_key(text: str) -> bool:
    """Whether a text contains the shape of a key, or assigns a literal to a name such as `token`.

    Used to reject a text. The second case is not redacted, since that could break a program.
    """
    return bool(_ASSIGNED_SECRET.search(text)) or any(
        mark in text and shape.search(text) for mark, shape in _PATTERNS
    )


class Redactor:
    """Replaces secrets by `MARK`; idempotent."""

    def __init__(self, secrets: Iterable[Secret | str] = ()) -> None:
        texts = (one.reveal() if isinstance(one, Secret) else one.strip() for one in secrets)
        spelled = {one for text in texts if len(text) >= SHORTEST for one in _spellings(text)}
        longest_first = sorted(spelled, key=lambda one: (-len(one), one))
        self._known = re.compile("|".join(map(re.escape, longest_first))) if spelled else None

    def text(self, text: str) -> str:
        """`text` without secrets."""
        while True:
            # Terminates: each iteration replaces at least one key by three stars.
            fresh = self._known.sub(MARK, text) if self._known else text
            for mark, shape in _PATTERNS:
                if mark in fresh:
                    fresh = shape.sub(MARK, fresh)
            if fresh == text:
                return text
            text = fresh

    def value(self, value: object) -> Json:
        """A JSON value without secrets in keys and values. Other types become text; of keys that
        become equal the last one is used."""
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
    """The spellings of a secret on a wire or in a file."""
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
        # Base64 of longer data contains one of three spellings, depending on the secret's offset.
        # The characters at both ends also depend on the neighbouring bytes.
        coded = base64.b64encode(bytes(before) + raw).decode("ascii")
        core = coded[mixed : (before + len(raw)) * 8 // 6]
        if len(core) >= SHORTEST:
            yield core
            yield core.replace("+", "-").replace("/", "_")


class LogRedaction(logging.Filter):
    """Removes secrets from log records: message, arguments, extra fields and tracebacks.

    It must be added to handlers, which receive the records of all loggers. `redactor` may be
    replaced when the keys change.
    """

    def __init__(self, redactor: Redactor) -> None:
        super().__init__()
        self.redactor = redactor

    def filter(self, record: logging.LogRecord) -> bool:
        try:
            message = record.getMessage()
        except (TypeError, ValueError, KeyError):
            # A log call with wrong arguments, which logging would print unredacted.
            message = f"{record.msg} {record.args!r}"
        record.msg, record.args = self.redactor.text(message), None
        if record.exc_info:
            # Some handlers format `exc_info` again, so only its text is kept.
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
"""Loggers of libraries that send keys. A logger's filter does not see records of its children."""


@contextmanager
def redacted_logs(guard: LogRedaction) -> Iterator[LogRedaction]:
    """Adds a filter to all current log handlers and to `WIRE_LOGGERS` while the context lasts."""
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
