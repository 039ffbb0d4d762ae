"""A Model Context Protocol server for one folder: `heal mcp FOLDER`, on stdin and stdout. It writes
nothing into the folder, and accepts only paths inside it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from agent.core.domain import unified
from agent.core.settings import BadSettings
from agent.interfaces import installed_version
from agent.interfaces.exits import HEALED, INTERRUPTED
from agent.interfaces.library import RunFault, SelfHealingAgent
from agent.interfaces.preparation import OpenSession, Preparation, checked
from agent.interfaces.project.reports import markdown
from agent.interfaces.request import HealRequest, UsageError
from agent.report.result import Result
from agent.target.errors import BadInput, NotFixable
from agent.target.repository.layout import find_layout
from agent.tools import ToolRegistry, ToolResult, Workspace, open_tools
from agent.tools.errors import BadPath, ToolError
from llm import LlmError
from sandbox import SandboxError

if TYPE_CHECKING:
    from mcp.server import Server
    from mcp.types import CallToolResult

MAX_REPORTS = 50
HEAL_KEYS = (
    "run_id", "outcome", "confidence", "unsure", "proof", "integrity", "integrity_reason", "reason",
    "diff", "strategy", "candidates", "cost_usd", "seconds", "suspects", "not_a_fix", "best",
    "competing", "project",
)
"""Keys of a result document that `heal` returns; the report has the rest."""
CHECK_KEYS = ("outcome", "proof", "integrity", "integrity_reason", "reason", "sandbox", "project")
INSTRUCTIONS = """Heals failing Python tests, and reports how well each repair is proven.

`heal` and `check` read the current files of the folder {root}. They run code in a jail without
network access, and write nothing. `heal` returns a patch for `git apply` in the folder. The user
decides whether to apply it.

All other tools work on a private copy of the folder, made when this server started and again by
`fresh_copy`. Changes in the copy do not affect the folder or `heal`; `copy_diff` shows them.

Proof: E0 nothing is shown; E1 the tests pass; E2 a held-out test, which the repair was not made
for, passes too; E3 and E4 need further checks, such as mutation tests.
"""


class FolderTools:
    """The tools of one folder; `registry` contains them."""

    def __init__(self, root: Path, opener: OpenSession) -> None:
        """Raises `BadInput` if there is no such folder."""
        self.root = Path(os.path.realpath(root))
        self._opener = opener
        self._reports: dict[str, object] = {}
        self.workspace, self.registry = self._opened()

    def _opened(self) -> tuple[Workspace, ToolRegistry]:
        workspace = Workspace.copy_of(self.root)
        registry = open_tools(workspace)
        for function in (self.heal, self.check, self.read_report, self.copy_diff, self.fresh_copy):
            registry.register(function)
        return workspace, registry

    async def heal(
        self, path: str = ".", tests: str = "", only: Sequence[str] = (),
        deselect: Sequence[str] = (),
    ) -> dict[str, object]:
        """Repair Python code so that its failing tests pass, and return the repair as a patch.

        A project is judged by its whole pytest suite, in a jail: tests that passed before must
        still pass. For a single file, the modules that it imports are included. Repairs are
        searched for without a model first; a model is called only if the settings of this machine
        name one, within their budget. A call takes seconds to some minutes. Nothing is written:
        `diff` is the patch, `confidence` the estimated probability that it is right, and `proof`
        the evidence. `healed` means a confidence of at least 0.9 (a setting); `proposed` means
        less: review the patch, or add tests. `competing` lists other patches that pass, and the
        call that tells them apart: its right value is a test that decides. Other outcomes:
        healthy, unresolved (see `suspects`), not_fixable (see `reason`), awaiting_review (the user
        continues with `heal resume RUN`).

        path: the project's folder, a test file, a pytest test id, or a file to repair
        tests: for a file to repair: assert statements, or the text of a pytest file
        only: in a project, the only files and folders to edit, relative to its root
        deselect: in a project, pytest ids of tests to leave out
        """
        notes: list[str] = []
        with _refusals():
            request = self._request(path, tests, only, deselect)
            agent = SelfHealingAgent(open_session=self._opener)
            prepared, result = await agent.healed(request, lambda text, _: notes.append(text))
            result = self._from_root(prepared, result)
            found = prepared.document(result)
            report: object = found
            if (inspected := prepared.inspected) is not None:
                report = markdown(result, inspected.project.name, inspected)
            return self._saved(found, report) | {"notes": notes}

    async def check(
        self, path: str = ".", tests: str = "", deselect: Sequence[str] = ()
    ) -> dict[str, object]:
        """Run tests of the folder's current files in a jail, without a repair.

        The outcome is healthy, or unresolved if a test fails; `tests` lists those that did not
        pass.

        path: the project's folder, a test file, a pytest test id, or a file to test
        tests: for a file to test: assert statements, or the text of a pytest file
        deselect: in a project, pytest ids of tests to leave out
        """
        notes: list[str] = []
        with _refusals():
            prepared, result = await checked(
                self._opener, self._request(path, tests, (), deselect),
                SelfHealingAgent().settings(), lambda text, _: notes.append(text),
            )
            return _checked(prepared.document(result)) | {"notes": notes}

    async def read_report(self, run_id: str) -> object:
        """Read the full report of a repair; for a project it is Markdown for a pull request.

        run_id: the id that `heal` returned; reports are saved until the server ends
        """
        if run_id not in self._reports:
            raise ToolError(
                f"there is no report of a run {run_id!r}. Saved reports: "
                f"{', '.join(self._reports) or 'none'}"
            )
        return self._reports[run_id]

    async def copy_diff(self) -> str:
        """Show the changes in the private copy, as a patch for `git apply`."""
        return self.workspace.diff

    async def fresh_copy(self) -> list[str]:
        """Copy the folder again, and discard all changes in the private copy.

        Returns notes about files that were not copied.
        """
        with _refusals():
            self.workspace, self.registry = await asyncio.to_thread(self._opened)
        return [*self.workspace.notices]

    def _resolve_in_folder(self, path: str) -> tuple[Path, str]:
        """Returns a real path in the folder, and the rest of a test id. Raises `BadPath` if the
        path or its project is outside of the folder."""
        name, separator, rest = path.partition("::")
        real_path = Path(os.path.realpath(self.root / name))
        if not real_path.is_relative_to(self.root):
            raise BadPath(f"{path!r} is outside of {self.root}; use a path in this folder")
        if not real_path.exists():
            raise BadPath(f"there is no {name} in {self.root}")
        top = find_layout(real_path).root
        if not top.is_relative_to(self.root):
            raise BadPath(
                f"{path!r} belongs to the project at {top}, outside of {self.root}; start the "
                "server in that folder"
            )
        return real_path, f"{separator}{rest}"

    def _request(
        self, path: str, tests: str, only: Sequence[str], deselect: Sequence[str]
    ) -> HealRequest:
        real_path, name = self._resolve_in_folder(path)
        request = HealRequest(
            f"{real_path}{name}", tests=(tests,) if tests.strip() else (), only=only,
            deselect=deselect, within=self.root,
        )
        request.refuse_contradictions()
        return request

    def _from_root(self, prepared: Preparation, result: Result) -> Result:
        source = prepared.submitted.source if prepared.submitted is not None else None
        if not result.diff or source is None or source.path is None:
            return result
        name = source.path.relative_to(self.root).as_posix()
        return replace(result, diff=unified(name, source.text, result.code))

    def _saved(self, found: dict[str, object], report: object) -> dict[str, object]:
        if found["run_id"]:
            self._reports[str(found["run_id"])] = report
            while len(self._reports) > MAX_REPORTS:
                del self._reports[next(iter(self._reports))]
        return {key: found[key] for key in HEAL_KEYS}


def _checked(found: dict[str, object]) -> dict[str, object]:
    tests: list[dict[str, object]] = found["tests"]  # type: ignore[assignment] # its format
    kept = {key: found.get(key) for key in CHECK_KEYS} | {"tests": [
        one for one in tests if one["status"] != "passed" or one["disbelieved"] or one["vacuous"]
    ]}
    if isinstance(project := kept["project"], dict):  # next steps and prompts are for a repair
        kept["project"] = {
            key: value for key, value in project.items() if key not in ("next", "model_question")
        }
    return kept


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except (BadInput, BadSettings, LlmError, NotFixable) as error:
        raise ToolError(str(error)) from error
    except RunFault as error:
        raise ToolError(f"an internal error ended the run: {error}") from error


# The protocol.


def serve(root: Path, opener: OpenSession) -> int:
    """Serves the tools of a folder until standard input ends or Ctrl-C.

    Raises:
        UsageError: The MCP SDK is not installed.
        BadInput: There is no such folder.
    """
    try:
        from mcp.server.stdio import stdio_server
    except ImportError as error:
        raise UsageError(
            "the package mcp is not installed. Install this package with its extra `mcp`, for "
            f"example `pipx install '.[mcp]'` ({error})"
        ) from error
    tools = FolderTools(root, opener)

    async def until_closed() -> None:
        calls = Calls(tools)
        server = build_server(tools, calls)
        exiting: list[asyncio.Task[NoReturn]] = []
        asyncio.get_running_loop().add_signal_handler(
            signal.SIGINT, lambda: exiting.append(asyncio.create_task(_exit(calls)))
        )
        try:
            # While it is open, all other output goes to standard error.
            async with stdio_server() as (read, write):
                await server.run(read, write, server.create_initialization_options())
        finally:
            await calls.cancel_all()

    asyncio.run(until_closed())
    return HEALED


async def _exit(calls: Calls) -> NoReturn:
    """Ends the process. The SDK would wait for another line of standard input."""
    await calls.cancel_all()
    os._exit(INTERRUPTED)


class Calls:
    """The running calls, each in its own task."""

    def __init__(self, tools: FolderTools) -> None:
        self._tools = tools
        self._running: set[asyncio.Task[ToolResult]] = set()

    async def run(self, name: str, arguments: dict[str, object]) -> ToolResult:
        """Runs a call and returns its result. A cancelled call may finish its cleanup, which the
        SDK would interrupt."""
        call = asyncio.create_task(self._tools.registry.call(name, arguments))
        self._running.add(call)
        call.add_done_callback(self._running.discard)
        try:
            return await asyncio.shield(call)
        except asyncio.CancelledError:
            call.cancel()
            raise
        except SandboxError as error:
            return ToolResult(False, error=f"the sandbox cannot run code here: {error}")

    async def cancel_all(self) -> None:
        """Cancels all running calls, and waits until they end."""
        for call in self._running:
            call.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)


def build_server(tools: FolderTools, calls: Calls) -> Server[dict[str, object]]:
    """Returns an MCP server that offers these tools."""
    from mcp import types
    from mcp.server import Server

    async def list_tools(context: object, parameters: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[
            types.Tool(
                name=one["name"], description=one["description"], input_schema=one["parameters"],
                annotations=types.ToolAnnotations(
                    destructive_hint=False, open_world_hint=one["name"] == "heal"
                ),
            )
            for one in tools.registry.get_schemas()
        ])

    async def call_tool(context: object, request: types.CallToolRequestParams) -> CallToolResult:
        result = await calls.run(request.name, request.arguments or {})
        return types.CallToolResult(
            content=[types.TextContent(text=result.text)], is_error=not result.ok,
            structured_content=result.output if isinstance(result.output, dict) else None,
        )

    return Server(
        "heal", version=installed_version(), instructions=INSTRUCTIONS.format(root=tools.root),
        on_list_tools=list_tools, on_call_tool=call_tool,
    )
