from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.domain import Example, File, Fix, Lesson, Report, Solution, Verdict
from agent.memory import Memory, signature


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    memory = Memory(tmp_path / "memory.db")
    yield memory
    memory.close()


def program(text: str) -> Solution:
    return Solution(files=(File(path="p.py", text=text),), entry="p.py")


TEST = Example(name="t", origin="user", call="f(1)", expected="2")


def failing(message: str = "at 0x7f01: got 3") -> Report:
    verdict = Verdict(
        name="t", test="t", origin="user", status="failed", integrity="outside", message=message
    )
    return Report(solution="x", verdicts=(verdict,))


FIX = Fix(signature="s", before="a", after="b", proof="E1", note="n")


def test_a_signature_ignores_layout_comments_and_addresses() -> None:
    first = signature(program("def f(x):\n    return x\n"), (TEST,), failing())
    second = signature(
        program("def f(x):  # same\n\n    return (x)\n"), (TEST,), failing("at 0x8e22: got 44")
    )
    assert first == second


@pytest.mark.parametrize(
    ("text", "test", "report"),
    [
        ("def f(x):\n    return x + 1\n", TEST, failing()),
        ("def f(x):\n    return x\n", TEST.model_copy(update={"expected": "3"}), failing()),
        ("def f(x):\n    return x\n", TEST, failing("raised")),
    ],
)
def test_another_program_test_or_failure_has_another_signature(
    text: str, test: Example, report: Report
) -> None:
    base = signature(program("def f(x):\n    return x\n"), (TEST,), failing())
    assert signature(program(text), (test,), report) != base


def test_a_program_that_does_not_parse_has_a_signature_by_its_text() -> None:
    one, two = program("def f(:\n"), program("def f(\n")
    assert signature(one, (), failing()) != signature(two, (), failing())


def test_a_remembered_fix_is_found_by_its_signature_alone(memory: Memory) -> None:
    memory.remember(FIX)
    assert [hit.fix for hit in memory.recall("s")] == [FIX]
    assert memory.recall("other") == ()


def test_a_fix_that_fails_its_replay_is_no_longer_offered(memory: Memory) -> None:
    memory.remember(FIX)
    memory.credit(FIX, helped=False)
    assert memory.recall("s") == ()


def test_the_fix_with_the_better_record_comes_first(memory: Memory) -> None:
    other = FIX.model_copy(update={"after": "c"})
    memory.remember(FIX)
    memory.remember(other)
    memory.credit(other, helped=True)
    assert [hit.fix.after for hit in memory.recall("s")] == ["c", "b"]


def test_a_lesson_is_kept_once(memory: Memory) -> None:
    memory.learn(Lesson(text="a", category="crash"))
    memory.learn(Lesson(text="a", category="crash"))
    assert memory.lessons("crash") == (Lesson(text="a", category="crash"),)
    assert memory.lessons("name") == ()
