"""Fixes and lessons of projects: whom they are offered, and in which files."""

from __future__ import annotations

import pytest

from agent.core import domain as d
from agent.core.domain import File, Project, Solution
from agent.memory import Fix, Memory, applicable_fixes, failure_of, project_key
from agent.memory.exchange import exported
from agent.memory.fixes import project_origin
from agent.memory.hub import LESSONS, _own

ONE, OTHER = (Project(root=f"/src/{name}", name=name) for name in ("one", "other"))
A = "def f(a, b):\n    return a + b\n"
B = "def g(a):\n    if a > 1:\n        return a\n    return 0\n"
MENDED_A, MENDED_B = A.replace("+", "-"), B.replace(">", ">=")


def program(**texts: str) -> Solution:
    files = {"a.py": A, "b.py": B, "c.py": "", **{f"{one}.py": texts[one] for one in texts}}
    return Solution(files=tuple(File(path=p, text=t) for p, t in files.items()), entry="a.py")


def report(message: str = "assert 3 == -1", status: d.Status = "failed") -> d.Report:
    return d.Report(solution="s", verdicts=(
        d.Verdict(name="t.py::t", test="t", origin="user", status=status, message=message),
    ))


def remembered(memory: Memory) -> None:
    """Keeps a fix of two files of the project `one`."""
    others = (d.FileChange(path="b.py", before=B, after=MENDED_B),)
    fix = Fix.create(
        failure_of(program(), (), report(), ONE), A, MENDED_A, "E1", "mended",
        project=project_key(ONE), path="a.py", others=others,
    )
    assert fix is not None
    memory.remember(fix)


def offered(memory: Memory, base: Solution, project: Project = ONE, said: str = "") -> list[
    dict[str, str]
]:
    failure = failure_of(base, (), report(said) if said else report(), project)
    return [
        {file.path: file.text for file in offer.solution.files}
        for offer in applicable_fixes(memory, failure, base, project)
    ]


def test_a_projects_fix_is_made_again_in_its_files_as_they_are_now(memory: Memory) -> None:
    remembered(memory)
    now = program(c="x = 1\n", b=f"# limits\n\n\ndef h():\n    return 1\n\n\n{B}")
    assert offered(memory, now) == [{
        "a.py": MENDED_A, "b.py": f"# limits\n\n\ndef h():\n    return 1\n\n\n{MENDED_B}",
        "c.py": "x = 1\n",
    }]


def test_one_of_another_failure_only_where_the_files_are_what_they_were(memory: Memory) -> None:
    remembered(memory)
    other = "assert 4 == 'x'"
    commented = program(a=f"# sums\n{A}")
    assert [one["a.py"] for one in offered(memory, commented, said=other)] == [
        f"# sums\n{MENDED_A}"
    ]
    assert offered(memory, program(b=f"{B}\n\ndef h():\n    return 1\n"), said=other) == []


def test_it_is_offered_to_no_other_project_or_program(memory: Memory) -> None:
    remembered(memory)
    assert offered(memory, program(), OTHER) == []
    alone = Solution(files=(File(path="a.py", text=A),), entry="a.py")
    assert [*applicable_fixes(memory, failure_of(alone, (), report()), alone)] == []
    assert (exported(memory).fixes, exported(memory).held_back) == (0, 1)


@pytest.mark.parametrize("gone", ["a.py", "b.py"])
def test_without_one_of_its_files_it_is_not_offered(memory: Memory, gone: str) -> None:
    remembered(memory)
    base = program()
    left = tuple(file for file in base.files if file.path != gone)
    assert offered(memory, base.model_copy(update={"files": left, "entry": left[0].path})) == []


def test_a_fix_whose_replay_failed_is_not_offered_again(memory: Memory) -> None:
    remembered(memory)
    memory.credit(memory.fixes()[0], helped=False)
    assert offered(memory, program()) == []


def test_a_lesson_of_a_project_stays_on_this_machine(memory: Memory) -> None:
    lesson = d.Lesson(text="mind the rounding of shares", category="wrong_result")
    memory.learn(lesson, origin=project_origin(ONE.root))
    assert exported(memory).lessons == 0 and _own(memory, LESSONS) == []
