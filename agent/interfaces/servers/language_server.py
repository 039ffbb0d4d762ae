"""A language server: `heal lsp`, on stdin and stdout. It heals what an editor saves, and offers
each repair as a code action on the failing tests and on the lines that it changes.

Source of the protocol: https://microsoft.github.io/language-server-protocol/specifications/lsp/.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent.core.settings import BadSettings
from agent.interfaces import installed_version
from agent.interfaces.exits import HEALED
from agent.interfaces.library import RunFault, SelfHealingAgent
from agent.interfaces.preparation import OpenSession, Say
from agent.interfaces.project.selection import names_project, project_around
from agent.interfaces.request import HealRequest, UsageError
from agent.interfaces.sarif import Annotation, files_before, findings, folder_of, replacements
from agent.report.words import confidence_words
from agent.target.errors import BadInput, NotFixable
from agent.target.repository.layout import find_layout
from llm import LlmError
from sandbox import SandboxError

if TYPE_CHECKING:
    from lsprotocol import types
    from pygls.lsp.server import LanguageServer

TIMEOUT_S = 60.0
"""Default limit of a run; a client's initialization option `timeout` is another one, in seconds."""
COMMAND = "heal.run"


@dataclass(frozen=True)
class Patch:
    """A patch that is offered as a code action; paths are absolute."""

    title: str
    before: Mapping[Path, str]
    after: Mapping[Path, str]
    preferred: bool


@dataclass(frozen=True)
class RunFindings:
    """What the last run of a file or project found."""

    findings: tuple[tuple[Path, Annotation], ...] = ()
    patches: tuple[Patch, ...] = ()


class Healer:
    """Heals saved files, and remembers what was found for each file or project."""

    def __init__(self, opener: OpenSession) -> None:
        self._opener = opener
        self._running: dict[Path, asyncio.Task[None]] = {}
        self._turn = asyncio.Lock()
        self.timeout_s = TIMEOUT_S
        self.found: dict[Path, RunFindings] = {}

    def start(self, server: LanguageServer, path: Path) -> None:
        """Heals the project that contains a file, or else the file, and cancels its earlier run."""
        target = target_of(path)
        if (running := self._running.get(target)) is not None:
            running.cancel()
        run = self._running[target] = asyncio.create_task(self._heal(server, target))
        run.add_done_callback(lambda ended: _log_fault(server, ended))

    async def _heal(self, server: LanguageServer, target: Path) -> None:
        from lsprotocol import types

        progress = server.work_done_progress
        token = str(uuid.uuid4())
        window = server.client_capabilities.window
        shows = window is not None and bool(window.work_done_progress)

        def say(text: str, style: str = "") -> None:
            if shows:
                progress.report(token, types.WorkDoneProgressReport(message=text))

        async with self._turn:
            if shows:
                await progress.create_async(token)
                progress.begin(token, types.WorkDoneProgressBegin(f"heal {target.name}"))
            ending = ""
            try:
                old, self.found[target] = self.found.get(target, RunFindings()), RunFindings()
                try:
                    self.found[target] = await self._healed(target, say)
                except (BadInput, BadSettings, LlmError, NotFixable, SandboxError) as error:
                    ending = str(error)
                except RunFault as error:
                    ending = f"Internal error: {error}"
                self._publish(server, {path for path, _ in old.findings})
            finally:
                if ending:
                    server.window_log_message(
                        types.LogMessageParams(types.MessageType.Warning, f"heal: {ending}")
                    )
                if shows:
                    progress.end(token, types.WorkDoneProgressEnd(message=ending or "done"))

    async def _healed(self, target: Path, say: Say) -> RunFindings:
        agent = SelfHealingAgent(budget_s=self.timeout_s, open_session=self._opener)
        of_project = await asyncio.to_thread(target.is_dir)
        request = HealRequest(str(target), means_project=of_project, timeout=self.timeout_s)
        prepared, result = await agent.healed(request, say)
        if result.outcome == "not_fixable" or not (prepared.submitted or prepared.inspected):
            raise NotFixable("environment", result.reason)
        folder = folder_of(prepared) or target.parent
        before = files_before(prepared)
        found = findings(result, prepared)
        patches = []
        if any(one.rule == "repair" for one in found):
            likely = confidence_words(result)
            title = f"heal: {result.edit}{f' ({likely})' if likely else ''}"
            healed = result.outcome == "healed"
            patches.append((title, dict(result.files), healed))
            others = result.competing.behaviours[1:] if result.competing is not None else ()
            patches += [
                (f"heal, competing patch {one.label}: {one.note}",
                 {file.path: file.text for file in one.solution.files}, False)
                for one in others
            ]
        return RunFindings(
            tuple((folder / one.path, one) for one in found),
            tuple(Patch(title, *_changed(folder, before, after), preferred)
                  for title, after, preferred in patches),
        )

    def _publish(self, server: LanguageServer, cleared: set[Path]) -> None:
        from lsprotocol import types

        severities = {
            "failing-test": types.DiagnosticSeverity.Error,
            "repair": types.DiagnosticSeverity.Information,
        }
        shown: dict[Path, list[Annotation]] = {path: [] for path in cleared}
        shown |= self._findings()
        for path, rows in shown.items():
            server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(
                path.as_uri(), [
                    types.Diagnostic(
                        _line(one.line), one.message, severity=severities[one.rule],
                        source="heal", code=one.rule,
                    )
                    for one in rows
                ],
            ))

    def _findings(self) -> dict[Path, list[Annotation]]:
        shown: dict[Path, list[Annotation]] = {}
        for healed in self.found.values():
            for path, one in healed.findings:
                shown.setdefault(path, []).append(one)
        return shown

    def actions(
        self, server: LanguageServer, path: Path, span: types.Range
    ) -> list[types.CodeAction]:
        """Returns the patches for findings in these lines of a file. A patch is left out if one of
        its files has changed since the run, saved or not."""
        from lsprotocol import types

        def texts(patch: Patch) -> Mapping[Path, str]:
            return {
                one: server.workspace.get_text_document(one.as_uri()).source.replace("\r\n", "\n")
                for one in patch.before
            }

        lines = range(span.start.line + 1, span.end.line + 2)
        offered = []
        for healed in self.found.values():
            if not any(where == path and one.line in lines for where, one in healed.findings):
                continue
            for patch in healed.patches:
                with suppress(OSError):
                    if texts(patch) != patch.before:
                        continue
                    edit = types.WorkspaceEdit(changes={
                        one.as_uri(): [
                            types.TextEdit(
                                types.Range(
                                    types.Position(change.first - 1, 0),
                                    types.Position(change.last, 0),
                                ), change.text,
                            )
                            for change in replacements(str(one), patch.before[one], text)
                        ]
                        for one, text in patch.after.items()
                    })
                    offered.append(types.CodeAction(
                        patch.title, kind=types.CodeActionKind.QuickFix, edit=edit,
                        is_preferred=patch.preferred,
                    ))
        return offered


def _log_fault(server: LanguageServer, ended: asyncio.Task[None]) -> None:
    from lsprotocol import types

    if not ended.cancelled() and (error := ended.exception()) is not None:
        server.window_log_message(types.LogMessageParams(
            types.MessageType.Error, f"heal: internal error: {type(error).__name__}: {error}"
        ))


def target_of(path: Path) -> Path:
    """The project that contains a file and has tests, else the file."""
    root = project_around(path.parent)
    if root is None or names_project(str(path)):
        return root or path
    try:
        patterns = find_layout(root).test_files
    except BadInput:
        return root  # its run says why its settings cannot be read
    has_tests = any(
        "site-packages" not in one.parts for pattern in patterns for one in root.rglob(pattern)
    )
    return root if has_tests else path


def _changed(
    folder: Path, before: Mapping[str, str], after: Mapping[str, str]
) -> tuple[dict[Path, str], dict[Path, str]]:
    paths = [path for path, text in after.items() if before.get(path, text) != text]
    return {folder / path: before[path] for path in paths}, {
        folder / path: after[path] for path in paths
    }


def _line(number: int) -> types.Range:
    from lsprotocol import types

    return types.Range(types.Position(number - 1, 0), types.Position(number, 0))


def build_server(opener: OpenSession) -> LanguageServer:
    """Returns the server, with its handlers."""
    from lsprotocol import types
    from pygls.lsp.server import LanguageServer
    from pygls.uris import to_fs_path

    server = LanguageServer("heal", installed_version() or "0")
    healer = Healer(opener)

    def path_of(uri: str) -> Path | None:
        name = to_fs_path(uri)
        return Path(name) if name and name.endswith(".py") else None

    @server.feature(types.INITIALIZE)
    def initialize(parameters: types.InitializeParams) -> None:
        options = parameters.initialization_options
        given = options.get("timeout") if isinstance(options, dict) else None
        if isinstance(given, int | float) and given >= 1:
            healer.timeout_s = float(given)
        elif given is not None:
            server.window_log_message(types.LogMessageParams(
                types.MessageType.Warning,
                f"heal: the option timeout must be a number of seconds from 1, not {given!r}; "
                f"{TIMEOUT_S:.0f} is used.",
            ))

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(
        parameters: types.DidOpenTextDocumentParams | types.DidSaveTextDocumentParams
    ) -> None:
        if path := path_of(parameters.text_document.uri):
            healer.start(server, path)

    @server.command(COMMAND)
    async def run(uri: str) -> None:
        if path := path_of(uri):
            healer.start(server, path)

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix]),
    )
    def actions(parameters: types.CodeActionParams) -> list[types.CodeAction]:
        path = path_of(parameters.text_document.uri)
        return healer.actions(server, path, parameters.range) if path else []

    return server


def serve(opener: OpenSession) -> int:
    """Serves one editor until it disconnects. Raises `UsageError` if pygls is not installed."""
    try:
        server = build_server(opener)
    except ImportError as error:
        raise UsageError(
            "the package pygls is not installed. Install this package with its extra `lsp`, for "
            f"example `pipx install '.[lsp]'` ({error})"
        ) from error
    server.start_io()
    return HEALED
