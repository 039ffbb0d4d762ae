"""The state that the page saves in the browser, and the updates that it sends there.

API keys are never saved. The run and the visit are saved separately, since they can change at the
same time: clicking Heal also leaves a field, which updates the visit while the run starts.
"""

from __future__ import annotations

from typing import Any, TypedDict

Typed = str | None
"""The value of a field; `None` if the field is left while its page is still loading."""
Update = dict[str, Any]
"""New values for parts of the page, or changes of the parts themselves, by name. Parts that are not
in it do not change."""


class BrowserRun(TypedDict):
    """The run that a page follows, and its input."""

    run: str
    interrupt: str
    before: str
    """The run shown before this one was requested, until this one starts."""
    asked: str
    """The run whose question this one answers, until this one starts."""
    answer: str
    doubted: str
    """The last typed answer that none of the shown patches gives."""
    code: str
    tests: str
    words: str


class Visit(TypedDict):
    """A visitor, and the models they chose."""

    visitor: str
    """A random token that identifies the visitor of a public page; saved in the browser's storage
    only if it accepts no cookie."""
    address: str
    """The visitor's network address; not saved in the browser."""
    page: str
    """The open page that sends the request; not saved either."""
    provider: str
    """A provider's name, `mock` for no model, or empty for the default."""
    model: str
    roles: str
    """Models for single roles, as typed."""


NO_RUN: BrowserRun = {
    "run": "", "before": "", "interrupt": "", "asked": "", "answer": "", "doubted": "", "code": "",
    "tests": "", "words": "",
}
NEW_VISIT: Visit = {
    "visitor": "", "address": "", "page": "", "provider": "", "model": "", "roles": "",
}
TYPED = ("code", "tests", "words")
"""The parts with the input to heal."""
MODEL_CHOICES = ("visit", "provider", "model", "roles")
"""The parts from which a visit with its current choices is read."""
OPTIONS = (
    "iterations", "autonomy", "ask", "learn", "require-proof", "require-integrity",
    "require-confidence", "usd", "tokens", "calls", "seconds", "stdin", "args", "files",
)
"""The parts with the options of a run."""


def with_choices(visit: Visit, provider: Typed, model: Typed, roles: Typed) -> Visit:
    """Returns the visit with the current values of its fields."""
    return {
        **visit, "provider": provider or "", "model": (model or "").strip(),
        "roles": (roles or "").strip(),
    }
