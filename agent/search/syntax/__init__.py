"""Repairs text that does not compile, by small edits near the first error.

    windows      the part of a long text that contains the error
    search       best-first search for the cheapest edits that make this part compile
    rules        five modules: wrapping, foreign, words, quotes, indentation
    plausible    the cost of code that is unlikely to be intended
"""

from __future__ import annotations

import re

from agent.core.trees import is_parsable
from agent.search.syntax.fault import Fault, compiles, fault
from agent.search.syntax.foreign import foreign
from agent.search.syntax.indentation import indentation
from agent.search.syntax.plausible import has_code, implausibility
from agent.search.syntax.quotes import quotes
from agent.search.syntax.search import Repaired, Rule, cheapest
from agent.search.syntax.windows import Window, windows
from agent.search.syntax.words import words
from agent.search.syntax.wrapping import wrapping

__all__ = ["Fault", "compiles", "fault", "repaired"]

RULES: tuple[Rule, ...] = (wrapping, foreign, words, quotes, indentation)
"""Generators of edits."""
_MOST_VARIANTS = 40
_VERIFIED = 4_000_000
"""Most characters to compile when whole texts are checked."""


def repaired(source: str, most: int) -> list[tuple[float, str]]:
    """Texts that compile with their costs, likeliest first, from at most `most` compilations."""
    names = frozenset(re.findall(r"[^\W\d]\w*", source))
    variants = [Repaired(0.0, source)]
    at = fault(source)
    while at is not None:
        step = _one_window(variants[0].text, at, names, most)
        if step is None:
            return []
        window, found, at, tries = step
        most -= tries
        variants = _combined(variants, window, found)
    return [(one.cost, one.text) for one in _verified(variants)]


def _one_window(
    text: str, at: Fault, names: frozenset[str], most: int
) -> tuple[Window, list[Repaired], Fault | None, int] | None:
    """The smallest part that could be repaired, its repairs, the next fault of the whole text, and
    the number of compilations; `None` if no part could be repaired."""
    spent = 0
    for window in windows(text, at):
        part = window.head + text[window.start : window.end]
        first = fault(part)
        if first is None:
            continue
        found, tries = cheapest(part, first, RULES, most - spent)
        spent += tries
        ranked = _ranked(found, window, names)
        if not ranked:
            continue
        now = fault(text[: window.start] + ranked[0].text + text[window.end :])
        # Python may report a later unclosed bracket before the first error.
        if now is None or not len(text) - window.end <= now.to_end < len(text) - window.start:
            return window, ranked, now, spent
    return None


def _ranked(found: list[Repaired], window: Window, names: frozenset[str]) -> list[Repaired]:
    """The repairs of a part, likeliest first."""
    ranked = [
        Repaired(one.cost + implausibility(one.text, names), one.text.removeprefix(window.head))
        for one in found
        if one.text.startswith(window.head)
        and is_parsable(one.text) and has_code(one.text)
    ]
    return sorted(ranked, key=lambda one: one.cost)[:_MOST_VARIANTS]


def _combined(variants: list[Repaired], window: Window, found: list[Repaired]) -> list[Repaired]:
    """Combines the best text with each repaired part, and every other text with the best part."""
    best, part = variants[0], found[0]
    head, rest = best.text[: window.start], best.text[window.end :]
    behind = len(best.text) - window.start
    combined = [Repaired(best.cost + one.cost, head + one.text + rest) for one in found]
    for one in variants[1:]:
        cost = one.cost + part.cost
        if one.text[-behind:] == best.text[window.start :]:
            combined.append(Repaired(cost, one.text[:-behind] + part.text + rest))
        elif one.text[: window.end] == best.text[: window.end]:
            combined.append(Repaired(cost, head + part.text + one.text[window.end :]))
    return sorted(combined, key=lambda one: one.cost)[:_MOST_VARIANTS]


def _verified(variants: list[Repaired]) -> list[Repaired]:
    """The variants that compile as a whole; of a very long text, only the first few."""
    work, found = _VERIFIED, list[Repaired]()
    for one in variants:
        if work <= 0 and found:
            break
        work -= len(one.text)
        if compiles(one.text):
            found.append(one)
    return found
