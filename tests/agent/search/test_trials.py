"""What did not end is tried again, but never so often that it sets the pace."""

from __future__ import annotations

from agent.search.program import Program
from agent.search.state import SearchState, Slow, note
from agent.search.trials import FIRST_WAITS, WAITS, again
from agent.search.values import Budget, Candidate, Facts, Screen, Screened
from tests.agent.values import single_edits

SOURCE = "def plus(a, b):\n    return a - b\n"
PATIENCE = 100.0
EDIT = single_edits(Program(SOURCE), {})[0]


def state(slow: int) -> SearchState:
    seen = SearchState(SOURCE, Facts(), Budget(), failing=frozenset({0}))
    seen.slow = [
        Slow(Candidate(f"slow {number}", float(number), ("op",)), EDIT, 1.0)
        for number in range(slow)
    ]
    return seen


def asked(seen: SearchState, is_last: bool = False) -> list[str]:
    """The candidates that are tried again, none of which ends."""
    texts: list[str] = []
    steps = again(seen, [(1_000, PATIENCE)], is_last=is_last)
    question = next(steps, None)
    while question is not None:
        assert isinstance(question, Screen)
        texts += question.candidates
        late = Screened((None,), "timeout")
        try:
            question = steps.send((late,) * len(question.candidates))
        except StopIteration:
            question = None
    return texts


def test_no_more_is_tried_again_than_keeps_step_with_what_was_tried() -> None:
    seen = state(slow=200)
    at_first = int(FIRST_WAITS // PATIENCE)

    assert asked(seen) == [f"slow {number}" for number in range(at_first)]
    assert len(seen.slow) == 200 - at_first

    tried_since = at_first * WAITS // PATIENCE
    assert len(asked(seen)) == tried_since
    seen.tried += int(7 * PATIENCE / WAITS)
    assert len(asked(seen)) == 7


def test_at_the_end_everything_is_tried_again() -> None:
    seen = state(slow=200)

    assert len(asked(seen, is_last=True)) == 200
    assert seen.slow == []


def test_what_had_that_much_patience_is_not_asked_again() -> None:
    seen = state(slow=0)
    seen.slow = [Slow(Candidate("slow", 1.0, ("op",)), EDIT, PATIENCE)]

    assert asked(seen, is_last=True) == []


def test_what_is_endless_is_not_kept_for_another_try() -> None:
    seen = state(slow=0)
    for number, ended in enumerate(("endless", "timeout")):
        note(seen, Candidate(f"{number}", 1.0, ("op",)), EDIT, Screened((None,), ended))

    assert [one.candidate.text for one in seen.slow] == ["1"]
