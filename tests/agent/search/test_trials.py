"""Slow candidates are retried, in proportion to the candidates that were tried."""

from __future__ import annotations

from agent.search.program import Program, spliced
from agent.search.state import SearchState, SlowCandidate, record
from agent.search.trials import FIRST_RETRY_FACTORS, RETRY_FACTOR_EACH, repeated, retry
from agent.search.values import Budget, Candidate, Facts, PrecheckRequest, PrecheckResult
from tests.agent.values import single_edits

SOURCE = "def plus(a, b):\n    return a - b\n"
PATIENCE = 100.0
EDIT = single_edits(Program(SOURCE), {})[0]


def state(slow: int) -> SearchState:
    seen = SearchState(SOURCE, Facts(), Budget(), failing=frozenset({0}))
    seen.slow = [
        SlowCandidate(Candidate(f"slow {number}", float(number), ("op",)), EDIT, 1.0)
        for number in range(slow)
    ]
    return seen


def asked(seen: SearchState, is_last: bool = False) -> list[str]:
    """The candidates that are retried, none of which ends."""
    texts: list[str] = []
    steps = retry(seen, [(1_000, PATIENCE)], is_last=is_last)
    question = next(steps, None)
    while question is not None:
        assert isinstance(question, PrecheckRequest)
        texts += question.candidates
        late = PrecheckResult((None,), "timeout")
        try:
            question = steps.send((late,) * len(question.candidates))
        except StopIteration:
            question = None
    return texts


def test_the_number_of_retries_is_proportional_to_the_candidates_tried() -> None:
    seen = state(slow=200)
    at_first = int(FIRST_RETRY_FACTORS // PATIENCE)

    assert asked(seen) == [f"slow {number}" for number in range(at_first)]
    assert len(seen.slow) == 200 - at_first

    tried_since = at_first * RETRY_FACTOR_EACH // PATIENCE
    assert len(asked(seen)) == tried_since
    seen.tried += int(7 * PATIENCE / RETRY_FACTOR_EACH)
    assert len(asked(seen)) == 7


def test_the_last_retry_includes_all_slow_candidates() -> None:
    seen = state(slow=200)

    assert len(asked(seen, is_last=True)) == 200
    assert seen.slow == []


def test_endless_and_exhausted_candidates_are_not_retried() -> None:
    seen = state(slow=0)
    seen.slow = [SlowCandidate(Candidate("slow", 1.0, ("op",)), EDIT, PATIENCE)]

    assert asked(seen, is_last=True) == []

    seen = state(slow=0)
    for number, ended in enumerate(("endless", "timeout")):
        record(seen, Candidate(f"{number}", 1.0, ("op",)), EDIT, PrecheckResult((None,), ended))

    assert [one.candidate.text for one in seen.slow] == ["1"]


def test_the_same_edit_is_made_at_all_places_of_a_function() -> None:
    text = (
        "def f(a, b):\n    if not a:\n        a = 1\n    if not b:\n        b = 1\n"
        "    return a + b\n"
        "def g(c):\n    return 0 if not c else c\n"
    )
    program = Program(text)
    base = Candidate(text, 0.0, ())
    found = [
        spliced(one.data, one.splices)
        for one in repeated(program, base, single_edits(program, {}))
    ]

    in_function = text.replace("not a", "a is None").replace("not b", "b is None")
    assert in_function in found
    assert in_function.replace("not c", "c is None") in found
    assert text.replace("not a", "a is None") not in found


def test_a_key_is_replaced_everywhere() -> None:
    text = (
        "def f(a):\n    return a.get('total') or a['amount']\n\n"
        "def g(a):\n    return a['total']\n"
    )
    program = Program(text)
    found = [
        spliced(one.data, one.splices)
        for one in repeated(program, Candidate(text, 0.0, ()), single_edits(program, {}))
    ]

    assert text.replace("total", "amount") in found


def test_an_attribute_is_replaced_everywhere_also_where_no_test_ran() -> None:
    text = (
        "class A:\n    def __init__(self):\n        self._rows = {}\n"
        "    def f(self):\n        return self.rows\n"
        "    def g(self):\n        del self.rows[1]\n"
    )
    program = Program(text)
    reached = [one for one in single_edits(program, {}) if one.splice.line == 5]
    found = [
        spliced(one.data, one.splices)
        for one in repeated(program, Candidate(text, 0.0, ()), reached)
    ]

    assert text.replace("self.rows", "self._rows") in found
