"""A debugger that calls tools before it answers.

The model names a tool and its arguments in a JSON answer, which every provider supports. Such an
answer is logged and charged like any other. A failing call is a result too, and results
are treated as untrusted data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from agent.core.domain import File, Report, Script, Solution, Task
from agent.core.events import CodeWritten, Notice, ToolCalled
from agent.core.state import Suite
from agent.iteration.context import Context
from agent.memory import FailureDescription
from agent.propose.roles import DEBUGGER, INVESTIGATOR, Investigation, ask_or_none, brief
from agent.target.test_analysis.held_out import contains_test, file_without_test
from agent.tools.debugging import DebuggerTools, DebugScope
from agent.tools.registry import ToolRegistry
from agent.tools.standard import WorkspaceTools
from agent.tools.workspace import Workspace, is_inside
from agent.verify.project.suite_run import project_files
from llm import Message
from llm.asking.prompts import fenced, mark_for
from sandbox import SandboxError

MAX_CALLS, FEW_CALLS = 5, 2
"""Tool calls before an answer; the smaller number for a small model or a small context window."""
MAX_CHARS, CHARS_PER_TOKEN = 6_000, 0.3
"""The maximum characters of one tool result, in total and per token of the context window."""
WIDE_WINDOW, LEAST_WINDOW = 32_000, 6_000
"""Tokens of a context window that allows `MAX_CALLS`, and the minimum for any call."""
MAX_CALL_S = 120.0


async def allowed_calls(ctx: Context) -> tuple[int, int]:
    """Returns how many tool calls the debugger's model may make, and the maximum characters of one
    result. A small model or context window allows fewer calls or none."""
    window = (await ctx.answerer(DEBUGGER.name)).window
    choice = ctx.plan.of(DEBUGGER.name)  # the server's list of models may have changed the plan
    if choice is None:
        return 0, 0
    if window is None:
        return FEW_CALLS if choice.is_small else MAX_CALLS, MAX_CHARS
    calls = FEW_CALLS if choice.is_small or window < WIDE_WINDOW else MAX_CALLS
    return calls if window >= LEAST_WINDOW else 0, min(MAX_CHARS, int(CHARS_PER_TOKEN * window))


def debugger_tools(
    ctx: Context, solution: Solution, suite: Suite, report: Report, max_chars: int = MAX_CHARS
) -> ToolRegistry:
    """Creates the tools that run and read the program, and a project's files and tests; held-out
    tests are hidden."""
    task, project = ctx.task, ctx.task.project
    files = readable_files(task, solution, suite)
    registry = ToolRegistry(
        max_output_bytes=max_chars, timeout_s=min(MAX_CALL_S, max(1.0, ctx.seconds_left))
    )
    own = {file.path for file in solution.files}
    support = tuple(File(path=path, text=text) for path, text in files.items() if path not in own)

    def lessons(words: str) -> list[str]:
        failure = FailureDescription(message=words)
        root = project.root if project else ""
        return [lesson.text for lesson in ctx.memory.lessons_for(failure, root)]

    DebuggerTools(DebugScope(
        task=task.model_copy(update={"support": support}), solution=solution,
        tests=suite.visible, report=suite.without_held_out(report),
        programs={
            entry.event.iteration: entry.event.solution for entry in ctx.log()
            if isinstance(entry.event, CodeWritten)
        },
        lessons=lessons if ctx.settings.enable_cross_session_memory else None,
        import_roots=project.import_roots if project else (),
    ), ctx.sandbox).register(registry)
    if project is None:
        return registry
    workspace = Workspace(
        {path: text for path, text in files.items() if is_inside(path)}, name=project.name,
        import_roots=project.import_roots, package_folders=task.site_dirs,
        loopback=project.loopback,
    )
    tools = WorkspaceTools(workspace, ctx.sandbox)
    for function in (tools.file_list, tools.file_read, tools.search):
        registry.register(function)
    if not project.command:
        registry.register(tools.run_tests)
    return registry


def readable_files(task: Task, solution: Solution, suite: Suite) -> dict[str, str]:
    """The texts of the program's and support files, without the text of held-out tests."""
    files = project_files(task, solution)
    own = {file.path for file in solution.files}
    for test in suite.held_out:
        file = test.file if isinstance(test, Script) else ""
        node = test.node.removeprefix(f"{file}::") if isinstance(test, Script) else ""
        for path, text in [*files.items()]:
            if path in own or (path != file and not contains_test(test.code, node, text)):
                continue
            rest = file_without_test(test.code if path == file else text, node) if node else None
            if rest is None:
                del files[path]
            else:
                files[path] = rest
    return files | {
        test.file: test.code for test in suite.visible
        if isinstance(test, Script) and test.file in files and test.code
    }


async def investigate(
    ctx: Context, variables: Mapping[str, str], tools: ToolRegistry, calls: int, max_chars: int,
    *, consequence: str,
) -> Investigation | None:
    """Asks the debugger, which may make `calls` tool calls first; `None` if it gives no answer."""
    question = {**variables, "tools": _described(tools)}
    turns: list[Message] = []
    for left in range(calls, -1, -1):
        answer = await ask_or_none(
            ctx, INVESTIGATOR, question, turns=turns, consequence=consequence
        )
        if answer is None or not answer.tool or not left:
            break
        result = brief(await _call(ctx, tools, answer), max_chars)
        ctx.emit(ToolCalled(tool=answer.tool, arguments=answer.arguments, result=result))
        # The name is a model's text, and may come from a hostile program.
        name = answer.tool if answer.tool in tools else "that tool"
        turns += [Message("assistant", answer.model_dump_json()), Message("user", (
            f"What {name} gives:\n{fenced('seen', result, mark_for([result]))}\n\n"
            + (f"You may look {left - 1} more times." if left > 1 else
               "You may look no more: answer now with the JSON object alone, with `tool` empty.")
        ))]
    return answer


async def _call(ctx: Context, tools: ToolRegistry, request: Investigation) -> str:
    try:
        arguments = json.loads(request.arguments or "{}")
    except (ValueError, RecursionError) as error:
        return f"error: `arguments` is no JSON: {error}"
    if not isinstance(arguments, dict):
        return "error: `arguments` must be the text of a JSON object"
    try:
        return (await tools.call(request.tool, arguments)).text
    except SandboxError as error:
        ctx.emit(Notice(level="warning", text=(
            f"The debugger could not run {request.tool}: {error} It continues without it."
        )))
        return "error: nothing can be run now; answer by what is known"


def _described(tools: ToolRegistry) -> str:
    return "\n".join(
        f"{one['name']}: {one['description']}\nIt takes {json.dumps(one['parameters'])}\n"
        for one in tools.get_schemas()
    )
