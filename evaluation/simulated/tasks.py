"""Tasks of the bench as the simulated programmer knows them: words, a right program, wrong ones,
and what each gives for many calls.

Near programs are the bench's own broken one, written by a person, and single changes of the right
one; wrong ones have three changes at once. All fail what tells right programs of the row. Programs
that do not end are left out, since a hanging test costs the judge its whole deadline.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent.core.domain import Example, File, Solution, Task
from agent.intake import NotFixable, tests_from_snippet
from agent.intake.task import PASTED
from agent.judge.compared import plain
from agent.judge.compared.probing import answers
from agent.repair.proof.inputs import probes
from agent.repair.ranking.question import Answer
from agent.thinking.arbitration import same
from evaluation.simulated.mutations import mutants
from evaluation.suite import BadRow, Row, Truth
from evaluation.truth import right
from sandbox import Sandbox

MOST_NEAR, MOST_WRONG, MOST_CALLS = 10, 6, 40
LEAST_NEAR, LEAST_WRONG, LEAST_CALLS = 3, 2, 8
LONGEST = 20
"""Lines of a program."""
USER_TESTS = 4
"""From so many on one is held out of a repair."""
CALL_S, ALL_S = 0.5, 20.0
MANY = ("syntax", "two-edit", "three-edit")
"""Kinds of rows whose broken program is no near one."""


@dataclass
class BenchTask:
    """One task; what becomes known of other programs while it is worked on is kept."""

    id: str
    words: str
    right: str
    near: tuple[str, ...]
    wrong: tuple[str, ...]
    user: tuple[str, ...]
    """Tests as a user would bring them."""
    truth: Truth
    calls: tuple[str, ...]
    """Calls that no test of the user makes, and that the right program answers."""
    asked: tuple[str, ...]
    """Calls of the tests of the user."""
    values: dict[str, dict[str, str]]
    """What programs give, by their texts and by calls: a literal, or `raises` and a name."""
    sandbox: Sandbox
    is_right: dict[str, bool] = field(default_factory=dict)

    def gives(self, call: str, text: str | None = None) -> str:
        """What the right program, or another known one, gives."""
        return self.values[text or self.right].get(call, "")

    def passes(self, text: str, tests: Sequence[tuple[str, str]]) -> bool:
        """Whether a known program gives what is expected of each call."""
        return all(
            same(Answer.read(self.gives(call, text)), Answer.read(expected))
            for call, expected in tests
        )

    async def learn(self, text: str) -> Mapping[str, str]:
        """What any program gives for the calls of the task."""
        if text not in self.values:
            self.values[text] = await _given(text, (*self.calls, *self.asked), self.sandbox)
        return self.values[text]

    async def learn_calls(self, calls: Sequence[str]) -> None:
        """What the right program, and wrong ones, give for further calls."""
        fresh = [call for call in calls if call not in self.values[self.right]]
        for text in (self.right, *self.near, *self.wrong) if fresh else ():
            self.values[text] |= await _given(text, fresh, self.sandbox)

    async def holds(self, text: str) -> bool:
        """Whether a program is right: asked of the judge, by tests that nobody was shown."""
        if text not in self.is_right:
            known = await right(self.truth, [_solution(text)], (), self.sandbox)
            self.is_right[text] = bool(known and known[0])
        return self.is_right[text]


async def task_of(row: Row | BadRow, sandbox: Sandbox) -> BenchTask | None:
    """A row as a task; `None` where it is long, holds no documented function, or too few of its
    calls and mutants tell anything."""
    if isinstance(row, BadRow) or not row.truth.fixed:
        return None
    text = row.truth.fixed
    words = _words(text)
    tests = _examples((*row.broken.tests, *row.truth.held_out), text)
    if not words or tests is None or len(text.splitlines()) > LONGEST:
        return None
    shown = tests[: max(USER_TESTS, len(row.broken.tests))]
    codes = [test.code for test in tests]
    names = frozenset(node.name for node in _functions(text))
    asked = tuple(test.call for test in shown)
    calls = (*asked, *(test.call for test in tests[len(shown) :]),
             *probes(names, codes, MOST_CALLS))
    known = await _given(text, calls, sandbox)
    usable = [call for call in dict.fromkeys(calls) if known.get(call)]
    others = [] if dict(row.groups).get("kind") in MANY else [row.broken.program]
    near = mutants(text, 1, 2 * MOST_NEAR, row.id)
    wrong = mutants(text, 3, 2 * MOST_WRONG, row.id)
    truth = [(test.call, test.expected) for test in tests]
    values: dict[str, dict[str, str]] = {text: known}
    found = BenchTask(
        row.id, words, text, (), (), tuple(test.code for test in shown),
        Truth(held_out=tuple(codes)),
        tuple(call for call in usable if call not in asked), asked, values, sandbox,
    )
    pools: list[tuple[str, ...]] = []
    for texts, most in (((*others, *near), MOST_NEAR), (wrong, MOST_WRONG)):
        kept: list[str] = []
        for one in texts:
            given = await _given(one, usable, sandbox)
            if len(kept) < most and len(given) == len(usable) and one not in values:
                values[one] = given
                if not found.passes(one, truth):
                    kept.append(one)
        pools.append(tuple(kept))
    found.near, found.wrong = pools
    enough = (
        len(found.near) >= LEAST_NEAR and len(found.wrong) >= LEAST_WRONG
        and len(found.calls) >= LEAST_CALLS
    )
    return found if enough and await found.holds(text) else None


def _words(text: str) -> str:
    """The task in words: which function, and what its docstring says of it."""
    documented = [(node, ast.get_docstring(node)) for node in _functions(text)]
    told = [(node, said) for node, said in documented if said]
    if len(told) != 1 or len(ast.parse(text).body) != len(documented):
        return ""
    node, said = told[0]
    return f"Write {node.name}({ast.unparse(node.args)}). {said}"


def _functions(text: str) -> list[ast.FunctionDef]:
    return [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]


def _examples(codes: Sequence[str], program: str) -> list[Example] | None:
    """The tests, where all are examples."""
    try:
        tests = [test for code in codes for test in tests_from_snippet(code, "user", program)]
    except NotFixable:
        return None
    found = [test for test in tests if isinstance(test, Example)]
    return found if len(found) == len(tests) else None


async def _given(text: str, calls: Sequence[str], sandbox: Sandbox) -> dict[str, str]:
    """What a program gives for calls; those without a value that can be told are left out."""
    told = await answers(
        _solution(text), calls, Task(), sandbox, wall_s=CALL_S, until=time.monotonic() + ALL_S
    )
    found = {}
    for call, one in zip(calls, told, strict=True):
        if one.kind == "value" and not (shown := plain.shown(one.wire)).endswith("…"):
            found[call] = shown
        elif one.kind == "raised":
            found[call] = f"raises {one.words}"
    return found


def _solution(text: str) -> Solution:
    return Solution(files=(File(path=PASTED, text=text),), entry=PASTED)
