from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from agent.core.domain import Lesson
from agent.memory import FailureDescription, Memory, fixes
from agent.memory.exchange import MAX_LINES, BadExchange, Imported, exported, import_lines
from agent.memory.fixes import MAX_MATCHES, StoredFix
from tests.agent.memory.conftest import Making

SIGNATURE = "0123456789abcdef"
HEADER = '{"kind": "heal-memory", "version": 5}'


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def as_line(**changes: object) -> str:
    fields = {
        "kind": "fix", "signature": SIGNATURE, "exception": "wrong result", "proof": "E1",
        "before": "def f(a, b):\n    return a + b\n", "after": "def f(a, b):\n    return a - b\n",
    }
    return json.dumps({**fields, **changes})


def test_exports_are_portable(memory: Memory, fix: Making, tmp_path: Path) -> None:
    memory.remember(fix(SIGNATURE))
    header, line = lines(exported(memory).text)
    assert header == {"kind": "heal-memory", "version": 5}
    assert line.keys() == {
        "kind", "signature", "exception", "message", "place", "shape", "passed", "note", "proof",
        "standing", "confidence", "successes", "failures", "before", "after",
    }

    memory.credit(memory.fixes()[0], helped=True)
    memory.learn(Lesson(text="guard the index", category="crash"), FailureDescription())
    out = exported(memory)
    other = Memory(tmp_path / "other.db")
    found = import_lines(other, out.text, "friends.jsonl", trusted=True)
    assert (found, exported(other).text) == (Imported(fixes=1, lessons=1), out.text)
    assert import_lines(other, out.text, "x").known == 2
    other.close()


@pytest.mark.parametrize("standing", ["unknown", "open", "settled"])
def test_an_untrusted_fix_becomes_trusted_on_request(memory: Memory, standing: str) -> None:
    text = f"{HEADER}\n{as_line(standing=standing, successes=3, failures=1)}"
    assert import_lines(memory, text, "x").fixes == 1
    memory.credit(memory.fixes()[0], helped=True)
    assert import_lines(memory, text, "x", trusted=True) == Imported(trusted=1)
    assert import_lines(memory, text, "x", trusted=True) == Imported(known=1)
    (known,) = memory.fixes()
    assert (known.trusted, known.fix.competition) == (True, standing)
    assert (known.successes, known.failures) == (4, 1)
    assert import_lines(memory, text, "x") == Imported(known=1)
    assert memory.fixes() == (known,)


@pytest.mark.parametrize("secret", [
    "key = 'hf_" + "a" * 24 + "'", "password = 'correct-horse'", "open('/" + "home/anna/x')",
    "# -----BEGIN RSA PRIVATE KEY-----", "open('C:\\\\Users\\\\anna')",
])
def test_keys_and_home_folders_are_not_shared(memory: Memory, fix: Making, secret: str) -> None:
    before = f"def f(a, b):\n    return a + b\n\n\n{secret}\n"
    memory.remember(fix(SIGNATURE, before=before, after=before.replace("+", "-")))
    memory.learn(Lesson(text=f"set {secret}"))
    out = exported(memory)
    assert (out.fixes, out.lessons, out.held_back, lines(out.text)[1:]) == (0, 0, 2, [])


def test_an_edited_export_is_taken_in(memory: Memory, fix: Making) -> None:
    memory.remember(fix(SIGNATURE))
    edited = exported(memory).text.replace("changed + to -", "subtract")
    # It does not change what was learned here.
    assert import_lines(memory, edited, "x").known == 1
    assert memory.fixes()[0].fix.note == "changed + to -"
    memory.forget_all()
    assert import_lines(memory, edited, "mine.jsonl").fixes == 1
    (known,) = memory.fixes()
    assert (known.fix.note, known.trusted) == ("subtract", False)
    assert "mine.jsonl" in known.origin


@pytest.mark.parametrize(("version", "told", "trusted", "taken"), [
    ("5", "open", False, "open"), ("5", "open", True, "open"), ("5", "settled", True, "settled"),
    ("5", "settled", False, "unknown"), ("5", "unknown", False, "unknown"),
    ("2", None, False, "unknown"),
])
def test_what_is_said_of_other_repairs_and_the_record_are_believed_only_of_those_who_are_trusted(
    memory: Memory, version: str, told: str | None, trusted: bool, taken: str
) -> None:
    fields = {} if told is None else {"standing": told, "successes": 70}
    header = HEADER.replace("5", version)
    assert import_lines(memory, f"{header}\n{as_line(**fields)}\n", "a", trusted=trusted).fixes == 1
    (known,) = memory.fixes()
    assert (known.fix.competition, known.successes) == (taken, 70 if trusted else 0)


@pytest.mark.parametrize(("line", "field"), [
    ("not json", ""), ('{"kind": "other"}', ""), (as_line(signature="../../etc"), "signature"),
    (as_line(proof="E9"), "proof"), (as_line(extra=1), "extra"),
    (as_line(successes=-1), "successes"), (as_line(before=["x"]), "before"),
    (as_line(before="x" * 200_001), "before"), (as_line(note="x" * 1_001), "note"),
    (as_line(after="import os\n"), ""), (as_line(after="def f(a, b):\n    return a + b\n"), ""),
    ('{"kind": "lesson", "text": "' + "x" * 601 + '"}', "text"),
    ('{"kind": "lesson", "text": ""}', "text"),
])
def test_an_invalid_line_is_refused_alone(memory: Memory, line: str, field: str) -> None:
    found = import_lines(memory, f"{HEADER}\n{line}\n{as_line()}\n", "x")
    assert (found.fixes, len(found.refused)) == (1, 1)
    assert field in found.refused[0] and "line 2" in found.refused[0]


@pytest.mark.parametrize("text", [
    "", as_line(), '{"kind": "heal-memory", "version": 6}',
    "\n".join([HEADER, *["{}"] * (MAX_LINES + 1)]), HEADER + " " * 20_000_000,
])
def test_a_file_that_is_no_export_or_too_large_is_refused_whole(memory: Memory, text: str) -> None:
    with pytest.raises(BadExchange):
        import_lines(memory, text, "x")
    assert memory.fixes() == ()


def test_words_from_elsewhere_cannot_move_a_cursor(memory: Memory) -> None:
    hostile = "red\x1b[31m\u202e\nnext"
    text = "\n".join([
        HEADER, as_line(note=hostile, exception=hostile),
        json.dumps({"kind": "lesson", "text": hostile}),
    ])
    import_lines(memory, text, "na\x1bme\n")
    (known,), (row,) = memory.fixes(), memory.lessons()
    shown = [known.fix.note, known.fix.failure.exception, known.origin, row.lesson.text, row.origin]
    assert all(word.isprintable() for word in shown)
    assert row.lesson.text == "red[31m next"


def test_an_import_skips_known_lines(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    read = 0

    def counting(row: sqlite3.Row) -> StoredFix | None:
        nonlocal read
        read += 1
        return remembered(row)

    remembered = fixes._read_fix
    monkeypatch.setattr(fixes, "_read_fix", counting)
    monkeypatch.setattr(Memory, "lessons", None)
    after = "def f(a, b):\n    return a - b - {}\n"
    told = [as_line(after=after.format(number)) for number in range(50)]
    told += [json.dumps({"kind": "lesson", "text": f"lesson {number}"}) for number in range(50)]
    text = "\n".join([HEADER, *told])
    assert import_lines(memory, text, "x") == Imported(fixes=50, lessons=50)
    assert import_lines(memory, text, "x") == Imported(known=100)
    assert read == 50


def test_of_very_many_fixes_of_one_failure_few_are_looked_at(memory: Memory) -> None:
    after = "def f(a, b):\n    return a - b - {}\n"
    text = "\n".join([HEADER, *(as_line(after=after.format(number)) for number in range(60))])
    import_lines(memory, text, "x")
    assert len(memory.exact(memory.fixes()[0].fix.failure)) == MAX_MATCHES
