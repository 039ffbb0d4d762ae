"""What is asked for means the same whichever interface takes it, of a file as of a project."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agent import SelfHealingAgent
from agent.core.settings import Settings
from agent.interfaces.exits import USUAL
from agent.interfaces.next_step import PAGE, TERMINAL, next_step, step_key
from agent.interfaces.preparation import discard, judged, prepare
from agent.interfaces.project.upload import UploadedFile, read_upload
from agent.interfaces.request import HealRequest
from agent.interfaces.servers.mcp_server import FolderTools
from agent.interfaces.terminal.cli import app
from agent.loop.run import Options
from agent.loop.session import open_session
from agent.report.result import Result, fold
from agent.target.task import TestText, make_task
from demo.options import chosen
from llm import ModelPlan
from tests.agent.interfaces.conftest import BROKEN, ReplayedSession
from tests.agent.runs import finished, settings
from tests.agent.search.project.small_project import pyproject

TEST = "assert add(2, 3) == 5"
FORK = ("fork", "r1", "--iteration", "0")
FILE = ("run", "sum.py", "--tests", TEST)
PROJECT = ("run", "suite")
SETTINGS = {"HEAL_BUDGET_S": "60", "HEAL_SEARCH_S": "6", "LLM_PROVIDER": "mock"}

Interface = Callable[[ReplayedSession], None]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file to heal, and a red project beside it."""
    for name, value in {**SETTINGS, "HEAL_DATA_DIR": str(tmp_path / "data")}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    top = tmp_path / "top"
    project = top / "suite"
    project.mkdir(parents=True)
    (top / "sum.py").write_text(BROKEN)
    (project / "pyproject.toml").write_text(pyproject("suite"))
    (project / "sum.py").write_text(BROKEN)
    (project / "test_sum.py").write_text(
        f"from sum import add\n\n\ndef test_add():\n    {TEST}\n"
    )
    monkeypatch.chdir(top)
    return top


def typed(*command: str) -> Interface:
    def interface(session: ReplayedSession) -> None:
        CliRunner().invoke(app, [*command], obj=session.open, catch_exceptions=False)

    return interface


def from_python(**asked: float) -> Interface:
    def interface(session: ReplayedSession) -> None:
        agent = SelfHealingAgent(open_session=session.open, **asked)  # type: ignore[arg-type]
        agent.run(code=BROKEN, tests=TEST)

    return interface


def on_the_page(**given: object) -> Interface:
    def interface(session: ReplayedSession) -> None:
        found = chosen(
            {name.replace("_", "-"): value for name, value in given.items()},
            Settings.from_env(SETTINGS), public=False,
        )
        session.how.append({**found.run_arguments(pauses=True, asks=True)})

    return interface


def over_mcp(path: str, tests: str = "") -> Interface:
    def interface(session: ReplayedSession) -> None:
        tools = FolderTools(Path(), session.open)
        asyncio.run(tools.registry.call("heal", {"path": path, "tests": tests}))

    return interface


def options(interface: Interface, session: ReplayedSession) -> Options:
    """What a run is given that an interface has started."""
    interface(session)
    (asked,) = session.how
    asked = {name: value for name, value in asked.items() if name not in ("plan", "visitor")}
    settings = session.settings or Settings.from_env(SETTINGS)
    return Options.of(settings, ModelPlan("mock", ""), **asked)  # type: ignore[arg-type]


@pytest.mark.parametrize("interface", [
    *(typed(*command, "--require-proof", "E2", "--require-integrity", "isolated",
            "--require-confidence", "0.5") for command in (FILE, PROJECT, FORK)),
    on_the_page(require_proof="E2", require_integrity="isolated", require_confidence=50),
], ids=["file", "project", "fork", "page"])
def test_what_is_required_reaches_the_run(interface: Interface, healing: ReplayedSession) -> None:
    """So that a search goes on where a remembered fix proves less."""
    found = options(interface, healing)
    assert (found.require_proof, found.require_integrity) == ("E2", "isolated")
    assert found.require_confidence == 0.5


def test_a_resumed_run_goes_on_to_what_is_required_now(healing: ReplayedSession) -> None:
    typed("resume", "--require-proof", "E2", "--require-integrity", "isolated")(healing)
    assert healing.how == [
        {"require_proof": "E2", "require_integrity": "isolated", "pauses": None}
    ]


def test_a_run_that_is_taken_up_at_a_terminal_pauses_there(
    healing: ReplayedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.interfaces.terminal.commands.is_interactive", lambda _face: True)
    typed("resume")(healing)
    assert healing.how[0]["pauses"] is True


@pytest.mark.parametrize("attended", [True, False])
@pytest.mark.parametrize("command", [FILE, PROJECT, FORK], ids=["file", "project", "fork"])
def test_a_run_pauses_at_a_cap_and_asks_where_a_person_sits(
    command: tuple[str, ...], attended: bool, healing: ReplayedSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agent.interfaces.terminal.commands.is_interactive", lambda _face: attended)
    monkeypatch.setattr("agent.interfaces.terminal.history.is_interactive", lambda _face: attended)
    ask = ("--ask",) if command is FILE else ()
    found = options(typed(*command, *ask), healing)
    assert (found.pauses, found.ask) == (attended, attended and command is FILE)


@pytest.mark.parametrize("interface", [
    from_python(), over_mcp("sum.py", TEST), over_mcp("suite"),
], ids=["library", "mcp-file", "mcp-project"])
def test_a_run_of_a_program_ends_at_a_cap(interface: Interface, healing: ReplayedSession) -> None:
    assert options(interface, healing).pauses is False


@pytest.mark.parametrize(("interface", "is_project"), [
    (typed(*FILE, "--timeout", "30"), False), (typed(*PROJECT, "--timeout", "30"), True),
    (from_python(budget_s=30), False), (on_the_page(seconds=30), False),
], ids=["file", "project", "library", "page"])
def test_given_seconds_are_the_total(
    interface: Interface, is_project: bool, healing: ReplayedSession
) -> None:
    found = options(interface, healing)
    assert found.search_s == found.budget_s
    # The first run of a project's suite has taken some of them.
    assert 0.0 < found.budget_s < 30.0 if is_project else found.budget_s == 30.0


@pytest.mark.parametrize("interface", [
    typed("run", "uses.py", "--tests", TEST), over_mcp("uses.py", TEST),
], ids=["terminal", "mcp"])
def test_a_file_brings_the_modules_that_it_imports(
    interface: Interface, folder: Path, healing: ReplayedSession
) -> None:
    (folder / "uses.py").write_text(f"import beside\n{BROKEN}")
    (folder / "beside.py").write_text("import further\n")
    (folder / "further.py").write_text("")
    interface(healing)
    ((task, _),) = healing.started
    assert {one.path for one in task.support} == {"beside.py", "further.py"}


@pytest.mark.parametrize(("path", "is_project"), [
    ("sum.py", False), ("suite/sum.py", False), ("suite", True), ("suite/test_sum.py", True),
    ("suite/test_sum.py::test_add", True),
])
def test_file_or_project_is_decided_alike(
    path: str, is_project: bool, folder: Path, healing: ReplayedSession
) -> None:
    tests = () if is_project else ("--tests", TEST)
    typed("run", path, *tests)(healing)
    over_mcp(path, *tests[1:])(healing)
    place = folder / path.partition("::")[0]
    names = [one.name for one in (place.iterdir() if place.is_dir() else [place])]
    sent = read_upload([UploadedFile(name, b"") for name in names])
    found = [task.project is not None for task, _ in healing.started]
    assert [*found, sent.program is None] == [is_project] * 3


@pytest.mark.slow
@pytest.mark.nightly
async def test_a_project_whose_failure_vanished_is_flaky(folder: Path, tmp_path: Path) -> None:
    """The run's own log says so, which every interface reads."""
    prepared = await prepare(HealRequest("suite"), settings(tmp_path), discard)
    task = prepared.task
    assert task is not None and task.solution is not None
    repaired = [
        one.model_copy(update={"text": one.text.replace("a - b", "a + b")})
        for one in task.solution.files
    ]
    task = task.model_copy(update={
        "solution": task.solution.model_copy(update={"files": tuple(repaired)}),
    })
    async with open_session(settings(tmp_path)) as session:
        log = await finished(session, task)
    for result in (fold(log), prepared.heal_result(log)):
        assert (result.outcome, result.proof) == ("not_fixable", None)
        assert "test_sum.py::test_add" in result.reason
        assert result.diagnosis is not None and result.diagnosis.category == "flaky_tests"


@pytest.mark.parametrize("told", [
    {"outcome": "unresolved"}, {"outcome": "unresolved", "provider": "mock"},
    {"outcome": "unresolved", "unanswered": "HTTP 401"}, {"outcome": "budget"},
    {"outcome": "needs_model"}, {"outcome": "model_failed"}, {"outcome": "not_fixable"},
    {"outcome": "cancelled"}, {"outcome": "crash_stopped", "proof": "E0"},
    {"outcome": "proposed", "proof": "E4"}, {"outcome": "healed", "proof": "E1"},
    {"outcome": "healthy", "proof": "E1"}, {"outcome": "awaiting_review"}, {},
])
def test_terminal_and_page_name_a_next_step_for_the_same_results(told: dict[str, Any]) -> None:
    result = Result(**told)
    step = step_key(result, USUAL)
    assert bool(next_step(result, TERMINAL)) == bool(next_step(result, PAGE))
    for words in (TERMINAL, PAGE):
        said = next_step(result, words)
        assert bool(said) == (step in words) and "{" not in said


@pytest.mark.nightly
@pytest.mark.slow
def test_every_check_excludes_a_test_that_no_edit_can_fix(folder: Path, tmp_path: Path) -> None:
    """A fixture that is missing says nothing against the program."""
    tests = "from sum import add\ndef test_add(nowhere):\n    assert add(2, 3) == 5\n"
    (folder / "test_lone.py").write_text(tests)
    shown = CliRunner().invoke(app, [
        "check", "sum.py", "--tests-file", "test_lone.py", "--json",
    ], catch_exceptions=False)
    called = asyncio.run(FolderTools(folder, open_session).registry.call(
        "check", {"path": "sum.py", "tests": tests}
    ))

    async def on_the_page() -> Result:
        texts = [TestText(tests, "test_lone.py", "test_lone.py")]
        async with open_session(settings(tmp_path)) as session:
            return await judged(session, make_task(BROKEN, entry="sum.py", tests=texts).task)

    assert isinstance(called.output, dict)
    found = json.loads(shown.stdout)["outcome"], called.output["outcome"]
    assert (*found, asyncio.run(on_the_page()).outcome) == ("not_fixable",) * 3
