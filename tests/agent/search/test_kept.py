"""Edits of state that is kept between tests."""

from __future__ import annotations

import pytest

from agent.search.edits import EDITS
from agent.search.edits.forgotten import kept_state
from agent.search.program import Program, spliced
from tests.agent.values import single_edits

OURS = tuple(
    one for one in EDITS
    if one.propose.__module__ == kept_state.__name__ or one.name == "known mistake"
)


def texts(source: str, *, together: bool = True) -> set[str]:
    program = Program(source, together=together)
    edits = single_edits(program, {}, operators=OURS)
    return {spliced(program.data, [edit.splice]) for edit in edits}


MEMO = """M = {}

def f(a, b):
    if a in M:
        return M[a]
    M[a] = a + b
    return M[a]
"""


@pytest.mark.parametrize(("source", "repaired"), [
    (
        "class A:\n    x = 1\n    held = []\n\n    def __init__(self):\n        self.y = 2\n\n"
        "    def f(self):\n        return self.held\n",
        "class A:\n    x = 1\n    def __init__(self):\n        self.held = []\n"
        "        self.y = 2\n\n    def f(self):\n        return self.held\n",
    ),
    (
        "S = set()\n\ndef f(x):\n    S.add(x)\n    return len(S)\n",
        "S = set()\n\ndef f(x):\n    S = set()\n    S.add(x)\n    return len(S)\n",
    ),
    (MEMO, MEMO.replace("if a in", "if (a, b) in").replace("M[a]", "M[a, b]")),
    (
        "import os\nD = {}\n\ndef f():\n    d = D.copy()\n    return d\n",
        "from copy import deepcopy\nimport os\nD = {}\n\ndef f():\n    d = deepcopy(D)\n"
        "    return d\n",
    ),
    (
        "def f():\n    a = 1\n    yield\n    done(a)\n",
        "def f():\n    a = 1\n    try:\n        yield\n    finally:\n        done(a)\n",
    ),
])
def test_shared_state_is_created_for_each_test(source: str, repaired: str) -> None:
    together = texts(source)
    assert repaired in together and together >= texts(source, together=False)
