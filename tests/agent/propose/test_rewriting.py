"""Which form a repair is asked for in, by the room that an answer has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import pytest

from agent.core.domain import (
    Approach,
    Diagnosis,
    Example,
    File,
    Report,
    Solution,
    Task,
    TestCase,
    Verdict,
)
from agent.core.events import Event, LogEntry
from agent.core.settings import Settings
from agent.core.state import ModelRepair
from agent.iteration.context import PROMPTS, Context
from agent.iteration.strategies import RepairInput
from agent.proof.confidence import draft_estimate
from agent.propose.rewriting import attempt_repair
from agent.propose.roles import GENERATOR
from llm import Request
from llm.asking.prompts import Prompts, load
from llm.plan import Choice, ModelPlan
from tests.llm.scripted import Answer, Scripted

ROOM = load(PROMPTS, GENERATOR).max_tokens
CASE = Example(name="f", origin="task", call="f()", expected="2")
EDIT = "<<<<<<< SEARCH\n    return 1\n=======\n    return 1 + 1\n>>>>>>> REPLACE\n"
BAD_EDIT = EDIT.replace("return 1\n=", "return 3\n=")


def program(characters: int) -> str:
    """A program of so many characters, each of which is a token to the scripted model."""
    start = "def f():\n    return 1\n"
    return start + "#" * (characters - len(start) - 1) + "\n"


def whole(code: str) -> str:
    return f"```python\n{code}```\n"


def verdict(status: str) -> Verdict:
    return Verdict.model_validate({
        "name": "f", "test": "f", "origin": "task", "status": status, "integrity": "isolated",
        "message": "gives 1",
    })


@dataclass(frozen=True)
class Surroundings:
    """What a repair by a model needs of a context; a program passes that has no `return 1` left."""

    model: Scripted
    plan: ModelPlan
    task: Task
    prompts = Prompts(PROMPTS)
    seconds_left = 60.0
    settings = Settings()
    told: list[Event] = field(default_factory=list)
    verified: dict[str, Report] = field(default_factory=dict)

    def emit(self, event: Event) -> None:
        self.told.append(event)

    def log(self) -> tuple[LogEntry, ...]:
        return ()

    async def answerer(self, role: str, *, rules_only: bool = False) -> Scripted:
        return self.model

    async def judge(self, solution: Solution, tests: Sequence[TestCase]) -> Report:
        status = "failed" if "return 1\n" in solution.text else "passed"
        return Report(solution=solution.id, verdicts=(verdict(status),))


async def proposed(
    provider: str, text: str, *answers: str, approach: Approach = "minimal", place: int = 0,
    told: Sequence[str] = (),
) -> tuple[ModelRepair, list[str], list[Event]]:
    """What comes of asking for a repair, the questions, and what the user is told."""
    model = Scripted([Answer((said,)) for said in answers])
    found, told_user = await _tried(model, provider, text, approach, place, told)
    return found, [request.messages[-1].text for request in model.asked], told_user


async def sampled(
    text: str, *answers: str, is_second: bool = False, drafted: bool = False
) -> tuple[ModelRepair, list[Request]]:
    """What a small model's answers come to, and what it was asked."""
    model = Scripted([Answer((said,)) for said in answers])
    found, _ = await _tried(model, "llamacpp", text, "minimal", 0, (), is_second, drafted)
    return found, model.asked


async def _tried(
    model: Scripted, provider: str, text: str, approach: Approach, place: int, told: Sequence[str],
    is_second: bool = False, drafted: bool = False,
) -> tuple[ModelRepair, list[Event]]:
    solution = Solution(files=(File(path="f.py", text=text),), entry="f.py")
    task = Task(text="f gives two", solution=None if drafted else solution)
    here = Surroundings(
        model, ModelPlan(provider, "", (Choice(GENERATOR, provider, "m", ""),)), task
    )
    attempt = RepairInput(
        solution, (CASE,), Report(solution=solution.id, verdicts=(verdict("failed"),)),
        Diagnosis(category="wrong_result", cause="f() gives 1"), is_second_opinion=is_second,
    )
    given = cast(Context, here)  # only these fields are read
    return await attempt_repair(attempt, given, approach, told, place), here.told


def repaired(text: str) -> str:
    return text.replace("return 1\n", "return 1 + 1\n")


@pytest.mark.parametrize(("provider", "characters", "edits"), [
    ("anthropic", ROOM // 2, False),
    ("anthropic", ROOM // 2 + 1, True),
    ("anthropic", ROOM * 3, True),
    ("ollama", ROOM // 2 + 1, False),
    ("ollama", int(ROOM * 0.9), False),
])
async def test_a_small_program_is_asked_for(provider: str, characters: int, edits: bool) -> None:
    text = program(characters)
    answer = EDIT if edits else whole(repaired(text))
    proposal, (question,), _ = await proposed(provider, text, answer)
    assert ("SEARCH" in question) is edits
    assert proposal.solution is not None
    assert proposal.solution.text == repaired(text)


async def test_a_local_model_is_not_asked_for_what_its_answer_cannot_hold() -> None:
    proposal, asked, _ = await proposed("ollama", program(ROOM), whole("x = 1\n"))
    assert (proposal.solution, asked, proposal.is_models_fault) == (None, [], True)
    assert "100%" in proposal.fault and "ollama/m" in proposal.fault


async def test_after_bad_edits_the_whole_program_is_asked_for_where_it_fits() -> None:
    text = program(ROOM // 2 + 1)
    answers = (BAD_EDIT, BAD_EDIT, whole(repaired(text)))
    proposal, asked, told = await proposed("anthropic", text, *answers)
    assert ["SEARCH" in question for question in asked] == [True, False, False]
    assert proposal.solution is not None
    assert [one.kind for one in told] == ["notice"]


async def test_after_bad_edits_a_program_that_does_not_fit_is_not_asked_for() -> None:
    proposal, asked, told = await proposed("anthropic", program(ROOM), BAD_EDIT)
    assert (proposal.solution, len(asked), told, bool(proposal.fault)) == (None, 2, [], True)


async def test_a_repair_that_does_not_pass_says_how_and_the_next_question_shows_it() -> None:
    text = program(100)
    found, (first,), _ = await proposed("anthropic", text, whole(text + "# once\n"))
    assert found.report is not None
    assert ("0 of 1" in found.fault, found.report.passed) == (True, False)
    assert "# once" not in first
    _, (second,), _ = await proposed("anthropic", text, whole(repaired(text)), told=["+# once"])
    assert "+# once" in second


async def test_an_answer_without_a_change_is_reported() -> None:
    text = program(100)
    found, _, _ = await proposed("ollama", text, whole(text))
    assert (found.solution, bool(found.fault), found.is_models_fault) == (None, True, False)


async def test_a_small_model_is_asked_plainly_then_for_samples_until_one_passes() -> None:
    text = program(100)
    wrong = text.replace("return 1", "return 3 - 2 +  1 - 1\n    return 1")
    found, asked = await sampled(text, whole(wrong), whole(text), whole(repaired(text)))
    assert found.solution is not None
    assert found.report is not None
    assert (found.report.passed, found.by) == (True, "llamacpp/m")
    assert "`+ 1` in line 2" in found.solution.note and "llamacpp/m" in found.solution.note
    assert [(one.temperature, one.seed) for one in asked] == [(0.0, 0), (0.7, 1), (0.7, 2)]
    questions = [one.messages[-1].text for one in asked]
    assert questions[0] == questions[1] != questions[2], "the last is put in another form"
    assert [one.prefill is None for one in asked] == [False, False, True]


async def test_equal_samples_count_once() -> None:
    text = program(100)
    wrong = text.replace("return 1\n", "x = 2\n    return 1\n")
    found, asked = await sampled(text, *[whole(wrong)] * 4)
    assert len(asked) == 4
    assert found.solution is not None
    assert found.solution.text == wrong
    assert "0 of 1" in found.fault and found.candidates == 1


async def test_a_sample_in_a_wrong_form_is_followed_by_another() -> None:
    text = program(100)
    found, asked = await sampled(text, "I think", "No.", whole(repaired(text)))
    assert found.solution is not None
    assert [one.seed for one in asked] == [0, 0, 1]


async def test_a_second_opinion_is_one_answer() -> None:
    text = program(100)
    found, asked = await sampled(text, *[whole(text)] * 4, is_second=True)
    assert (len(asked), found.solution, bool(found.fault)) == (1, None, True)


async def test_beside_a_doubtful_repair_of_a_draft_other_drafts_are_asked_for() -> None:
    text = program(100)
    found, asked = await sampled(
        text, whole(text), whole(repaired(text)), is_second=True, drafted=True
    )
    assert [(one.temperature, one.seed) for one in asked] == [(0.7, 0), (0.7, 1)]
    assert all(text not in one.messages[-1].text for one in asked), "the draft is not shown"
    assert found.solution is not None
    assert found.solution.text == repaired(text)
    assert found.solution.estimate == draft_estimate()
