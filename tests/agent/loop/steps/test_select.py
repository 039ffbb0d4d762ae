"""What is told of a repair ends in one line, which a run that stops repeats."""

from __future__ import annotations

import pytest

from agent.core.domain import File, Solution
from agent.core.state import Iteration, Iterations, ModelRepair
from agent.core.trees import tree_of
from agent.iteration.iterations import fingerprint
from agent.loop.steps.select import _feedback


def test_feedback_is_one_line_and_shown_once() -> None:
    fault = "test_a: assert 0 == 1\n  +  where 0 = f()"

    told = _feedback(ModelRepair(fault=fault, by="a model"), Solution(files=(), entry="it.py"))

    assert told.split() == fault.split() and "\n" not in told

    iterations = Iterations(
        all=tuple(Iteration(approach="minimal", feedback=one) for one in ("a", "b", "a"))
    )

    assert iterations.feedback == ("a", "b")


def test_a_fingerprint_reuses_parsed_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "TABLE = [1, 2, 3]  # all there is\n"
    tree_of(text)
    monkeypatch.setattr("agent.core.trees.retry_parse", None)

    program = Solution(files=(File(path="it.py", text=text),), entry="it.py")

    assert len(fingerprint(program)) == 16
