"""The cheapest edits that make a text compile, found best first.

A state is a text with its first fault. The edits proposed for it stand in order of cost, and the
cheapest edit of all states is tried next. A text that compiles is kept; one whose fault has moved
on is a new state. Once a fault is behind, most of what it cost is forgiven, so that the tenth
error of a file is as near as the first.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

from agent.search.syntax.broken import Broken, SyntaxEdit
from agent.search.syntax.fault import Fault, fault

Rule = Callable[[Broken], list[SyntaxEdit]]

BEYOND = 0.8
"""How much dearer than the first mended text others may be."""
FOUND = 60
_CHEAPEST, _DEAREST = 0.4, 3.7
_REMEMBERED = 0.25
_STATES = 40
_ALIKE = 3
_WORK = 3_000


@dataclass(frozen=True)
class Repaired:
    """A text that compiles, with the cost of its edits."""

    cost: float
    text: str


@dataclass(frozen=True)
class _State:
    text: str
    cost: float
    base: float
    """What the search counts of that cost."""
    fault: Fault


def cheapest(source: str, first: Fault, rule: Rule, most: int) -> tuple[list[Repaired], int]:
    """Texts that compile, cheapest first, and the tries spent: no more than `most`, and fewer
    where the text is so long that each of them is slow."""
    work = most * _WORK
    states: list[_State] = []
    proposals: dict[int, list[SyntaxEdit]] = {}
    heap: list[tuple[float, int, int]] = []
    alike: dict[tuple[int, str], int] = {}

    def enter(text: str, cost: float, base: float, at: Fault) -> None:
        same_model = (at.left, at.message)
        alike[same_model] = alike.get(same_model, 0) + 1
        if alike[same_model] <= _ALIKE and len(states) < _STATES:
            states.append(_State(text, cost, base, at))
            heapq.heappush(heap, (base + _CHEAPEST, len(states) - 1, 0))

    enter(source, 0.0, 0.0, first)
    seen = {source}
    found: list[Repaired] = []
    tries, enough = 0, float("inf")
    while heap and tries < most and work > 0 and len(found) < FOUND:
        priority, number, place = heapq.heappop(heap)
        if priority > enough:
            break
        state = states[number]
        if number not in proposals:
            # Only now: most states are never reached, and proposing is dear.
            proposals[number] = sorted(
                rule(Broken(state.text, state.fault)), key=lambda one: one.cost)
            if proposals[number]:
                first_cost = proposals[number][0].cost
                heapq.heappush(heap, (state.base + first_cost, number, 0))
            continue
        proposal = proposals[number][place]
        if place + 1 < len(proposals[number]):
            following = proposals[number][place + 1].cost
            if following <= _DEAREST:
                heapq.heappush(heap, (state.base + following, number, place + 1))
        text = proposal.applied(state.text)
        if text in seen:
            continue
        seen.add(text)
        tries += 1
        work -= len(text)
        now = fault(text)
        cost = state.cost + proposal.cost
        if now is None:
            found.append(Repaired(cost, text))
            enough = min(enough, priority + BEYOND)
        else:
            base = _base(state, proposal, now)
            if base is not None:
                enter(text, cost, base, now)
    return sorted(found, key=lambda one: one.cost), tries


def _base(state: _State, proposal: SyntaxEdit, now: Fault) -> float | None:
    """What a text counts that still has a fault, or `None` if the edit was of no use."""
    before = state.fault
    edited = len(state.text) - proposal.end
    if now.parsed and not before.parsed:
        return state.base + 0.3 * proposal.cost
    if before.parsed and not now.parsed:
        return None
    if now.left < before.left and now.left < edited:
        resolved = before.line != now.line and state.text[-before.left :].lstrip()[:1] != ""
        share = _REMEMBERED if resolved and before.left - now.left > 20 else 0.6
        return state.base + share * proposal.cost
    if proposal.cost < 1.0 and (now.left, now.message) != (before.left, before.message):
        return state.base + proposal.cost + 0.2
    return None
