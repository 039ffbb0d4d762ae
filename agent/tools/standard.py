"""The tools of a workspace: read, write, search and run, all on the private copy."""

from __future__ import annotations

import fnmatch
import io
from collections import Counter
from typing import Annotated, Literal

from pydantic import Field

from agent.core.domain import NEUTRAL_STATUSES, Project
from agent.tools.code_sandbox import configured_sandbox
from agent.tools.errors import ToolError
from agent.tools.python_run import python_arguments, run_python
from agent.tools.registry import MAX_OUTPUT_BYTES, MAX_S, ToolRegistry
from agent.tools.workspace import Workspace, checked_path
from agent.verify import jail_modules
from agent.verify.project.suite_run import run_suite
from llm.provider import escape_surrogates
from sandbox import Job, Json, Limits, Sandbox

SEARCH_S = 5.0
MEMORY_MIB = 2_048
OUTPUT_BYTES = 2_000_000
MAX_FOUND = 1_000
Line = Annotated[int, Field(ge=1)]
Pattern = Annotated[str, Field(max_length=200)]
Seconds = Annotated[float, Field(gt=0, le=600)]


class WorkspaceTools:
    """The tools over a workspace.

    Methods raise `ToolError` for impossible requests and `SandboxError` where the jail is broken.
    """

    def __init__(self, workspace: Workspace, sandbox: Sandbox | None = None) -> None:
        self.workspace = workspace
        self._sandbox = sandbox or configured_sandbox()

    async def file_list(self, pattern: Pattern = "*") -> list[str]:
        """List the files of the workspace.

        pattern: a glob for whole paths, in which * also matches slashes
        """
        return sorted(one for one in self.workspace.files if fnmatch.fnmatchcase(one, pattern))

    async def file_read(
        self, path: str, first_line: Line = 1, last_line: Line | None = None
    ) -> str:
        """Read a text file.

        path: from the top of the workspace, with forward slashes
        first_line: the first line to return
        last_line: the last line to return
        """
        text = self._text(path)
        if first_line == 1 and last_line is None:
            return text
        # Lines as `search` counts them: only a newline ends one.
        return "".join([*io.StringIO(text, newline="\n")][first_line - 1 : last_line])

    async def file_write(
        self, path: str, content: str, mode: Literal["write", "append"] = "write"
    ) -> str:
        """Write a text file; missing folders are created.

        path: from the top of the workspace, with forward slashes
        content: the text
        mode: "write" replaces the file, "append" adds to it
        """
        _refuse_surrogates(content)
        path = checked_path(path)
        exists = path in self.workspace.files
        before = self._text(path) if mode == "append" and exists else ""
        self.workspace.write(path, before + content)
        return f"wrote {len(content)} characters to {path}"

    async def edit_file(self, path: str, old_content: str, new_content: str) -> str:
        """Replace a piece of a text file that occurs in it exactly once.

        path: from the top of the workspace, with forward slashes
        old_content: the exact text to replace, with its indentation
        new_content: the replacement
        """
        _refuse_surrogates(new_content)
        text = self._text(path)
        if not old_content:
            raise ToolError("old_content is empty; it must be the text to replace")
        times = _occurrences(text, old_content)
        if times != 1:
            crlf = old_content.replace("\n", "\r\n") in text and "\r\n" not in old_content
            hint = "; lines of this file end with \\r\\n" if times == 0 and crlf else ""
            raise ToolError(
                f"old_content occurs {times} times in {path}, and must occur exactly once; "
                + (f"copy it from file_read{hint}" if times == 0 else "add surrounding lines")
            )
        self.workspace.write(path, text.replace(old_content, new_content))
        return f"replaced one piece of {path}"

    async def search(
        self, pattern: str, file_pattern: str = "*",
        max_results: Annotated[int, Field(ge=1, le=MAX_FOUND)] = 50,
    ) -> dict[str, Json]:
        """Search lines of files by a Python regular expression.

        pattern: the regular expression
        file_pattern: a glob for the file's name or its whole path, such as *.py
        max_results: how many lines to return at most
        """
        folders = self.workspace.package_folders
        ours = await jail_modules.bundle(self._sandbox, folders, with_pytest=True)
        payload: dict[str, Json] = {
            "pattern": pattern, "file_pattern": file_pattern, "most": max_results,
            "files": dict(sorted(self.workspace.files.items())),
        }
        outcome = await self._sandbox.run(Job(
            program=jail_modules.program("line_search"), payload=payload, modules=ours.modules,
            package_folders=ours.package_folders, limits=Limits(wall_s=SEARCH_S, cpu_s=SEARCH_S),
        ))
        match outcome.messages:
            case ({"wrong": str(reason)},):
                raise ToolError(f"the pattern is not a regular expression: {reason}")
            case ({"found": list(rows)},):
                lines: list[Json] = [escape_surrogates(str(row)) for row in rows[:max_results]]
                return {"found": lines, "more": len(rows) > max_results}
        raise ToolError(
            f"the search was stopped: {outcome.limit or outcome.ended}; use a simpler pattern "
            "without nested repeats"
        )

    async def shell(self, command: str, timeout: Seconds = 60.0) -> dict[str, Json]:  # noqa: ASYNC109 - its name
        """Run a python or pytest command in a jail that holds the workspace.

        There is no shell, no network and no program but Python: `python script.py`,
        `python -m module`, `python -c code` and `pytest` work, one at a time. Nothing is
        expanded. Files that the command writes are saved to the workspace.

        command: the command line
        timeout: limit in seconds
        """
        return await self._run(python_arguments(command), timeout)

    async def execute_code(self, code: str, timeout: Seconds = 60.0) -> dict[str, Json]:  # noqa: ASYNC109 - its name
        """Run Python code in a jail that holds the workspace, whose modules it may import.

        code: the text of a script
        timeout: limit in seconds
        """
        return await self._run(["-c", code], timeout)

    async def run_tests(self, test_command: str = "pytest") -> dict[str, Json]:
        """Run the tests of the workspace by pytest, and report which fail and why.

        Files that the tests write are discarded.

        test_command: pytest with its arguments, such as `pytest tests/test_a.py -k name`
        """
        arguments = python_arguments(test_command)
        if arguments[:2] != ["-m", "pytest"]:
            raise ToolError(
                "run_tests takes one pytest command, which runs unittest classes too; use shell "
                "for any other command"
            )
        project = Project(
            root="", name=self.workspace.name, import_roots=self.workspace.import_roots,
            arguments=tuple(arguments[2:]), loopback=self.workspace.loopback,
        )
        run = await run_suite(
            dict(self.workspace.files), project, self.workspace.package_folders, self._sandbox
        )
        counts = Counter(str(row["status"]) for row in run.outcomes.values())
        failing: list[Json] = [
            {"test": node, "status": (row := run.outcomes[node])["status"],
             "message": row.get("message", ""), "file": row.get("file", ""),
             "line": row.get("line", 0)}
            for node in run.failing
        ]
        return {
            "green": bool(counts["passed"]) and not failing and not run.problems,
            "passed": counts["passed"], "failed": len(failing),
            "excluded": sum(counts[one] for one in NEUTRAL_STATUSES), "exit_code": run.exit_code,
            "failures": failing, "problems": [*run.problems],
        }

    def _text(self, path: str) -> str:
        text = self.workspace.read(path)
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ToolError(
                f"{path} is not UTF-8 text; look at its bytes with execute_code"
            ) from error
        return text

    async def _run(self, arguments: list[str], timeout_s: float) -> dict[str, Json]:
        limits = Limits(
            wall_s=timeout_s, cpu_s=timeout_s + 1, memory_mib=MEMORY_MIB,
            output_bytes=OUTPUT_BYTES, open_files=256,
        )
        result = await run_python(
            arguments, self.workspace.files, self._sandbox, limits, processes=True, keep=True,
            package_folders=self.workspace.package_folders, roots=self.workspace.import_roots,
        )
        applied_changes = self.workspace.take_over(result.changed, result.removed, result.left_out)
        if not result.changes_known:
            applied_changes["notes"].append("its file changes are unknown and were discarded")
        return {
            "exit_code": result.exit_code, "stdout": escape_surrogates(result.stdout),
            "stderr": escape_surrogates(result.stderr), "timed_out": result.timed_out,
            "error": result.error, **{name: [*texts] for name, texts in applied_changes.items()},
        }


def open_tools(
    workspace: Workspace, sandbox: Sandbox | None = None, *,
    max_output_bytes: int = MAX_OUTPUT_BYTES, timeout_s: float = MAX_S,
) -> ToolRegistry:
    tools = WorkspaceTools(workspace, sandbox)
    registry = ToolRegistry(max_output_bytes, timeout_s)
    for function in (
        tools.file_list, tools.file_read, tools.file_write, tools.edit_file, tools.search,
        tools.shell, tools.run_tests, tools.execute_code,
    ):
        registry.register(function)
    return registry


def _occurrences(text: str, piece: str) -> int:
    """How often a piece occurs in a text, overlaps counted."""
    found, start = 0, text.find(piece)
    while start >= 0:
        found, start = found + 1, text.find(piece, start + 1)
    return found


def _refuse_surrogates(content: str) -> None:
    try:
        content.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolError(f"the content cannot be written as UTF-8: {error}") from error
