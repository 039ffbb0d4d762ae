"""Which tests are meant, what is said of a project, and its reports, without a run."""

from __future__ import annotations

import json
import os
import subprocess
from io import StringIO
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from agent.core.domain import Report, SuspectFile, SuspectFunction, Verdict
from agent.interfaces.project.display import judged_words
from agent.interfaces.project.reports import junit
from agent.interfaces.project.selection import (
    chosen,
    is_below,
    likely_failing_files,
    names_project,
    project_around,
    to_node_id,
)
from agent.interfaces.request import HealRequest
from agent.interfaces.terminal.display import Terminal, evidence_words
from agent.report.result import Result
from agent.target.errors import BadInput
from agent.target.repository.layout import find_layout
from agent.verify.project.suite_run import SuiteRun, verdicts
from tests.agent.interfaces.conftest import a_line_has
from tests.agent.search.project.small_project import PROJECT, laid, scripts

MONEY = "src/till/money.py"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return laid(tmp_path)


def verdict(name: str, status: str, message: str = "", **more: object) -> Verdict:
    return Verdict(
        name=name, test=name, origin="user", status=status, message=message,
        integrity="in-process" if status == "passed" else None, **more,
    )


# What was asked for.


def test_what_was_asked_for_is_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert names_project(".") and names_project("tests") and names_project("tests/test_money.py")
    assert names_project("tests/test_money.py::test_total")
    assert not names_project(MONEY) and not names_project("tests/conftest.py")
    assert not names_project("test_gone.py")

    inputs = HealRequest(".", ["tests", "--deselect", "tests/test_money.py::test_total"])
    assert inputs.nodes == ["tests"]
    assert inputs.arguments == ["--deselect", "tests/test_money.py::test_total"]
    inputs = HealRequest("tests/test_money.py", ["a.py::b"])
    assert inputs.nodes == ["tests/test_money.py", "a.py::b"]

    monkeypatch.chdir(root / "tests")
    layout = find_layout(Path("."))
    assert to_node_id("test_money.py::Cases", layout) == "tests/test_money.py::Cases"
    assert to_node_id("..", layout) == "" and to_node_id(".", layout) == "tests"
    assert project_around(root / "src/till") == root


@pytest.mark.parametrize(("name", "below"), [
    ("", True), ("tests", True), ("tests/test_a.py", True), ("tests/test_a.py::A", True),
    ("tests/test_a.py::A::test_b", True), ("tests/test_a.py::A::test_b[1]", True),
    ("tests/test", False), ("tests/test_a.py::A::test", False), ("tests/test_a.py::B", False),
])
def test_a_name_means_what_lies_below_it(name: str, below: bool) -> None:
    assert is_below("tests/test_a.py::A::test_b[1]", name) is below


def test_of_the_failing_tests_those_are_taken_that_were_named(root: Path) -> None:
    layout = find_layout(root)
    collected = ["tests/a.py::x", "tests/a.py::y", "tests/b.py::z"]
    failing = ["tests/a.py::y", "tests/b.py::z"]

    def named(*nodes: str, **more: object) -> list[str]:
        return chosen(failing, collected, HealRequest(str(root), nodes, **more), layout)

    assert named() == failing
    assert named("tests/a.py") == ["tests/a.py::y"] and named("tests/a.py::x") == []
    with pytest.raises(BadInput, match=r"tests/c\.py"):
        named("tests/c.py")
    cache = root / ".pytest_cache/v/cache"
    cache.mkdir(parents=True)
    # A file that could not be collected stands there as a whole.
    for failed, expected in (("tests/b.py", failing[1:]), (failing[0], failing[:1])):
        (cache / "lastfailed").write_text(json.dumps({failed: True}))
        assert named(last_failed=True) == expected
    (cache / "lastfailed").write_text("{")
    with pytest.raises(BadInput, match="lastfailed"):
        named(last_failed=True)


# What the suite showed.


def test_a_suite_that_lost_tests_does_not_pass() -> None:
    rest = scripts([])
    run = SuiteRun(outcomes={"a": {"status": "passed"}}, problems=["b ends its process"])
    found = {one.name: (one.status, one.message) for one in verdicts(run, rest, PROJECT)}
    assert found == {"a": ("passed", ""), "the rest of the suite": ("error", run.problems[0])}

    project = PROJECT.model_copy(update={"tests": ("a", "b", "c")})
    run = SuiteRun(outcomes={"a": {"status": "passed"}})
    found = [(one.name, one.status) for one in verdicts(run, scripts(["b"]), project)]
    assert found == [("a", "passed"), ("b", "error"), ("c", "error")]


# What is said.


def test_only_what_changed_or_fails_is_listed() -> None:
    report = Report(solution="", verdicts=(
        verdict("same", "passed"), verdict("healed", "passed"), verdict("fails", "failed", "x"),
        verdict("left", "failed", excluded="it failed before"), verdict("skips", "skipped"),
    ))
    console = Console(file=StringIO(), width=100)
    Terminal().tests(report, console, ["healed"])
    assert isinstance(console.file, StringIO)
    said = console.file.getvalue()
    assert [name for name in ("same", "healed", "fails", "left", "skips") if name in said] == [
        "healed", "fails"
    ]
    assert a_line_has(said, 3, "--verbose")


SUSPECT = SuspectFile(
    file=MONEY, suspicion=0.5, functions=(SuspectFunction(name="split", line=11, suspicion=0.5),)
)


def test_evidence_is_the_smallest_failure_and_ranked_places_with_their_values() -> None:
    held = SUSPECT.model_copy(update={"line": 12, "values": (("amount", "9"), ("people", "3"))})
    failing = verdict("tests/a.py::b", "failed", "one\n\ntwo")
    result = Result(report=Report(solution="", verdicts=(failing,)), suspects=(held, SUSPECT))
    received = "\n".join(evidence_words(result))
    assert a_line_has(received, "tests/a.py::b") and a_line_has(received, "two")
    assert a_line_has(received, MONEY, "split", "line 11")
    assert a_line_has(received, "line 12", "amount = 9", "people = 3")


# What is written.


def test_junit_holds_what_xml_can_and_counts_by_kind() -> None:
    report = Report(solution="", verdicts=(
        verdict("tests/a.py::A::b[x::y]", "failed", "bad \x1b[31m & <worse>\nmore"),
        verdict("tests/a.py::c", "timeout", "late"), verdict("tests/a.py::d", "skipped", "why"),
        verdict("a/b.py::e", "passed", wall_s=0.25), verdict("a/b.py::f", "xfailed"),
    ))
    (suite,) = ElementTree.fromstring(junit(Result(
        report=report, outcome="proposed", proof="E1", confidence=0.62
    )))
    properties = suite.find("properties")
    assert properties is not None
    assert {one.get("name"): one.get("value") for one in properties} == {
        "outcome": "proposed", "proof": "E1", "confidence": "0.62",
    }
    suite.remove(properties)
    counts = {key: suite.attrib[key] for key in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "5", "failures": "1", "errors": "1", "skipped": "2"}
    assert suite[0].attrib == {"classname": "tests.a.A", "name": "b[x::y]", "time": "0.000"}
    assert (suite[0][0].tag, suite[0][0].attrib["message"]) == ("failure", "bad #x1B[31m & <worse>")
    assert [one[0].tag if len(one) else "" for one in suite] == [
        "failure", "error", "skipped", "", "skipped"
    ]
    assert suite[2][0].attrib == {"type": "pytest.skip", "message": "why"}
    assert suite[3].attrib["time"] == "0.250"
    assert ElementTree.fromstring(junit(Result()))[0].attrib["tests"] == "0"


def test_junit_names_what_has_no_file_and_counts_no_crash_that_was_there_before() -> None:
    added = verdict("f([])", "error").model_copy(update={"origin": "adversarial"})
    new = added.model_copy(update={"name": "f([0])"})
    before = Report(solution="", verdicts=(added, new.model_copy(update={"status": "passed"})))
    report = Report(solution="", verdicts=(verdict("f([1]) == 1", "passed"), added, new))
    (suite,) = ElementTree.fromstring(junit(Result(report=report), before))
    assert [(one.get("name"), len(one) and one[0].tag) for one in suite.iter("testcase")] == [
        ("f([1]) == 1", 0), ("f([])", "skipped"), ("f([0])", "error"),
    ]
    assert (suite.attrib["errors"], suite.attrib["skipped"]) == ("1", "1")


def test_test_files_that_failed_or_changed_last_run_first(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=tmp_path, check=True,
            capture_output=True,
        )

    def likely(*nodes: str) -> list[str]:
        files = {one.name: one.read_text() for one in tmp_path.glob("*.py")}
        return likely_failing_files(find_layout(tmp_path), files, nodes)

    for name in ("pyproject.toml", "test_a.py", "test_b.py", "test_c.py", "work.py"):
        (tmp_path / name).write_text("")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "first")
    assert likely() == []
    (tmp_path / "test_b.py").write_text("def test(): ...\n")
    (tmp_path / "work.py").write_text("a = 1\n")
    assert likely() == ["test_b.py"]
    git("commit", "-qam", "second")
    assert likely() == ["test_b.py"]
    cache = tmp_path / ".pytest_cache/v/cache"
    cache.mkdir(parents=True)
    (cache / "lastfailed").write_text(json.dumps({"test_c.py::test": True, "gone.py": True}))
    assert likely() == ["test_c.py", "test_b.py"]
    assert likely(str(tmp_path / "test_a.py::test")) == ["test_a.py", "test_c.py", "test_b.py"]
    for number in range(4):
        (tmp_path / f"test_more_{number}.py").write_text("")
    assert likely() == ["test_c.py", "test_b.py"]
    for one in tmp_path.glob("test_*.py"):
        if one.name != "test_more_2.py":
            os.utime(one, (1e9, 1e9))
    assert likely() == ["test_c.py", "test_b.py", "test_more_2.py"]


def test_a_part_of_a_suite_is_not_called_the_whole() -> None:
    part = PROJECT.model_copy(update={"only": ("t.py::a", "t.py::b")})
    assert "2 tests" in judged_words(part)
    assert "whole" in judged_words(PROJECT)
    assert "whole" not in judged_words(part)
    tests = {"tests": ("t.py::a", "t.py::b", "t.py::c")}
    assert part.model_copy(update=tests).suite_size == 0
    assert PROJECT.model_copy(update=tests).suite_size == 3
