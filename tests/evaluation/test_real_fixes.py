"""Small fixes are found in a history, validated in the jail, undone, healed and judged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.mining import BadRepository, changed_lines, changes_code, fixes_of_history, kind_of
from evaluation.real_fixes import FixRow, main, table

WRONG = "def area(width, height):\n    return width + height\n"
RIGHT = WRONG.replace("+", "*")
CHECK = (
    "from shapes import area\n\n\ndef test_area():\n    assert area(2, 3) == 6\n\n\n"
    "def test_line():\n    assert area(1, 5) == 5\n\n\ndef test_point():\n"
    "    assert area(0, 4) == 0\n"
)


def git(root: Path, *arguments: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@localhost", *arguments], cwd=root,
        check=True, capture_output=True,
    )


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A history with one small fix, one change of a comment and one change without tests."""
    root = tmp_path / "shapes"
    root.mkdir()
    git(root, "init", "-q")
    for message, files in (
        ("Add shapes", {"shapes.py": WRONG, "pytest.ini": "[pytest]\n"}),
        ("Fix the area", {"shapes.py": RIGHT, "test_shapes.py": CHECK}),
        ("Add a comment", {"shapes.py": f"# Plane.\n{RIGHT}", "test_shapes.py": f"{CHECK}\n"}),
        ("Change without a test", {"shapes.py": RIGHT.replace("height)", "height=1)")}),
    ):
        for name, text in files.items():
            (root / name).write_text(text, "utf-8")
        git(root, "add", "-A")
        git(root, "commit", "-qm", message)
    return root


def test_only_small_fixes_with_tests_are_found(repository: Path) -> None:
    (fix,) = fixes_of_history(str(repository), newest=10, most_lines=4)

    assert (fix.before, fix.after) == ({"shapes.py": WRONG}, {"shapes.py": RIGHT})
    assert (fix.tests, fix.lines, fix.kind) == (("test_shapes.py",), 1, "operator")
    assert not [*fixes_of_history(str(repository), newest=10, most_lines=0)]
    with pytest.raises(BadRepository, match="git clone"):
        next(fixes_of_history(str(repository / "missing"), 10, 4))


@pytest.mark.parametrize(("before", "after", "kind"), [
    ("x = f(a)\n", "x = f(b)\n", "wrong name"),
    ("x = f(a)\n", "x = f(a, b)\n", "call argument"),
    ("x = 1\n", "x = 2\n", "number"),
    ("x = re.match('a', b)\n", "x = re.match('a+', b)\n", "text or pattern"),
    ("x = {1: 2, 3: 4, 5: 6}\n", "x = {1: 2, 3: 4, 5: 7}\n", "data entry"),
    ("if a > b:\n    c()\n", "if a > b and d:\n    c()\n", "condition"),
    ("a()\n", "if not x:\n    return\na()\n", "guard"),
    ("a()\n", "a()\nif x:\n    b()\n", "new branch"),
    ("try:\n    a()\nexcept A:\n    pass\n", "try:\n    a()\nexcept B:\n    pass\n",
     "exception type"),
    ("a()\nb()\n", "a()\n", "statement dropped"),
    ("a()\n", "import b\na()\n", "import"),
    ("x = a + b * c\n", "x = (a + b) * c\n", "grouping"),
])
def test_a_fix_is_named_by_what_it_changes(before: str, after: str, kind: str) -> None:
    assert kind_of(before, after) == kind


def test_comments_and_docstrings_are_no_change_of_code() -> None:
    assert not changes_code('def f():\n    "A."\n    return 1  # a\n', "def f():\n    return 1\n")
    assert not changes_code("x = 1\n", "x = (\n")
    assert changed_lines("a\nb\n\n# c\n", "a\nd\ne\n# f\n") == 2


@pytest.mark.nightly
def test_a_fix_is_undone_healed_and_judged(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    python = out / "environments" / "shapes" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)

    assert main(["--repo", str(repository), "--out", str(out), "--newest", "10"]) == 0
    first = capsys.readouterr().out
    assert "+    return width * height" in first and "-    return width + height" in first
    assert main(["--repo", str(repository), "--out", str(out), "--newest", "10"]) == 0
    assert capsys.readouterr().out.splitlines() == first.splitlines()[-3:]  # nothing is run again


def test_the_table_counts_false_claims() -> None:
    row = FixRow(
        id="a", kind="guard", status="healed", claimed=True, shown=True, passes=False, same=False,
        confidence=0.95, seconds=3.0, candidates=9, diff="d", fix="f", note="",
    )
    *_, last = table([row, FixRow(**{**row, "id": "b", "passes": True, "seconds": 5.0})])
    assert last.split() == ["all", "2", "2", "1", "0", "2", "1", "4.0"]
