"""What the page exchanges with the browser: what it keeps of a visit, and what of it changes.

No key is ever kept. The run and the wishes are kept apart, since they change at the same time: a
field that is left by the click on Heal tells its wish while the run begins.
"""

from __future__ import annotations

from typing import Any, TypedDict

Typed = str | None
"""What a field holds; `None` is told of one that is left while its page is being loaded."""
Update = dict[str, Any]
"""New values for parts of the page, or changes of the parts themselves, by the parts' names; what
is left out stays as it is."""


class BrowserRun(TypedDict):
    """The run it follows, and what was typed."""

    run: str
    interrupt: str
    before: str
    """The run that was shown as the present one was asked for, until that is begun."""
    asked: str
    """The run whose open question the present one answers, until that is begun."""
    answer: str
    code: str
    tests: str
    words: str


class Visit(TypedDict):
    """Who visits, and who is to answer them."""

    visitor: str
    """A random word by which a public page knows its visitors apart; in the browser's storage only
    where it keeps no cookie."""
    address: str
    """Where they ask from; no browser is asked to keep it."""
    page: str
    """Which open page asks; not kept either."""
    provider: str
    """A provider's name, `mock` for no model, or empty for whoever is planned."""
    model: str
    roles: str
    """Roles given to others, as they were typed."""


NO_RUN: BrowserRun = {
    "run": "", "before": "", "interrupt": "", "asked": "", "answer": "", "code": "", "tests": "",
    "words": "",
}
NEW_VISIT: Visit = {
    "visitor": "", "address": "", "page": "", "provider": "", "model": "", "roles": "",
}
TYPED = ("code", "tests", "words")
"""The parts that hold what is to be healed."""
WISHES = ("visit", "provider", "model", "roles")
"""The parts that a visit with the present choices is read from."""
OPTIONS = (
    "iterations", "autonomy", "ask", "learn", "require-proof", "require-integrity",
    "require-confidence", "usd", "tokens", "calls", "seconds", "stdin", "args", "files",
)
"""The parts that say what a run is to do differently."""


def with_choices(visit: Visit, provider: Typed, model: Typed, roles: Typed) -> Visit:
    """The visit with what its fields say now."""
    return {
        **visit, "provider": provider or "", "model": (model or "").strip(),
        "roles": (roles or "").strip(),
    }
