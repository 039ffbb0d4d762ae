"""`heal memory`, on a real file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from agent.core.domain import Lesson
from agent.interfaces.terminal.cli import app
from agent.memory import FailureKey, Fix, Memory
from tests.agent.interfaces.conftest import a_line_has

BEFORE = "def f(a, b):\n    return a + b\n"
FAILURE = FailureKey(
    signature="0123456789abcdef", exception="wrong result", shape="failed",
    passed="0 of 2 tests pass",
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("HF_TOKEN", "HF_LESSONS_REPO", "HF_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HEAL_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    """A fix, 1, and a lesson, L1."""
    memory = Memory(folder / "memory.db")
    memory.remember(Fix(
        failure=FAILURE, before=BEFORE, after=BEFORE.replace("+", "-"), proof="E2",
        note="changed + to -",
    ))
    memory.learn(Lesson(text="subtract what is taken away", category="wrong_result"))
    yield memory
    memory.close()


def invoke(*arguments: object, given: str = "") -> Result:
    return CliRunner().invoke(app, ["memory", *map(str, arguments)], input=given)


def data(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_syntax_error_hides_its_file_name(memory: Memory) -> None:
    message = "expected '…' (solution.py, line #)"
    memory.remember(Fix(
        failure=FAILURE.model_copy(update={
            "signature": "0123456789abcde0", "exception": "SyntaxError", "message": message,
        }),
        before="def f()\n    return 1\n", after="def f():\n    return 1\n", proof="E1", note="n",
    ))
    for shown in (invoke("list").output, invoke("show", 2).output):
        assert "SyntaxError: expected '…'" in shown
        assert "solution.py" not in shown


def test_an_empty_memory_says_so(folder: Path) -> None:
    result = invoke("list")
    assert (result.exit_code, result.stdout, bool(result.stderr)) == (0, "", True)


def test_list_shows_fixes_and_lessons_with_their_record(memory: Memory) -> None:
    memory.credit(memory.fixes()[0], helped=True)
    shown = invoke("list").stdout
    assert a_line_has(shown, 1, "E2", "1 of 1") and a_line_has(shown, "L1", "subtract")
    found = data(invoke("list", "--json"))
    assert (found["fixes"][0]["successes"], found["lessons"][0]["id"]) == (1, "L1")


def test_show_gives_the_facts_and_the_patch(memory: Memory) -> None:
    result = invoke("show", 1)
    assert a_line_has(result.stderr, "0 of 2", "E2")
    assert "-    return a + b\n+    return a - b\n" in result.stdout
    assert data(invoke("show", 1, "--json"))["before"] == BEFORE
    assert invoke("show", "l1").stdout == "subtract what is taken away\n"


def test_forget_drops_what_is_named_and_nothing_where_one_is_unknown(memory: Memory) -> None:
    result = invoke("forget", 1, "L9")
    assert (result.exit_code, len(memory.fixes())) == (2, 1)
    assert "L9" in result.stderr
    assert invoke("forget", 1).exit_code == 0
    assert (memory.fixes(), len(memory.lessons())) == ((), 1)


@pytest.mark.parametrize("arguments", [(), ("1", "--all")])
def test_forget_wants_names_or_all(memory: Memory, arguments: tuple[str, ...]) -> None:
    assert invoke("forget", *arguments).exit_code == 2
    assert len(memory.fixes()) == 1


def test_forgetting_everything_asks_first(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    assert invoke("forget", "--all").exit_code == 2  # there is no one to ask
    monkeypatch.setattr(
        "agent.interfaces.terminal.memory.cli._confirmed", lambda display, question: False
    )
    assert (invoke("forget", "--all").exit_code, len(memory.fixes())) == (1, 1)
    assert invoke("forget", "--all", "--yes").exit_code == 0
    assert (memory.fixes(), memory.lessons()) == ((), ())


def test_an_export_is_imported_again(memory: Memory, folder: Path) -> None:
    assert data(invoke("export", "out.jsonl", "--json")) == {
        "fixes": 1, "lessons": 1, "held_back": 0
    }
    assert invoke("export", "out.jsonl").exit_code == 2  # nothing is overwritten
    assert invoke("export", "-").stdout == (folder / "out.jsonl").read_text()
    memory.forget_all()
    assert data(invoke("import", "out.jsonl", "--json")) == {
        "fixes": 1, "lessons": 1, "known": 0, "trusted": 0, "refused": []
    }
    assert memory.fixes()[0].origin == "imported from out.jsonl"
    again = data(invoke("import", "out.jsonl", "--json"))
    assert (again["fixes"], again["lessons"], again["known"]) == (0, 0, 2)
    trusted = data(invoke("import", "out.jsonl", "--trust", "--json"))
    assert (trusted["fixes"], trusted["known"], trusted["trusted"]) == (0, 1, 1)


def test_an_import_tells_what_it_refuses(folder: Path, memory: Memory) -> None:
    text = invoke("export", "-").stdout + '{"kind": "fix"}\n'
    (folder / "odd.jsonl").write_text(text)
    result = invoke("import", "odd.jsonl")
    assert (result.exit_code, a_line_has(result.stderr, "line 4")) == (2, True)


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"hello\n"])
def test_a_file_that_cannot_be_imported_is_a_sentence(folder: Path, content: bytes | None) -> None:
    if content is not None:
        (folder / "in.jsonl").write_bytes(content)
    result = invoke("import", "in.jsonl")
    assert (result.exit_code, "in.jsonl" in result.stderr) == (2, True)
    assert "Traceback" not in result.stderr


def test_a_memory_that_is_broken_or_cannot_be_opened_is_a_sentence(folder: Path) -> None:
    (folder / "memory.db").write_bytes(b"no database " * 999)
    broken = invoke("list")
    assert broken.exit_code == 0
    assert "memory.db.broken-" in broken.stderr.replace("\n", "")
    (folder / "memory.db").unlink()
    (folder / "memory.db").mkdir()
    unopened = invoke("list")
    assert (unopened.exit_code, "memory.db" in unopened.stderr.replace("\n", "")) == (2, True)


@pytest.mark.parametrize("given", [{}, {"HF_TOKEN": "hf_secret"}])
def test_sharing_without_its_settings_says_which_and_how(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str]
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    result = invoke("sync")
    assert result.exit_code == 2
    assert "HF_LESSONS_REPO" in result.stderr and "settings/tokens" in result.stderr
    assert "hf_secret" not in result.output
