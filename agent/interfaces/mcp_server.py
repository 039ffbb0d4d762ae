"""Healing over the Model Context Protocol: `heal mcp FOLDER`, on stdin and stdout. Nothing is
written into the folder, and no path leads out of it."""

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
from agent.interfaces.exits import HEALED, INTERRUPTED
from agent.interfaces.library import RunFault, SelfHealingAgent
from agent.interfaces.preparation import OpenSession, Prepared, checked
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
    "project",
)
"""What of a heal's document is returned at once; the rest is in its report."""
CHECK_KEYS = ("outcome", "proof", "integrity", "integrity_reason", "reason", "sandbox", "project")
INSTRUCTIONS = """Heals failing Python tests, and says how far each repair is proven.

`heal` and `check` read the folder {root} as it is on disk now. Code is run in a jail, without a
network. They write nothing: `heal` returns a patch, which `git apply` takes in the folder. Whether
it is applied is for the user to say.

All other tools work on a private copy of the folder, taken when this server was started and again
by `fresh_copy`. What is changed in it reaches neither the folder nor `heal`; `copy_diff` shows it.

Proof: E0 nothing is shown; E1 the tests pass; E2 so does one that the repair never saw; E3 and E4
more.
"""


class FolderTools:
    """What can be done to one folder; `registry` holds it as tools."""

    def __init__(self, root: Path, opener: OpenSession) -> None:
        """Raises: BadInput: no folder."""
        self.root = Path(os.path.realpath(root))
        self._opener = opener
        self._reports: dict[str, object] = {}
        self.workspace, self.registry = self._opened()

    def _opened(self) -> tuple[Workspace, ToolRegistry]:
        workspace = Workspace.copy_of(self.root)
        registry = open_tools(workspace)
        for function in (
            self.heal, self.check, self.read_report, self.copy_diff, self.fresh_copy
        ):
            registry.register(function)
        return workspace, registry

    async def heal(
        self, path: str = ".", tests: str = "", only: Sequence[str] = (),
        deselect: Sequence[str] = (),
    ) -> dict[str, object]:
        """Repair Python code so that its failing tests pass, and return the repair as a patch.

        A project is judged by its own pytest over its whole suite, in a jail; what passed before
        passes afterwards. Of a file that is no test, the modules that it imports are taken along.
        Repairs are searched for without a model; one is asked only where the settings of this
        machine name one, within their budget. It takes from seconds to some minutes. Nothing is
        written: `diff` is the patch, `confidence` how likely it is right, and `proof` the
        evidence. `healed` is at least 0.9 likely (as set), `proposed` less: review it, or add
        tests. Other outcomes: healthy, unresolved (see `suspects`), not_fixable (see `reason`),
        awaiting_review (where repairs are reviewed: a person goes on by `heal resume RUN`).

        path: the project's folder, a test file, a test as pytest names it, or a file to repair
        tests: for a file to repair: assert statements, or the text of a pytest file
        only: in a project, edit nothing but these files and folders, named from its top
        deselect: in a project, tests to leave out, as pytest names them
        """
        notes: list[str] = []
        with _refusals():
            request = self._request(path, tests, only, deselect)
            agent = SelfHealingAgent(open_session=self._opener)
            prepared, result = await agent.healed(request, lambda text, _: notes.append(text))
            result = self._from_root(prepared, result)
            found = prepared.document(result)
            inspected = prepared.inspected
            report = found if inspected is None else markdown(result, inspected.project.name, inspected)
            return self._saved(found, report) | {"notes": notes}

    async def check(
        self, path: str = ".", tests: str = "", deselect: Sequence[str] = ()
    ) -> dict[str, object]:
        """Run tests of the folder as it is on disk, in a jail, and repair nothing.

        The outcome is healthy, or unresolved where one fails; `tests` has each that did not pass.

        path: the project's folder, a test file, a test as pytest names it, or a file to judge
        tests: for a file to judge: assert statements, or the text of a pytest file
        deselect: in a project, tests to leave out, as pytest names them
        """
        notes: list[str] = []
        with _refusals():
            prepared, result = await checked(
                self._opener, self._request(path, tests, (), deselect),
                SelfHealingAgent().settings(), lambda text, _: notes.append(text),
            )
            return _checked(prepared.document(result)) | {"notes": notes}

    async def read_report(self, run_id: str) -> object:
        """Read the full report of a heal: for a project in Markdown, as for a pull request.

        run_id: as `heal` gave it; reports are kept until the server ends
        """
        if run_id not in self._reports:
            raise ToolError(
                f"there is no report of a run {run_id!r}; there are those of "
                f"{', '.join(self._reports) or 'none'}"
            )
        return self._reports[run_id]

    async def copy_diff(self) -> str:
        """Show what was changed in the private copy, as a patch for `git apply`."""
        return self.workspace.diff

    async def fresh_copy(self) -> list[str]:
        """Copy the folder again; changes made in the private copy are discarded.

        It returns what was left out of the copy.
        """
        with _refusals():
            self.workspace, self.registry = await asyncio.to_thread(self._opened)
        return [*self.workspace.notices]

    def _inside(self, path: str) -> tuple[Path, str]:
        """A real path of the folder, and the rest of a test's id. Raises: BadPath: it or its
        project leads out."""
        name, mark, rest = path.partition("::")
        place = Path(os.path.realpath(self.root / name))
        if not place.is_relative_to(self.root):
            raise BadPath(f"{path!r} leads out of {self.root}; name a path in it")
        if not place.exists():
            raise BadPath(f"there is no {name} in {self.root}")
        top = find_layout(place).root
        if not top.is_relative_to(self.root):
            raise BadPath(
                f"{path!r} belongs to the project at {top}, outside of {self.root}; the server has "
                "to be started there"
            )
        return place, f"{mark}{rest}"

    def _request(
        self, path: str, tests: str, only: Sequence[str], deselect: Sequence[str]
    ) -> HealRequest:
        """Raises: BadPath, UsageError."""
        place, name = self._inside(path)
        request = HealRequest(
            f"{place}{name}", tests=(tests,) if tests.strip() else (), only=only, deselect=deselect,
            within=self.root,
        )
        request.refuse_contradictions()
        return request

    def _from_root(self, prepared: Prepared, result: Result) -> Result:
        """The result with its patch as `git apply` takes it in the folder."""
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
    tests: list[dict[str, object]] = found["tests"]  # type: ignore[assignment] # as it writes them
    return {key: found.get(key) for key in CHECK_KEYS} | {"tests": [
        one for one in tests if one["status"] != "passed" or one["doubt"] or one["vacuous"]
    ]}


@contextmanager
def _refusals() -> Iterator[None]:
    """Turns refusals into errors of a tool."""
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
            "this needs the package mcp: install this package with its extra `mcp`, as in "
            f"`pipx install '.[mcp]'` ({error})"
        ) from error
    tools = FolderTools(root, opener)

    async def until_closed() -> None:
        calls = Calls(tools)
        server = served(tools, calls)
        exiting: list[asyncio.Task[NoReturn]] = []
        asyncio.get_running_loop().add_signal_handler(
            signal.SIGINT, lambda: exiting.append(asyncio.create_task(_exit(calls)))
        )
        try:
            # While it is open whatever else prints goes to standard error.
            async with stdio_server() as (read, write):
                await server.run(read, write, server.create_initialization_options())
        finally:
            await calls.ended()

    asyncio.run(until_closed())
    return HEALED


async def _exit(calls: Calls) -> NoReturn:
    """Ends the process: the SDK would wait for another line."""
    await calls.ended()
    os._exit(INTERRUPTED)


class Calls:
    """The calls that are running, each a task of its own, which ends by itself when cancelled."""

    def __init__(self, tools: FolderTools) -> None:
        self._tools = tools
        self._running: set[asyncio.Task[ToolResult]] = set()

    async def made(self, name: str, arguments: dict[str, object]) -> ToolResult:
        """The result of a call. A cancelled one is cancelled here, as the SDK would cut off its
        end."""
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

    async def ended(self) -> None:
        """Cancels what still runs, and waits for it."""
        for call in self._running:
            call.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)


def served(tools: FolderTools, calls: Calls) -> Server[dict[str, object]]:
    """The server of the SDK over these tools."""
    from mcp import types
    from mcp.server import Server

    async def listed(context: object, parameters: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[
            types.Tool(
                name=one["name"], description=one["description"], input_schema=one["parameters"],
                annotations=types.ToolAnnotations(
                    destructive_hint=False, open_world_hint=one["name"] == "heal"
                ),
            )
            for one in tools.registry.get_schemas()
        ])

    async def called(context: object, asked: types.CallToolRequestParams) -> CallToolResult:
        found = await calls.made(asked.name, asked.arguments or {})
        return types.CallToolResult(
            content=[types.TextContent(text=found.text)], is_error=not found.ok,
            structured_content=found.output if isinstance(found.output, dict) else None,
        )

    return Server(
        "heal", instructions=INSTRUCTIONS.format(root=tools.root), on_list_tools=listed,
        on_call_tool=called,
    )
