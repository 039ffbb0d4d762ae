"""Best-first search for the cheapest edits that make a text compile.

A state is a text with its first fault. The cheapest edit of all states is tried next. A text that
compiles is a result; one whose fault has moved forward is a new state. For a new state, most of the
cost of the repaired fault is not counted, so that the tenth error of a file is found as easily as
the first.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from agent.search.syntax.broken import Broken, SyntaxEdit
from agent.search.syntax.fault import Fault, fault

Rule = Callable[[Broken], list[SyntaxEdit]]

MAX_EXTRA_COST = 0.8
"""The largest cost of a result above that of the first one."""
MAX_RESULTS = 60
"""Most results."""
_MIN_EDIT_COST, _MAX_EDIT_COST = 0.4, 3.7
"""The assumed least cost of a state's edits before they are generated, and the highest allowed."""
_COUNTED = 0.25
"""The share of an edit's cost that counts after the fault has moved to a later line."""
_STATES = 40
_SAME_FAULT = 3
"""Most states with the same fault."""
_WORK = 3_000
"""Characters to compile per allowed compilation, on average."""


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
    """The part of the cost that counts in the search."""
    fault: Fault


def cheapest(
    source: str, first: Fault, rules: Iterable[Rule], most: int
) -> tuple[list[Repaired], int]:
    """Texts that compile, cheapest first, and the number of compilations: at most `most`, and
    fewer for a long text."""
    work = most * _WORK
    states: list[_State] = []
    proposals: dict[int, list[SyntaxEdit]] = {}
    heap: list[tuple[float, int, int]] = []
    faults = Counter[tuple[int, str]]()

    def add_state(text: str, cost: float, base: float, at: Fault) -> None:
        faults[at.to_end, at.message] += 1
        if faults[at.to_end, at.message] <= _SAME_FAULT and len(states) < _STATES:
            states.append(_State(text, cost, base, at))
            heapq.heappush(heap, (base + _MIN_EDIT_COST, len(states) - 1, 0))

    add_state(source, 0.0, 0.0, first)
    seen = {source}
    found: list[Repaired] = []
    tries, cost_limit = 0, float("inf")
    while heap and tries < most and work > 0 and len(found) < MAX_RESULTS:
        priority, number, place = heapq.heappop(heap)
        if priority > cost_limit:
            break
        state = states[number]
        if number not in proposals:
            # Generated late, since it is slow and most states are never reached.
            broken = Broken(state.text, state.fault)
            proposals[number] = sorted(
                (edit for rule in rules for edit in rule(broken)), key=lambda one: one.cost
            )
            if proposals[number]:
                heapq.heappush(heap, (state.base + proposals[number][0].cost, number, 0))
            continue
        proposal = proposals[number][place]
        if place + 1 < len(proposals[number]):
            following = proposals[number][place + 1].cost
            if following <= _MAX_EDIT_COST:
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
            cost_limit = min(cost_limit, priority + MAX_EXTRA_COST)
        else:
            base = _base(state, proposal, now)
            if base is not None:
                add_state(text, cost, base, now)
    return sorted(found, key=lambda one: one.cost), tries


def _base(state: _State, proposal: SyntaxEdit, now: Fault) -> float | None:
    """The counted cost of a text that still has a fault, or `None` if the edit did not help."""
    before = state.fault
    edited = len(state.text) - proposal.end
    if now.parsed and not before.parsed:
        return state.base + 0.3 * proposal.cost
    if before.parsed and not now.parsed:
        return None
    if now.to_end < before.to_end and now.to_end < edited:
        resolved = before.line != now.line and state.text[-before.to_end :].lstrip()[:1] != ""
        share = _COUNTED if resolved and before.to_end - now.to_end > 20 else 0.6
        return state.base + share * proposal.cost
    if proposal.cost < 1.0 and (now.to_end, now.message) != (before.to_end, before.message):
        return state.base + proposal.cost + 0.2
    return None
