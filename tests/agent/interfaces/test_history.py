"""Commands and library about runs: listed, opened, forked, compared; what is kept is enough."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from agent import SelfHealingAgent
from agent.core.domain import Diagnosis, File, Solution
from agent.core.events import CodeWritten, Diagnosed, Parent, TestRuled, to_jsonl
from agent.interfaces.terminal.cli import app
from agent.log.bus import EventBus
from agent.log.store import Store, UnknownRun
from tests.agent.interfaces.conftest import BROKEN, REPAIRED, finished, judged, started

RUN, FORK = "aaaa1111", "bbbb2222"
FIRST = Solution(files=(File(path="sum.py", text=BROKEN),), entry="sum.py")
HEALED = FIRST.with_text(REPAIRED, origin="search", note="`-` → `+`")


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a run, a fork of it that did not heal, and a visitor's run."""
    monkeypatch.setenv("HEAL_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("LLM_PROVIDER", "mock")
    store = Store(tmp_path / "runs.db")
    bus = EventBus(store)
    for run, visitor, parent, end in (
        (RUN, "", None, finished("healed")),
        (FORK, "", Parent(run=RUN, iteration=0), finished("unresolved", code=BROKEN, proof=None)),
        ("cccc3333", "v", None, finished("healed")),
    ):
        store.add_run(run, "sum.py", "task", json.dumps({"visitor": visitor}))
        tell = bus.writer(run, "session")
        tell(started().model_copy(update={"parent": parent}))
        for event in (
            CodeWritten(iteration=0, solution=FIRST), judged(BROKEN, "failed"),
            Diagnosed(iteration=0, diagnosis=Diagnosis(
                category="wrong_result", cause="It takes away.",
            )),
            TestRuled(test="f(2) == 5", ruling="excluded", why="three say 4"),
            CodeWritten(iteration=1, solution=HEALED),
            judged(REPAIRED, "passed", iteration=1).model_copy(update={
                "report": judged(REPAIRED, "passed").report.model_copy(
                    update={"solution": HEALED.id}
                ),
            }), end,
        ):
            tell(event)
    store.close()
    yield tmp_path


def invoke(*args: str) -> Result:
    return CliRunner().invoke(app, args)


def document(*args: str) -> Any:
    result = invoke(*args, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_runs_are_listed_with_how_they_ended_and_a_visitors_are_not(kept: Path) -> None:
    listed = document("runs")["runs"]
    assert [(one["run_id"], one["standing"]) for one in listed] == [
        (FORK, "unresolved"), (RUN, "healed"),
    ]
    assert listed[0]["parent"] == {"run": RUN, "iteration": 0, "edits": []}
    assert len(document("runs", "--limit", "1")["runs"]) == 1
    shown = invoke("runs").stdout
    assert "aaaa1111 at iteration 0" in shown and "cccc3333" not in shown


def test_a_run_is_shown_with_each_program_and_any_of_them_is_printed(kept: Path) -> None:
    shown = document("show", "aaaa")
    told = [[one[key] for key in ("iteration", "by", "passed", "of")] for one in shown["programs"]]
    assert told == [[0, "user", 0, 1], [1, "search", 1, 1]]
    assert (shown["outcome"], shown["parent"]) == ("healed", None)
    opened = invoke("show", "aaaa", "--iteration", "0")
    assert (opened.exit_code, opened.stdout) == (0, BROKEN)
    opened = invoke("show", "aaaa", "--iteration", "1")
    assert opened.stdout == REPAIRED
    assert "+    return a + b" in opened.stderr and "by search" in opened.stderr
    whole = invoke("show", "aaaa")
    assert "`-` → `+`" in whole.stdout
    assert "It takes away." in whole.stderr and "three say 4" in whole.stderr


def test_two_runs_are_compared_and_a_saved_log_does_as_well(kept: Path) -> None:
    found = document("compare", RUN, FORK)
    assert (found["left"]["outcome"], found["right"]["outcome"]) == ("healed", "unresolved")
    assert found["related"]
    assert [(one["left"], one["right"]) for one in found["tests"]] == [("passed", "failed")]
    saved = kept / "run.jsonl"
    store = Store(kept / "runs.db")
    saved.write_text(to_jsonl(store.log(RUN)))
    store.close()
    assert document("compare", str(saved), FORK) == found
    assert document("show", str(saved)) == document("show", RUN)
    shown = invoke("compare", RUN, FORK)
    assert shown.stdout == found["diff"] != ""


@pytest.mark.parametrize(("args", "fact"), [
    (("show", "zzzz"), "heal runs"),
    (("show", "a"), "4"),
    (("show", "cccc3333"), "cccc3333"),
    (("show", RUN, "--iteration", "4"), "0, 1"),
    (("compare", RUN, "zzzz"), "zzzz"),
    (("fork", "zzzz", "--iteration", "0"), "zzzz"),
    (("fork", RUN, "--iteration", "0", "--code", "missing.py"), "missing.py"),
])
def test_what_is_not_there_is_refused(kept: Path, args: tuple[str, ...], fact: str) -> None:
    result = invoke(*args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert fact in " ".join(result.stderr.split())


@pytest.mark.nightly
def test_a_fork_runs_by_itself_from_the_terminal_and_from_the_library(kept: Path) -> None:
    code = kept / "sum.py"
    code.write_text(BROKEN)
    tests = ("--tests", "assert add(2, 3) == 5")
    first = document("run", str(code), *tests)
    code.write_text(BROKEN.replace("-", "*"))
    out = kept / "out.py"

    fork = document("fork", first["run_id"][:8], "--iteration", "0", "--code", str(code),
                    "--tests", "assert add(1, 3) == 4", "--out", str(out))
    agent = SelfHealingAgent(data_dir=kept)
    again = agent.fork(fork["run_id"], 0, deselect=["assert add(1, 3) == 4"])

    assert (fork["outcome"], out.read_text()) == ("healed", REPAIRED)
    assert fork["parent"] == {
        "run": first["run_id"], "iteration": 0, "edits": ["other code", "tests added: 1"],
    }
    assert (again.outcome, again.parent and again.parent.run) == ("healed", fork["run_id"])
    assert [one.by for one in agent.iterations(again.run_id)] == ["user", "search"]
    assert [one.id for one in agent.runs(3)] == [again.run_id, fork["run_id"], first["run_id"]]
    assert agent.compare(fork["run_id"], again.run_id).diff == ""
    with pytest.raises(UnknownRun):
        agent.iterations("gone")
