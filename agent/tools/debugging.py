"""Debugger tools: run snippets, trace calls, inspect functions and tests, compare iterations.

They work on the current program and see only what the caller puts into the `DebugScope`, never a
held-out test. Programs run in the jail.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from agent.core.domain import File, Report, Script, Solution, Task, TestCase
from agent.core.trees import expression, parse_or_empty
from agent.search.precheck.tracing import trace
from agent.search.values import Snapshot
from agent.tools.errors import ToolError
from agent.tools.python_run import run_snippet
from agent.tools.registry import ToolRegistry
from sandbox import Json, Limits, Sandbox

SNIPPET_S = 5.0
SNIPPET_BYTES = 20_000
MAX_STEPS = 60
"""Trace lines of a call that are shown; longer traces are cut in the middle."""
MAX_CALLERS = 20
Function = ast.FunctionDef | ast.AsyncFunctionDef
Code = Annotated[str, Field(max_length=4_000)]
Name = Annotated[str, Field(max_length=200)]


@dataclass(frozen=True)
class DebugScope:
    task: Task
    """Its `support` holds the only other readable files."""
    solution: Solution
    tests: Sequence[TestCase]
    report: Report
    programs: Mapping[int, Solution]
    """The programs of this run by iteration; 0 is the initial program."""
    lessons: Callable[[str], Sequence[str]] | None = None
    """Searches the lessons of earlier failures; `None` where the memory is switched off."""
    import_roots: Sequence[str] = ("",)


class DebuggerTools:
    """The tools over a scene.

    Methods raise `ToolError` for impossible requests and `SandboxError` where the jail is broken.
    """

    def __init__(self, scene: DebugScope, sandbox: Sandbox, snippet_s: float = SNIPPET_S) -> None:
        self._scene = scene
        self._snippet_s = snippet_s
        self._sandbox = sandbox

    def register(self, registry: ToolRegistry) -> None:
        """Adds the tools; `search_memory` only where the memory is switched on."""
        for function in (
            self.run_snippet, self.trace_call, self.inspect_function, self.show_test,
            self.diff_iterations,
        ):
            registry.register(function)
        if self._scene.lessons is not None:
            registry.register(self.search_memory)

    async def run_snippet(self, code: Code) -> dict[str, Json]:
        """Run Python code with the program loaded.

        The program's names are defined, and the value of a final expression is printed.

        code: the code to run, for a few seconds at most
        """
        solution, task = self._at_import_root(self._scene.solution.entry)
        ran = await run_snippet(code, solution, task, self._sandbox, Limits(
            wall_s=self._snippet_s, cpu_s=self._snippet_s, output_bytes=SNIPPET_BYTES,
        ))
        return {"stdout": ran.stdout, "stderr": ran.stderr, "error": ran.error}

    async def trace_call(self, call: Name) -> dict[str, Json]:
        """Run one call of the program line by line, and show the values of its variables.

        call: an expression, such as f([1, 2])
        """
        node = expression(call)
        if node is None:
            raise ToolError("the call is not a Python expression; for statements, use run_snippet")
        used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        solution, task = self._at_import_root(next(
            (file.path for file, name, _ in self._functions() if name in used),
            self._scene.solution.entry,
        ))
        # A call that returns is made to fail: the tracer reports values of failures only.
        code = f"given = {call}\nraise RuntimeError({PREFIX!r} + repr(given)[:500])"
        test = Script(name="trace", origin="adversarial", code=code)
        traced = await trace(solution, (test,), task, self._sandbox, hanging={0})
        (run,) = traced.tests
        gives = run.message.removeprefix(PREFIX) if run.message.startswith(PREFIX) else ""
        ended = f"{run.exception}: {run.message}".strip(": ")
        lines = [*_steps(traced.snapshots, solution.text)]
        if len(lines) > MAX_STEPS:
            half = MAX_STEPS // 2
            lines = [*lines[:half], f"… {len(lines) - 2 * half} lines …", *lines[-half:]]
        return {"gives": gives} | ({} if gives else {"ended": ended}) | {"lines": [*lines]}

    async def inspect_function(self, name: Name) -> dict[str, Json]:
        """Show a function of the program: its signature, docstring, source, and callers.

        name: a function, or a method as Class.method
        """
        functions = [*self._functions()]
        found = [one for one in functions if one[1] == name]
        found += [one for one in functions if one[2].name == name]
        if not found:
            named = ", ".join(full for _, full, _ in functions) or "none"
            raise ToolError(f"there is no function {name!r}; there are {named}")
        file, _, node = found[0]
        lines = file.text.split("\n")[node.lineno - 1 : node.end_lineno]
        return {
            "file": file.path, "line": node.lineno,
            "signature": f"{node.name}({ast.unparse(node.args)})",
            "docstring": ast.get_docstring(node) or "",
            "source": "\n".join(lines), "callers": [*self._callers(node.name)],
        }

    async def show_test(self, name: Annotated[str, Field(max_length=500)]) -> dict[str, Json]:
        """Show a test of the program, and its outcome.

        name: the test, as named in its failure
        """
        for test in self._scene.tests:
            if test.name == name:
                return {"code": test.code, "verdicts": [
                    {"status": one.evidence_status, "message": one.message, "call": one.call,
                     "expected": one.expected, "got": one.got}
                    for one in self._scene.report.verdicts if one.test == name
                ]}
        named = "; ".join(test.name for test in self._scene.tests) or "none"
        raise ToolError(f"there is no test {name!r}; there are: {named}")

    async def diff_iterations(
        self, first: Annotated[int, Field(ge=0)], second: Annotated[int, Field(ge=0)]
    ) -> str:
        """Show the diff between the programs of two iterations.

        first: the number of an iteration; 0 is the initial program
        second: the number of another iteration
        """
        programs = self._scene.programs
        for number in (first, second):
            if number not in programs:
                there = ", ".join(map(str, sorted(programs)))
                raise ToolError(f"iteration {number} has no program; these have: {there}")
        return programs[second].diff(programs[first]) or "they are the same"

    async def search_memory(self, words: Name) -> list[str]:
        """Search the lessons of earlier failures.

        words: keywords of the failure
        """
        return [*self._scene.lessons(words)] if self._scene.lessons is not None else []

    def _at_import_root(self, entry: str) -> tuple[Solution, Task]:
        """The program with this entry, and its task, with paths relative to the import roots."""
        scene = self._scene
        files = tuple(self._relative(file) for file in scene.solution.files)
        support = tuple(self._relative(file) for file in scene.task.support)
        path = self._relative(File(path=entry, text="")).path
        return (
            scene.solution.model_copy(update={"files": files, "entry": path}),
            scene.task.model_copy(update={"support": support, "solution": None}),
        )

    def _relative(self, file: File) -> File:
        for root in sorted(self._scene.import_roots, key=len, reverse=True):
            if root and file.path.startswith(f"{root}/"):
                return file.model_copy(update={"path": file.path[len(root) + 1 :]})
        return file

    def _functions(self) -> Iterator[tuple[File, str, Function]]:
        """Each function with its file and its name, qualified by its class."""
        for file, tree in self._trees():
            qualified_names = {
                id(one): f"{node.name}.{one.name}"
                for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
                for one in node.body if isinstance(one, Function)
            }
            for node in ast.walk(tree):
                if isinstance(node, Function):
                    yield file, qualified_names.get(id(node), node.name), node

    def _callers(self, name: str) -> Iterator[str]:
        found = [
            f"{file.path}, line {node.lineno}: {ast.unparse(node)[:120]}"
            for file, tree in self._trees() for node in ast.walk(tree)
            if isinstance(node, ast.Call) and name == (
                getattr(node.func, "id", None) or getattr(node.func, "attr", None)
            )
        ]
        yield from found[:MAX_CALLERS]

    def _trees(self) -> Iterator[tuple[File, ast.Module]]:
        return ((file, parse_or_empty(file.text)) for file in self._scene.solution.files)


PREFIX = "the call gives "


def _steps(moments: Sequence[Snapshot], text: str) -> Iterator[str]:
    """The executed lines, each with the values of variables before it."""
    lines = text.split("\n")
    for one in moments:
        if not 0 < one.line <= len(lines):
            continue  # the program shares the tracer's process and could forge lines
        line = lines[one.line - 1].strip()
        if line.startswith("class ") or any(name == "__qualname__" for name, _ in one.values):
            continue  # a class body
        held = ", ".join(f"{name} = {value}" for name, value in one.values)
        yield f"line {one.line}: {line}" + (f"    # {held}" if held else "")
