"""Sharing lessons, by the Hub's real client against a server of our own."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agent.core.domain import Lesson
from agent.interfaces.terminal.cli import app
from agent.memory import FailureDescription, Memory
from agent.memory.hub import Dataset, HubFault, sync, without_code
from tests.agent.memory.conftest import Making

pytest.importorskip("huggingface_hub")

HEADER = '{"kind": "heal-memory", "version": 5}\n'
SIGNATURE = "0123456789abcdef"


def place(hub: Any, **changes: str) -> Dataset:
    return Dataset(**{"repo": hub.repo, "token": hub.token, "endpoint": hub.url, **changes})


def line(text: str) -> str:
    return json.dumps({"kind": "lesson", "text": text, "category": "crash"}) + "\n"


def texts(memory: Memory) -> set[str]:
    return {row.lesson.text for row in memory.lessons()}


def test_lessons_go_out_without_code_and_come_back_to_others(
    hub: Any, memory: Memory, fix: Making, tmp_path: Path
) -> None:
    memory.remember(fix(SIGNATURE))
    memory.learn(Lesson(text="total(3, secret_rate) gives 7: `+` → `-`", category="crash"))
    done = sync(memory, place(hub))
    assert (done.lessons, done.fixes, hub.commits) == (1, 0, 1)
    assert hub.files == {"lessons.jsonl": HEADER + json.dumps(
        {"kind": "lesson", "text": "… gives …: … → …", "category": "crash"}
    ) + "\n"}

    other = Memory(tmp_path / "other.db")
    assert sync(other, place(hub)).pulled.lessons == 1
    (row,) = other.lessons()
    assert hub.repo in row.origin
    assert sync(other, place(hub)).lessons == 0  # what came from there does not go back
    other.close()

    again = sync(memory, place(hub))
    assert (again.lessons, again.pulled.lessons, hub.commits) == (0, 0, 1)
    assert len(memory.lessons()) == 1


def test_fixes_go_out_only_when_asked_for_and_come_in_untrusted(
    hub: Any, memory: Memory, fix: Making, tmp_path: Path
) -> None:
    memory.remember(fix(SIGNATURE))
    done = sync(memory, place(hub), with_fixes=True)
    assert (done.fixes, "return a - b" in hub.files["fixes.jsonl"]) == (1, True)
    other = Memory(tmp_path / "other.db")
    assert sync(other, place(hub)).pulled.fixes == 0
    assert sync(other, place(hub), with_fixes=True).pulled.fixes == 1
    assert not other.fixes()[0].trusted
    other.close()


def test_a_dataset_that_is_not_there_is_made_private(hub: Any, memory: Memory) -> None:
    hub.exists = False
    memory.learn(Lesson(text="guard the index", category="crash"))
    assert sync(memory, place(hub)).lessons == 1
    assert hub.made["visibility"] == "private"
    assert hub.made["type"] == "dataset"


def test_lines_of_others_are_kept_and_bounded_on_import(hub: Any, memory: Memory) -> None:
    theirs = HEADER + line("mind\x1b[31m the gap") + line("x" * 700) + "not json\n"
    hub.add("lessons.jsonl", theirs)
    memory.learn(Lesson(text="guard\n  the index", category="crash"))
    done = sync(memory, place(hub))
    assert texts(memory) == {"mind[31m the gap", "guard\n  the index"}
    assert (done.pulled.lessons, done.lessons) == (1, 1)
    assert hub.files["lessons.jsonl"] == theirs + line("guard the index")
    # One of several lines is shared once, and a pulled one is found like any other.
    assert sync(memory, place(hub)).lessons == 0
    assert len(memory.lessons_for(FailureDescription(message="mind the gap"))) == 1


def test_a_push_that_comes_between_loses_nothing(hub: Any, memory: Memory) -> None:
    memory.learn(Lesson(text="guard the index", category="crash"))

    def meanwhile() -> None:
        hub.before_commit = lambda: None
        hub.add("lessons.jsonl", HEADER + line("close the file"))

    hub.before_commit = meanwhile
    sync(memory, place(hub))
    assert hub.files["lessons.jsonl"] == HEADER + line("close the file") + line("guard the index")
    assert "close the file" in texts(memory)


def test_endless_contention_is_a_fault(hub: Any, memory: Memory) -> None:
    memory.learn(Lesson(text="guard the index", category="crash"))
    hub.before_commit = lambda: hub.add("other", str(hub.commits))
    with pytest.raises(HubFault):
        sync(memory, place(hub))


@pytest.mark.parametrize("content", ["hello\n", "x" * 5_000_001])
def test_an_unknown_shared_file_is_kept(hub: Any, memory: Memory, content: str) -> None:
    hub.add("lessons.jsonl", content)
    memory.learn(Lesson(text="guard the index", category="crash"))
    with pytest.raises(HubFault):
        sync(memory, place(hub))
    assert (hub.files, hub.commits) == ({"lessons.jsonl": content}, 1)


@pytest.mark.parametrize("change", [
    {"token": "hf_" + "wr0ng" * 5}, {"repo": "not a name"}, {"endpoint": "http://127.0.0.1:9"},
])
def test_a_fault_of_the_hub_never_shows_the_token(
    hub: Any, memory: Memory, caplog: pytest.LogCaptureFixture, change: dict[str, str]
) -> None:
    memory.learn(Lesson(text="guard the index", category="crash"))
    where = place(hub, **change)
    with caplog.at_level(logging.DEBUG), pytest.raises(HubFault) as caught:
        sync(memory, where)
    assert where.token not in str(caught.value) + repr(caught.value) + caplog.text
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def test_a_missing_client_is_reported(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(HubFault, match=r"\[hub\]"):
        sync(memory, Dataset("anna/lessons", "hf_x"))


@pytest.mark.parametrize(("text", "words"), [
    ("guard the index of a list", "guard the index of a list"),
    ("f(3, g(my_total)) gave [3.5, 'Anna'] for \"x\"", "… gave […, …] for …"),
    ("it doesn't end and can't", "it doesn't end and can't"),
])
def test_code_values_and_numbers_are_taken_out_of_a_lesson(text: str, words: str) -> None:
    assert without_code(text) == words


def test_the_command_shares_and_says_so(
    hub: Any, memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.learn(Lesson(text="guard the index", category="crash"))
    for name, value in {
        "HEAL_DATA_DIR": str(tmp_path), "HF_TOKEN": hub.token, "HF_LESSONS_REPO": hub.repo,
        "HF_ENDPOINT": hub.url,
    }.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    first = CliRunner().invoke(app, ["memory", "sync"])
    assert (first.exit_code, hub.commits) == (0, 1)
    assert "1 lesson" in first.stderr
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    second = CliRunner().invoke(app, ["memory", "sync", "--json"])
    assert second.exit_code == 2
    assert hub.repo in json.loads(second.stdout)["reason"] and hub.commits == 1
    assert "hf_wrong" not in second.output
