"""What the jail refused stands wherever a person reads how a program ended."""

from __future__ import annotations

from agent.core.domain import Ending, File, Report, Solution, Task
from agent.doors.library import HealResult
from agent.intake.failing.failures import classify
from agent.log.words import ending_words

NO_NETWORK = "the jail allows no network"
ENDING = Ending(
    kind="raised", exception="PermissionError", message="[Errno 13] Permission denied", line=2,
    traceback="PermissionError: [Errno 13] Permission denied\n", refused=(NO_NETWORK,),
)
SOLUTION = Solution(
    files=(File(path="a.py", text="import socket\nsocket.socket().connect(('h', 1))\n"),),
    entry="a.py",
)
REPORT = Report(solution=SOLUTION.id, ending=ENDING)


def test_every_interface_and_the_diagnosis_name_it_and_no_edit_can_help() -> None:
    found = classify(REPORT, Task(solution=SOLUTION))

    assert (found.category, found.fixable) == ("environment", False)
    for said in (
        ending_words(ENDING), HealResult(report=REPORT)["execution_error"], found.evidence[0]
    ):
        assert "PermissionError" in said and NO_NETWORK in said
    assert NO_NETWORK in found.cause


def test_a_refused_program_that_then_fails_otherwise_is_still_repaired() -> None:
    ending = ENDING.model_copy(update={"exception": "KeyError", "message": "'x'"})

    found = classify(REPORT.model_copy(update={"ending": ending}), Task(solution=SOLUTION))

    assert found.fixable
