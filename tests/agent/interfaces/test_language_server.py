"""The language server, asked by pygls's client over stdin and stdout."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from agent.interfaces.sarif import Annotation
from agent.interfaces.servers.language_server import (
    Healer,
    Patch,
    RunFindings,
    _log_fault,
    target_of,
)
from tests.agent.search.project.small_project import pyproject

WRONG = "def total(values):\n    return sum(values) - 1\n"
RIGHT = "def total(values):\n    return sum(values)\n"
ASSERTED = "\n\nassert total([2, 3]) == 5\nassert total([]) == 0\nassert total([7]) == 7\n"


class Editor:
    """A client with one server, and the diagnostics that it has got."""

    def __init__(self, client: LanguageClient) -> None:
        self.client = client
        self.shown: dict[str, list[types.Diagnostic]] = {}
        self.said: list[str] = []
        self.changed = asyncio.Event()

    def open(self, path: Path) -> None:
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(
            types.TextDocumentItem(path.as_uri(), "python", 1, path.read_text())
        ))

    def save(self, path: Path) -> None:
        self.client.text_document_did_save(
            types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(path.as_uri()))
        )

    async def until(self, wanted: Any) -> None:
        async with asyncio.timeout(120):
            while not wanted():
                self.changed.clear()
                await self.changed.wait()

    async def actions(self, path: Path, line: int) -> list[types.CodeAction]:
        here = types.Position(line, 0)
        found = await self.client.text_document_code_action_async(types.CodeActionParams(
            types.TextDocumentIdentifier(path.as_uri()), types.Range(here, here),
            types.CodeActionContext([]),
        ))
        assert all(isinstance(one, types.CodeAction) for one in found or ())
        return [*(found or ())]  # type: ignore[list-item]


@asynccontextmanager
async def editor(folder: Path, options: object = None) -> AsyncIterator[Editor]:
    client = LanguageClient("test", "1")
    found = Editor(client)

    @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def published(parameters: types.PublishDiagnosticsParams) -> None:
        found.shown[parameters.uri] = [*parameters.diagnostics]
        found.changed.set()

    @client.feature(types.WINDOW_LOG_MESSAGE)
    def logged(parameters: types.LogMessageParams) -> None:
        found.said.append(parameters.message)
        found.changed.set()

    await client.start_io(sys.executable, "-m", "agent", "lsp", cwd=Path.cwd())
    await client.initialize_async(types.InitializeParams(
        capabilities=types.ClientCapabilities(), root_uri=folder.as_uri(),
        initialization_options=options,
    ))
    try:
        yield found
    finally:
        await client.shutdown_async(None)
        client.exit(None)
        await client.stop()


def applied(action: types.CodeAction, text: str, path: Path) -> str:
    assert action.edit is not None and action.edit.changes is not None
    lines = text.splitlines(keepends=True)
    for one in reversed(action.edit.changes[path.as_uri()]):
        lines[one.range.start.line : one.range.end.line] = [one.new_text]
    return "".join(lines)


@pytest.fixture(autouse=True)
def _without_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_PROVIDER", "mock")
    monkeypatch.setenv("HEAL_DATA_DIR", str(tmp_path / "data"))


async def test_a_repair_is_offered_at_the_failing_assert_and_at_its_line(tmp_path: Path) -> None:
    file = tmp_path / "work" / "tally.py"
    file.parent.mkdir()
    file.write_text(WRONG + ASSERTED)
    async with editor(tmp_path) as shown:
        shown.open(file)
        await shown.until(lambda: shown.shown.get(file.as_uri()))
        at = {one.code: one.range.start.line for one in shown.shown[file.as_uri()]}
        assert at == {"failing-test": 6, "repair": 1} or at == {"failing-test": 4, "repair": 1}
        for line in at.values():
            first, *_ = await shown.actions(file, line)
            assert applied(first, WRONG + ASSERTED, file) == RIGHT + ASSERTED
            assert "% likely right" in first.title
        assert await shown.actions(file, 2) == []
        # An unsaved change takes the patch back, a saved one is healed again.
        shown.client.text_document_did_change(types.DidChangeTextDocumentParams(
            types.VersionedTextDocumentIdentifier(2, file.as_uri()),
            [types.TextDocumentContentChangeWholeDocument("x = 1\n" + WRONG + ASSERTED)],
        ))
        assert await shown.actions(file, at["repair"]) == []
        file.write_text(RIGHT + ASSERTED)
        await shown.client.workspace_execute_command_async(
            types.ExecuteCommandParams("heal.run", [file.as_uri()])
        )
        await shown.until(lambda: not shown.shown[file.as_uri()])
        file.write_text(WRONG + ASSERTED)
        shown.save(file)
        await shown.until(lambda: shown.shown[file.as_uri()])


@pytest.mark.nightly
async def test_a_projects_repair_is_offered_in_module_and_test(tmp_path: Path) -> None:
    root = tmp_path / "tally"
    root.mkdir()
    (root / "pyproject.toml").write_text(pyproject("tally"))
    module, tests = root / "tally.py", root / "test_tally.py"
    module.write_text(WRONG)
    tests.write_text(
        "from tally import total\n\n\ndef test_total():\n    assert total([2, 3]) == 5\n"
    )
    async with editor(root, {"timeout": 0}) as shown:
        assert any("timeout must be a number" in one for one in shown.said)
        shown.open(module)
        await shown.until(lambda: shown.shown.get(tests.as_uri()))
        (failing,) = shown.shown[tests.as_uri()]
        assert (failing.range.start.line, failing.severity) == (4, types.DiagnosticSeverity.Error)
        action, *_ = await shown.actions(tests, 4)
        assert applied(action, WRONG, module) == RIGHT


@pytest.mark.nightly
async def test_what_cannot_be_healed_is_logged(tmp_path: Path) -> None:
    file = tmp_path / "work" / "reader.py"
    file.parent.mkdir()
    file.write_text("import no_such_package_here\nassert no_such_package_here.x == 1\n")
    async with editor(tmp_path) as shown:
        shown.open(file)
        await shown.until(lambda: shown.said)
        assert "no_such_package_here" in shown.said[0]


def test_competing_patches_follow_the_patch_while_their_file_is_unchanged(tmp_path: Path) -> None:
    file = tmp_path / "tally.py"
    document = SimpleNamespace(source=WRONG.replace("\n", "\r\n"))
    server = SimpleNamespace(
        workspace=SimpleNamespace(get_text_document=lambda uri: document)
    )
    healer = Healer(lambda settings: None)  # type: ignore[arg-type, return-value]
    healer.found[tmp_path] = RunFindings(
        ((file, Annotation("repair", "tally.py", 2, "a patch")),),
        tuple(
            Patch(title, {file: WRONG}, {file: text}, title == "patch")
            for title, text in (("patch", RIGHT), ("competing patch B", WRONG + "x = 1\n"))
        ),
    )

    def offered(line: int) -> list[tuple[str, bool | None, str]]:
        here = types.Position(line, 0)
        return [
            (one.title, one.is_preferred, applied(one, WRONG, file))
            for one in healer.actions(server, file, types.Range(here, here))  # type: ignore[arg-type]
        ]

    assert offered(1) == [
        ("patch", True, RIGHT), ("competing patch B", False, WRONG + "x = 1\n")
    ]
    assert offered(0) == []
    document.source = RIGHT
    assert offered(1) == []


async def test_an_internal_error_is_logged() -> None:
    said: list[types.LogMessageParams] = []

    async def fails() -> None:
        raise ZeroDivisionError("for no reason")

    run = asyncio.ensure_future(fails())
    await asyncio.wait([run])
    _log_fault(SimpleNamespace(window_log_message=said.append), run)  # type: ignore[arg-type]
    assert [one.message for one in said] == [
        "heal: internal error: ZeroDivisionError: for no reason"
    ]


def test_a_module_is_healed_with_its_project_if_that_has_tests(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'a'\n")
    module = tmp_path / "a.py"
    module.write_text("x = 1\n")
    assert target_of(module) == module
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_a.py").write_text("def test_a(): pass\n")
    assert target_of(module) == target_of(tmp_path / "tests/test_a.py") == tmp_path
