"""A small model is asked for one suspicious function of a project at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest

from agent.core.domain import (
    Diagnosis,
    File,
    Project,
    Report,
    Script,
    Solution,
    SuspectFile,
    SuspectFunction,
    Task,
    TestCase,
    Verdict,
)
from agent.core.events import Event, LogEntry, Searched
from agent.core.settings import Settings
from agent.core.state import ModelRepair
from agent.iteration.context import PROMPTS, Context
from agent.iteration.strategies import RepairInput
from agent.propose.one_function import function_in, source_of, suspicious_functions
from agent.propose.rewriting import attempt_repair
from agent.propose.roles import GENERATOR
from llm import BadReply, Request
from llm.asking.prompts import Prompts
from llm.plan import Choice, ModelPlan
from tests.llm.scripted import Answer, Scripted

SHAPES = """import math


class Circle:
    @property
    def area(self):
        return math.pi * self.r

    def name(self):
        return "circle"


def twice(x):
    return x + x
"""
RIGHT = SHAPES.replace("math.pi * self.r", "math.pi * self.r ** 2")
TEST = "import shapes\n\n\ndef test_area():\n    assert shapes.Circle(2).area > 12\n"
SOLUTION = Solution(files=(
    File(path="shapes.py", text=SHAPES), File(path="more.py", text="def more():\n    return 1\n"),
), entry="shapes.py")
SUSPECTED = (
    SuspectFile(file="more.py", suspicion=0.5, functions=(
        SuspectFunction(name="more", line=1, suspicion=1.0),
    )),
    SuspectFile(file="shapes.py", suspicion=1.0, functions=(
        SuspectFunction(name="twice", line=13, suspicion=0.2),
        SuspectFunction(name="area", line=6, suspicion=0.9),
    )),
)
CASE = Script(
    name="test_shapes.py::test_area", origin="user", code=TEST, node="test_shapes.py::test_area",
    file="test_shapes.py",
)


def answer(text: str) -> Answer:
    return Answer((f"```python\n{text}\n```",))


def test_functions_come_by_their_suspicion_with_decorators_and_without_indentation() -> None:
    first, second, third = suspicious_functions(SOLUTION, SUSPECTED)
    assert [first.name, second.name, third.name] == ["area", "more", "twice"]
    assert first.text == "@property\ndef area(self):\n    return math.pi * self.r"
    assert (first.first, first.last, first.indentation) == (5, 7, "    ")
    text = "@property\ndef area(self):\n\n    return math.pi * self.r ** 2"
    changed = first.replaced(SOLUTION, text)
    assert changed.with_entry("shapes.py").text == RIGHT.replace(
        "def area(self):\n", "def area(self):\n\n"
    )
    assert changed.with_entry("more.py").text == "def more():\n    return 1\n"
    assert changed.origin == "model"


def test_a_function_that_is_too_long_is_left_out() -> None:
    long = SOLUTION.with_texts({
        "shapes.py": SHAPES, "more.py": "def more():\n" + "    x = 1\n" * 500,
    }, origin="user")
    assert [one.name for one in suspicious_functions(long, SUSPECTED)] == ["area", "twice"]


def test_the_function_is_taken_out_of_an_answer() -> None:
    said = (
        "```python\nimport math\n\nclass Circle:\n    @property\n    def area(self):\n"
        "        return 1\n```"
    )
    assert function_in(said, "area") == "@property\ndef area(self):\n    return 1"
    two = f"Look:\n\n```python\nx = 1\n```\n{said}\nThat is all."
    assert function_in(two, "area") == "@property\ndef area(self):\n    return 1"
    for bad in ("```python\ndef other():\n    pass\n```", "```python\ndef area(:\n```"):
        with pytest.raises(BadReply):
            function_in(bad, "area")


def test_a_test_is_shown_without_the_rest_of_its_file() -> None:
    assert source_of(CASE) == "def test_area():\n    assert shapes.Circle(2).area > 12"


@dataclass
class Surroundings:
    """What a repair by a model needs of a context; the right text passes."""

    model: Scripted
    plan = ModelPlan("llamacpp", "", (Choice(GENERATOR, "llamacpp", "m", ""),))
    task = Task(solution=SOLUTION, project=Project(
        root="/p", name="p", editable=("shapes.py", "more.py")
    ))
    prompts = Prompts(PROMPTS)
    seconds_left = 600.0
    settings = Settings()
    judged: list[tuple[str, bool]] = field(default_factory=list)
    verified: dict[str, Report] = field(default_factory=dict)

    def emit(self, event: Event) -> None:
        pass

    def log(self) -> tuple[LogEntry, ...]:
        event = Searched.model_construct(suspects=SUSPECTED)
        return (LogEntry.model_construct(event=event),)

    async def answerer(self, role: str, *, rules_only: bool = False) -> Scripted:
        return self.model

    async def judge(
        self, solution: Solution, tests: Sequence[TestCase], verify_passes: bool = True
    ) -> Report:
        text = solution.with_entry("shapes.py").text
        self.judged.append((text, verify_passes))
        return report(solution, "passed" if "** 2" in text else "failed")


def report(solution: Solution, status: str) -> Report:
    return Report(solution=solution.id, verdicts=(Verdict.model_validate({
        "name": CASE.name, "test": CASE.name, "origin": "user", "status": status,
        "message": "assert 6.28 > 12",
    }),))


async def repaired(
    *answers: Answer, second: bool = False
) -> tuple[ModelRepair, list[Request], Surroundings]:
    model = Scripted([*answers])
    here = Surroundings(model)
    attempt = RepairInput(
        SOLUTION, (CASE,), report(SOLUTION, "failed"),
        Diagnosis(category="wrong_result", cause="it is too small"), is_second_opinion=second,
    )
    found = await attempt_repair(attempt, cast(Context, here), "minimal", ())
    return found, model.asked, here


async def test_the_first_answer_that_passes_is_the_repair_and_the_suite_runs_once() -> None:
    right = "@property\ndef area(self):\n    return math.pi * self.r ** 2"
    found, (asked,), here = await repaired(answer(right))
    assert found.solution is not None and found.solution.with_entry("shapes.py").text == RIGHT
    assert "area, in shapes.py" in asked.messages[-1].text
    assert "class Circle" not in asked.messages[-1].text
    assert "assert shapes.Circle(2).area > 12" in asked.messages[-1].text
    # The failing test decides first, then the whole suite, whose report is kept.
    assert here.judged == [(RIGHT, False), (RIGHT, True)]
    assert [*here.verified] == [found.solution.id]


async def test_the_next_function_follows_an_answer_that_changes_nothing_or_cannot_be_read() -> None:
    found, asked, here = await repaired(
        answer("@property\ndef area(self):\n    return math.pi * self.r"),
        Answer(("I cannot do that.",)), Answer(("Nor now.",)),
        answer("def twice(x):\n    return 2 * x ** 2"),
    )
    assert found.solution is not None and found.candidates == 1
    assert [text.count("** 2") for text, _ in here.judged] == [1, 1]
    assert len(asked) == 4


async def test_a_second_opinion_asks_for_two_functions() -> None:
    same = answer("@property\ndef area(self):\n    return math.pi * self.r")
    found, asked, _ = await repaired(
        same, answer("def more():\n    return 2"), answer("def twice(x):\n    return 0"),
        second=True,
    )
    assert (found.solution, len(asked)) == (None, 2)
    assert found.fault and not found.is_models_fault
