"""`heal mcp`: the tools of one folder for other programs, by the SDK's own client."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agent.core.domain import Behaviour, CompetingPatches
from agent.core.events import Ambiguous
from agent.interfaces.servers.mcp_server import Calls, FolderTools, _checked, build_server
from agent.interfaces.terminal.cli import app
from tests.agent.interfaces.conftest import BROKEN, REPAIRED, ReplayedSession, started
from tests.agent.search.project.small_project import FAILING, laid
from tests.agent.values import program

ROOT = Path(__file__).parents[3]
TEST = "assert add(2, 3) == 5"
OWN = {"heal", "check", "read_report", "copy_diff", "fresh_copy"}
NOISY = """
import os, sys
from agent.interfaces.servers import mcp_server

async def copy_diff(self):
    "Prints where only messages belong."
    print("by print", flush=True)
    os.write(1, b"by descriptor\\n")
    return "said"

mcp_server.FolderTools.copy_diff = copy_diff
mcp_server.serve(mcp_server.Path(sys.argv[1]), None)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The small red project, and a broken file in it."""
    return laid(tmp_path / "till", {"sum.py": BROKEN})


def texts(folder: Path) -> dict[str, bytes]:
    return {str(one): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def environment(tmp_path: Path) -> dict[str, str]:
    return {
        "HEAL_DATA_DIR": str(tmp_path / "data"), "LLM_PROVIDER": "mock", "PYTHONPATH": str(ROOT),
        "HEAL_BUDGET_S": "900", "HEAL_SEARCH_S": "100", "HEAL_REQUIRE_CONFIDENCE": "0",
    }


@pytest.mark.nightly
@pytest.mark.slow
async def test_a_client_heals_and_checks_without_writing(folder: Path, tmp_path: Path) -> None:
    mcp = pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    before = texts(folder)
    server = mcp.StdioServerParameters(
        command=sys.executable, args=["-m", "agent", "mcp", str(folder)],
        env=environment(tmp_path),
    )
    async with mcp.Client(server) as client:
        listed = (await client.list_tools()).tools
        # Two heals, a check, a refusal and a tool of the copy, all at once.
        file, project, checked, refused, edited = await asyncio.gather(
            client.call_tool("heal", {"path": "sum.py", "tests": TEST}),
            client.call_tool("heal", {"only": ["src"]}),
            client.call_tool("check", {"path": "sum.py", "tests": TEST}),
            client.call_tool("heal", {"path": "../other"}),
            client.call_tool("edit_file", {
                "path": "sum.py", "old_content": "a - b", "new_content": "b + a",
            }),
        )
        report = await client.call_tool(
            "read_report", {"run_id": project.structured_content["run_id"]}
        )
        diff = await client.call_tool("copy_diff")
    assert {one.name for one in listed} >= {*OWN, "run_tests", "file_read", "execute_code"}
    assert all(one.description and one.input_schema["type"] == "object" for one in listed)
    assert not file.is_error, file.content[0].text
    assert file.structured_content["outcome"] == "healed"
    assert "--- a/sum.py\n" in file.structured_content["diff"]
    found = project.structured_content
    assert (found["outcome"], {*found["project"]["failed_before"]}) == ("healed", FAILING)
    assert found["proof"] and found["integrity"] == "in-process"
    assert report.content[0].text.startswith("# till: ")
    assert (checked.structured_content["outcome"], refused.is_error) == ("unresolved", True)
    assert checked.structured_content["tests"][0]["got"] == "-1"
    assert not edited.is_error and "+    return b + a" in diff.content[0].text
    assert texts(folder) == before
    subprocess.run(
        ["git", "apply", "--check", "-"], cwd=folder, input=found["diff"], text=True, check=True
    )


GREETING: list[dict[str, Any]] = [
    {"id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "a test", "version": "0"},
    }},
    {"method": "notifications/initialized"},
]


@contextmanager
def raw_server(
    folder: Path, tmp_path: Path, *asked: dict[str, Any]
) -> Iterator[tuple[subprocess.Popen[str], list[Any]]]:
    """A server that prints where it must not, and its answers to what it is asked."""
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    with subprocess.Popen(
        [sys.executable, "-c", NOISY, str(folder)], text=True,
        env={**os.environ, **environment(tmp_path)}, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin and process.stdout
        for one in (*GREETING, *asked):
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **one}) + "\n")
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(1 + len(asked))]
        yield process, answers


@pytest.mark.nightly
def test_standard_output_holds_messages_and_nothing_else(folder: Path, tmp_path: Path) -> None:
    asked = {"id": 2, "method": "tools/call", "params": {"name": "copy_diff", "arguments": {}}}
    with raw_server(folder, tmp_path, asked) as (process, said):
        assert process.stdin and process.stdout and process.stderr
        process.stdin.close()
        rest, errors = process.stdout.read(), process.stderr.read()
    assert (process.returncode, rest, [one["id"] for one in said]) == (0, "", [1, 2])
    assert said[1]["result"]["content"][0]["text"] == "said"
    assert "by print" in errors and "by descriptor" in errors


@pytest.mark.nightly
def test_ctrl_c_ends_the_server_while_its_input_is_open(folder: Path, tmp_path: Path) -> None:
    with raw_server(folder, tmp_path) as (process, _):
        process.send_signal(signal.SIGINT)
        assert process.wait() == 130


async def test_a_call_that_is_cancelled_ends_its_run(folder: Path) -> None:
    mcp = pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    session = ReplayedSession([started()], hangs=True)
    tools = FolderTools(folder, session.open)
    calls = Calls(tools)
    async with mcp.Client(build_server(tools, calls)) as client:
        call = asyncio.create_task(client.call_tool("heal", {"path": "sum.py", "tests": TEST}))
        while not session.started:
            await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        # Others are answered meanwhile.
        assert (await client.call_tool("file_read", {"path": "sum.py"})).content[0].text == BROKEN
        while not session.cancelled:
            await asyncio.sleep(0.01)
    await calls.cancel_all()
    assert session.cancelled == ["r1"]


@pytest.mark.parametrize(("tool", "arguments", "fact"), [
    ("heal", {"path": "../other.py"}, "other.py"),
    ("heal", {"path": "/etc/hostname"}, "/etc/hostname"),
    ("heal", {"path": "link.py"}, "link.py"),
    ("heal", {"path": "tests/../../till/../other.py"}, "other.py"),
    ("check", {"path": "nowhere.py"}, "nowhere.py"),
    ("check", {"path": "a\0b"}, ""),
    ("heal", {"tests": TEST}, "tests"),
    ("heal", {"path": "sum.py", "tests": TEST, "only": ["sum.py"]}, "only"),
    ("heal", {"pth": "sum.py"}, "pth"),
    ("read_report", {"run_id": "r9"}, "r9"),
    ("file_read", {"path": "../other.py"}, "other.py"),
])
def test_what_cannot_be_is_an_error_to_read(
    tool: str, arguments: dict[str, Any], fact: str, folder: Path, healing: ReplayedSession
) -> None:
    (folder.parent / "other.py").write_text("SECRET = 1\n")
    (folder / "link.py").symlink_to(folder.parent / "other.py")
    found = asyncio.run(FolderTools(folder, healing.open).registry.call(tool, arguments))
    assert (found.ok, fact in found.error) == (False, True), found
    assert "SECRET" not in found.text and healing.started == []


@pytest.mark.parametrize(("imports", "left_out", "is_package"), [
    ("import link, beside", "link.py", False), ("from .. import other", "other.py", True),
])
def test_what_a_file_imports_is_left_out_where_it_leads_out_of_the_folder(
    imports: str, left_out: str, is_package: bool, folder: Path, healing: ReplayedSession
) -> None:
    (folder.parent / "other.py").write_text("SECRET = 1\n")
    (folder / "link.py").symlink_to(folder.parent / "other.py")
    (folder / "beside.py").write_text("")
    if is_package:  # which begins above the folder
        (folder / "__init__.py").write_text("")
    (folder / "sum.py").write_text(f"{imports}\n{BROKEN}")
    found = asyncio.run(FolderTools(folder, healing.open).registry.call(
        "heal", {"path": "sum.py", "tests": TEST}
    ))
    ((task, _),) = healing.started
    assert "SECRET" not in task.to_json()
    assert found.ok and left_out in found.output["notes"][0]  # type: ignore[call-overload,index]


def test_a_project_above_the_folder_is_refused(folder: Path, healing: ReplayedSession) -> None:
    tools = FolderTools(folder / "tests", healing.open)
    found = tools.registry.execute("heal")
    assert not found.ok and str(folder) in found.error


def test_the_copy_is_separate_and_made_again(folder: Path, healing: ReplayedSession) -> None:
    before = texts(folder)
    tools = FolderTools(folder, healing.open)
    tools.registry.execute("file_write", path="sum.py", content=REPAIRED)
    assert "+    return a + b" in str(tools.registry.execute("copy_diff").output)
    assert texts(folder) == before
    (folder / "new.py").write_text("x = 1\n")
    tools.registry.execute("fresh_copy")
    assert tools.registry.execute("copy_diff").output == ""
    assert tools.registry.execute("file_read", path="new.py").output == "x = 1\n"


def test_competing_patches_are_returned(folder: Path, healing: ReplayedSession) -> None:
    patches = CompetingPatches(call="add(0, 1)", behaviours=(
        Behaviour(label="A", gives="1", solution=program(REPAIRED), note="plus"),
        Behaviour(label="B", gives="0", solution=program(BROKEN), note="other"),
    ))
    healing.events = [
        *healing.events[:2], Ambiguous(iteration=1, competing=patches), *healing.events[2:]
    ]
    tools = FolderTools(folder, healing.open)
    found = tools.registry.execute("heal", path="sum.py", tests=TEST).output
    assert isinstance(found, dict)
    assert found["competing"]["call"] == "add(0, 1)"
    assert [one["label"] for one in found["competing"]["behaviours"]] == ["A", "B"]


def test_a_check_has_no_prompt_and_no_next_steps() -> None:
    project = {"root": "/r", "next": ["Next"], "model_question": "long"}
    assert _checked({"tests": [], "project": project})["project"] == {"root": "/r"}


def test_a_kept_report_is_read_by_its_run(folder: Path, healing: ReplayedSession) -> None:
    tools = FolderTools(folder, healing.open)
    told = tools.registry.execute("heal", path="sum.py", tests=TEST).output
    assert isinstance(told, dict) and told["outcome"] == "healed"
    assert told["diff"].startswith("--- a/sum.py\n+++ b/sum.py\n")


@pytest.mark.parametrize(("name", "fact"), [("till", "mcp"), ("nowhere", "nowhere")])
def test_without_its_package_or_its_folder_the_server_does_not_start(
    name: str, fact: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name == "till":
        monkeypatch.setitem(sys.modules, "mcp.server.stdio", None)
    else:
        pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    done = CliRunner().invoke(app, ["mcp", str(folder.parent / name)])
    assert (done.exit_code, done.stdout, fact in done.stderr) == (2, "", True)
