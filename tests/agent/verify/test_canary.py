"""What shares a process with its tests is heard on wrong answers, too."""

from __future__ import annotations

from typing import Any

import pytest

from agent.core.domain import File, Origin, Property, Solution, Task
from agent.verify.judge import check
from agent.verify.plain.canary import Canary
from sandbox.sandbox import Sandbox
from tests.agent.values import table

PROGRAMS = table(__file__, "programs.toml")["canary"]
PROGRAM = PROGRAMS["program"]


def _loaded(on: int) -> dict[str, Any]:
    names: dict[str, Any] = {"_spoilt": [0, "spoilt", KeyError("spoilt")]}
    exec(Canary("wrong true", "_spoilt").program(PROGRAM), names)
    names["_spoilt"][0] = on
    return names


def test_a_spoilt_program_answers_as_before_until_it_is_in_use() -> None:
    names = _loaded(0)
    assert (names["plain"](1), names["pair"](1), [*names["many"](3)]) == (2, (1, 2), [0, 1, 2])
    assert (names["outer"](5)(), names["double"](4), names["early"](3)) == (5, 8, None)
    box = names["Box"](1)
    box.put(3)
    assert box.n == 3


def test_in_use_every_answer_is_spoilt_after_its_side_effects() -> None:
    names = _loaded(1)
    assert (names["plain"](1), names["pair"](1), [*names["many"](2)]) == (
        "spoilt", "spoilt", ["spoilt", "spoilt"]
    )
    assert (names["outer"](5), names["double"](4)) == ("spoilt", "spoilt")
    with pytest.raises(StopIteration) as end:
        names["later"](1).send(None)
    assert end.value.value == "spoilt"
    with pytest.raises(KeyError):
        names["refuse"](1)
    for early in (1, 3):
        with pytest.raises(KeyError):
            names["early"](early)
    assert names["seen"] == [1]
    box = names["Box"](1)
    with pytest.raises(KeyError):
        box.put(3)
    assert box.n == 3


@pytest.mark.parametrize("text", ["def f(", "x = '\0'", "-" * 100_000 + "1"])
def test_what_does_not_parse_stays_as_it_is(text: str) -> None:
    assert Canary("wrong true", "_spoilt").program(text) == text
    assert Canary("unequal", "_equal").test(text) == text


def test_only_the_comparisons_of_a_test_are_heard() -> None:
    heard = Canary("unequal", "_equal")

    assert heard.test("assert f(1) == 2\nassert f(1) != 3\n") == (
        "assert _equal(f(1), 2)\nassert f(1) != 3"
    )
    assert heard.program("def f(n):\n    return n") == "def f(n):\n    return n"
    assert Canary("", "_spoilt").program("def f(n):\n    return n") == "def f(n):\n    return n"


# Each of these tests does more than call the program with plain values.
AREA = "import math\ndef area(r):\n    return math.pi * r * r\n"
PATCHES = "import math\nfrom unittest import mock\nwith mock.patch('math.pi', 3):\n"
FILE = (
    "import pytest\nfrom program import area\n\ndef test_area(monkeypatch):\n"
    "    monkeypatch.setattr('math.pi', 3)\n    assert area(2) == 12\n"
)


@pytest.mark.parametrize(("tests", "nodes"), [
    (PATCHES + "    assert area(2) == 12\n", ()), (FILE, ("test_area",)),
])
async def test_a_pass_beside_the_program_fails_on_spoilt_answers(
    tests: str, nodes: tuple[str, ...], judge: Any
) -> None:
    (right,) = (await judge(AREA, tests, nodes)).verdicts
    (wrong,) = (await judge(AREA.replace("r * r", "r"), tests, nodes)).verdicts

    assert (right.passed, right.integrity) == (True, "in-process")
    assert not right.vacuous
    assert (wrong.status, wrong.integrity, wrong.vacuous) == ("failed", None, False)


async def test_objects_of_the_program_may_be_compared_with_each_other(judge: Any) -> None:
    text = AREA + (
        "class V:\n    def __init__(self, r): self.r = area(r)\n"
        "    def __eq__(self, other): return self.r == other.r\n"
        "def v(r): return V(r)\n"
    )
    test = "import copy\nassert copy.copy(v(2)) == v(2) != v(3)\n"

    (verdict,) = (await judge(text, test)).verdicts

    assert (verdict.passed, verdict.integrity, verdict.vacuous) == (True, "in-process", False)


@pytest.mark.parametrize("counted", ["sorting([3])", "[one for one in sorting([3])]"])
async def test_a_test_that_counts_an_answer_is_not_vacuous(judge: Any, counted: str) -> None:
    sorts = "def sorting(values):\n    values.sort()\n    return values\n"
    test = f"sorting([2, 1])\nassert len({counted}) == 1\n"

    (verdict,) = (await judge(sorts, test)).verdicts

    assert (verdict.passed, verdict.integrity, verdict.vacuous) == (True, "in-process", False)


async def test_a_test_that_any_answer_passes_is_vacuous(judge: Any) -> None:
    test = "import subprocess\narea(subprocess.PIPE)\nassert 1\n"

    (verdict,) = (await judge(AREA, test)).verdicts

    assert (verdict.passed, verdict.integrity, verdict.vacuous) == (True, "in-process", True)


@pytest.mark.parametrize(("origin", "vacuous"), [("spec", True), ("adversarial", False)])
async def test_a_weightless_test_is_not_asked(jail: Sandbox, origin: Origin, vacuous: bool) -> None:
    solution = Solution(files=(File(path="program.py", text=AREA),), entry="program.py")
    returns = Property(name="p", origin=origin, call="area(2)", predicate="True")

    (verdict,) = (await check(solution, [returns], Task(), jail)).verdicts

    assert (verdict.passed, verdict.vacuous) == (True, vacuous)
