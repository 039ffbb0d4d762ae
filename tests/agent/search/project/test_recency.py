"""Suspicious functions of a project: recently changed ones, and those that tests covered."""

from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest

from agent.search.project.recency import UNCHANGED, changed_first, changed_lines
from agent.search.project.suite import Coverage
from agent.search.project.suspects import (
    CoveredTest,
    Suspect,
    named_statements,
    names_read,
    sibling_fields,
    suspects,
)
from agent.target.errors import BadInput

TEXT = "X = 1\n\n\ndef a():\n    return 1\n\n\ndef b():\n    return 2\n"


def git(root: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-C", str(root), "-c", "user.name=A", "-c", "user.email=a@b.c", *arguments],
        check=True, capture_output=True,
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    for text in (TEXT, TEXT.replace("return 1", "return 3")):
        (tmp_path / "below").mkdir(exist_ok=True)
        (tmp_path / "below/m.py").write_text(text)
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-q", "-m", "one")
    return tmp_path / "below"


def test_lines_that_differ_from_the_commit_are_found(root: Path) -> None:
    now = TEXT.replace("return 1", "return 3")

    def found(text: str, since: str = "") -> dict[str, tuple[int, ...]]:
        return changed_lines(root, {"m.py": text, "new.py": "x\n"}, ["m.py"], since)

    assert found(now) == {} and found(now, "HEAD~1") == {"m.py": (5,)}
    assert found(now.replace("return 2", "return 4\n    # more")) == {"m.py": (9, 10)}
    # What is gone was beside what is left.
    assert found(now.replace("X = 1\n", "")) == {"m.py": (1,)}
    assert changed_lines(root, {"new.py": "x\ny\n"}, ["new.py"]) == {"new.py": (1, 2)}


def test_ignored_files_did_not_change(root: Path) -> None:
    (root / ".gitignore").write_text("_version.py\n")
    for name in ("_version.py", "new.py"):
        (root / name).write_text("x\n")
    files = {"_version.py": "x\n", "new.py": "x\n"}
    assert changed_lines(root, files, [*files]) == {"new.py": (1,)}


def test_an_unknown_commit_is_refused_and_without_git_nothing_changed(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for since in ("nowhere", "--all", "HEAD:m.py"):
        with pytest.raises(BadInput, match=f"--since {since}"):
            changed_lines(root, {"m.py": TEXT}, ["m.py"], since)
    bare = tmp_path_factory.mktemp("no-git")
    assert changed_lines(bare, {"m.py": TEXT}, ["m.py"]) == {}


def test_functions_that_changed_come_before_others() -> None:
    files = {"m.py": TEXT, "n.py": TEXT}
    first, second = Suspect("m.py", 0.9, {4: 0.9, 8: 0.5}), Suspect("n.py", 0.8, {4: 0.8})
    assert changed_first([first, second], files, {}) == [first, second]
    assert changed_first([first, second], files, {"n.py": (5,)}) == [
        Suspect("n.py", 0.8, {4: 0.8}),
        Suspect("m.py", 0.9 * UNCHANGED, {4: 0.9 * UNCHANGED, 8: 0.5 * UNCHANGED}),
    ]
    # Lines at the top are nobody's, and the file's own suspicion keeps for them.
    (found,) = changed_first([first], files, {"m.py": (1,)})
    assert (found.suspicion, found.functions[8]) == (0.9, 0.5 * UNCHANGED)


TABLES = "class Rate:\n    pass\n\n\nRATES = {}\nSIGNS = {}\n"
READERS = "def rate(of):\n    return RATES[of]\n\n\ndef sign(of):\n    return SIGNS[of]\n"
FILES = {"tables.py": TABLES, "readers.py": READERS, "idle.py": "def idle():\n    pass\n"}


def seen(first_line: int, *asked: str) -> CoveredTest:
    return CoveredTest(Coverage({"readers.py": {first_line: 1}}), frozenset(asked))


def suspicions(failing: list[CoveredTest], passing: list[CoveredTest]) -> dict[str, float]:
    found = suspects(FILES, FILES, failing, passing)
    return {one.file: round(one.suspicion, 2) for one in found}


def test_code_that_others_read_is_suspicious_with_its_readers() -> None:
    assert suspicions([seen(1)], [seen(5)] * 3) == {"readers.py": 1.0, "tables.py": 0.9}
    assert suspicions([seen(1)], [seen(1)] * 3) == {"readers.py": 0.5, "tables.py": 0.45}

    named = suspicions([seen(1, "Rate")], [seen(1, "Rate")] * 8)
    assert named == {"readers.py": 0.33, "tables.py": 0.3}
    assert suspicions([seen(1, "Rate")], [seen(1)] * 8) == {"tables.py": 0.9, "readers.py": 0.33}


def test_inherited_fields_are_among_those_of_a_class() -> None:
    texts = (
        "class Late(Wrong):\n    def __init__(self, sent):\n        self.sent = sent\n",
        "class Wrong(Exception):\n    def __init__(self, said):\n        self.said = said\n",
        "no code (",
    )
    assert {*sibling_fields(texts)["said"]} == {"said", "sent"}
    assert "sent" not in sibling_fields(texts[1:])["said"]


def test_a_test_is_found_by_its_node_id() -> None:
    text = "class TestA:\n    def test_b(self):\n        go(RATES)\n\ndef test_c():\n    pass\n"
    found = named_statements(text)
    assert found.keys() == {"TestA", "TestA::test_b", "test_c"}
    assert names_read(ast.walk(found["TestA::test_b"])) == {"go", "RATES"}
    assert named_statements("no code (") == {}
