"""Asserts in a program's text are judged as they come out when the file runs from top to bottom."""

from __future__ import annotations

import pytest

from agent.core.domain import File, Solution, Task
from agent.target.program import tests_from_program as located
from agent.target.task import from_page
from agent.verify.file_order import FAILS_IN_ORDER, PASSES_IN_ORDER
from agent.verify.judge import check
from sandbox import Sandbox

COUNTER = "N = 0\ndef tick():\n    global N\n    N += 1\n    return N\n"
PASSES = {
    "a value of the main block": (
        "def double(x):\n    return 2 * x\nif __name__ == '__main__':\n    r = double(3)\n"
        "    assert r == 6\n"
    ),
    "two names in asserts": (
        "def f(x):\n    return x\nassert (v := f(1)) == 1\nassert (v := f(2)) == 2\n"
    ),
}
RUNS_THROUGH = {
    "a change between": (
        "LOG = []\ndef log(m):\n    LOG.append(m)\nlog('a')\nassert LOG == ['a']\nlog('b')\n"
        "assert len(LOG) == 2\n"
    ),
    "a value that is bound again": (
        "RATE = 2\ndef tax(x):\n    return x * RATE\nassert tax(3) == 6\nRATE = 5\n"
        "assert tax(4) == 20\n"
    ),
    "a call in the main block": (
        f"{COUNTER}if __name__ == '__main__':\n    print(tick())\n    assert tick() == 2\n"
    ),
    "a function that is defined again": (
        "def f(x):\n    return x + 1\nassert f(1) == 2\ndef f(x):\n    return x + 2\n"
        "assert f(1) == 3\n"
    ),
    "an exit before": "import sys\ndef f():\n    return 1\nsys.exit(0)\nassert f() == 2\n",
}
FAILS = {
    "a change between": (
        "LOG = []\ndef log(m):\n    LOG.append(m)\nlog('a')\nassert LOG == ['a', 'b']\nlog('b')\n"
        "assert len(LOG) == 2\n", "assert LOG == ['a', 'b']",
    ),
    "a call in the main block": (
        f"{COUNTER}if __name__ == '__main__':\n    tick()\n    assert tick() == 1\n",
        "assert tick() == 1",
    ),
    "a function of a library that changes": (
        "import heapq\nH = [1, 3, 5]\ndef least():\n    return heapq.heappop(H)\n"
        "assert least() == 1\nassert least() == 1\n", "assert least() == 1",
    ),
}


async def statuses(text: str, jail: Sandbox, submitted: str | None = None) -> dict[str, str]:
    def solution(of: str) -> Solution:
        return Solution(files=(File(path="program.py", text=of),), entry="program.py")

    tests = {test.name: test for _, test in located(text)}.values()
    task = Task(solution=solution(submitted or text), tests=tuple(tests))
    report = await check(solution(text), task.tests, task, jail)
    return {
        one.name: one.message if one.message in (FAILS_IN_ORDER, PASSES_IN_ORDER) else one.status
        for one in report.verdicts
    }


@pytest.mark.parametrize("name", PASSES)
async def test_statements_that_no_import_runs_are_repeated(name: str, jail: Sandbox) -> None:
    found = await statuses(PASSES[name], jail)
    assert found and {*found.values()} == {"passed"}


@pytest.mark.parametrize("name", RUNS_THROUGH)
async def test_a_file_that_runs_through_is_in_doubt_and_does_not_pass(
    name: str, jail: Sandbox
) -> None:
    found = await statuses(RUNS_THROUGH[name], jail)
    assert PASSES_IN_ORDER in found.values()


async def test_an_answer_that_equals_everything_stays_disbelieved(jail: Sandbox) -> None:
    text = (
        "class Any:\n    def __eq__(self, other):\n        return True\n    __hash__ = None\n"
        "def f():\n    return Any()\nassert f() == 3\n"
    )
    task = from_page(text, "").task
    assert task.solution is not None
    (verdict,) = (await check(task.solution, task.tests, task, jail)).verdicts
    assert verdict.fails and verdict.disbelieved and verdict.message.startswith("not believed")


@pytest.mark.parametrize("name", FAILS)
async def test_a_check_that_fails_in_the_file_fails(name: str, jail: Sandbox) -> None:
    text, check_ = FAILS[name]
    assert (await statuses(text, jail))[check_] == FAILS_IN_ORDER


@pytest.mark.parametrize(("text", "snippet", "expected"), [
    ("import random\nD = [1, 2, 3, 4, 5, 6]\ndef deal():\n    random.seed(1)\n"
     "    random.shuffle(D)\n    return D[0]\n",
     "assert deal() == 3; assert deal() == 3", FAILS_IN_ORDER),
    ("class M:\n    n = 0\n    @property\n    def value(self):\n        self.n += 1\n"
     "        return self.n\n",
     "m = M(); assert m.value == 1; assert m.value == 2", PASSES_IN_ORDER),
])
async def test_asserts_given_apart_are_run_in_their_order_too(
    text: str, snippet: str, expected: str, jail: Sandbox
) -> None:
    task = from_page(text, snippet).task
    assert task.solution is not None
    report = await check(task.solution, task.tests, task, jail)
    assert expected in {one.message for one in report.failing}
