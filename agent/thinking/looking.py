"""A debugger that looks around before it answers: it calls a tool, and sees what comes of it.

A model whose provider has tool calls makes them in its own way (`llm.asking.tools`), any other by
an answer in JSON. Either is an answer like any other: logged, reserved and paid for. Whatever
goes wrong in a call is something to see, and what is seen is data.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace

from agent.core.domain import File, Report, Script, Solution, Task
from agent.core.events import CodeWritten, Looked, ModelFailed, Notice
from agent.core.state import Suite
from agent.healing.context import Context
from agent.intake.asked.held_out import contains_test, file_without_test
from agent.judge.project_run import laid
from agent.memory import FailureDescription
from agent.thinking.roles import (
    DEBUGGER,
    DEBUGGER_WITH_TOOLS,
    INVESTIGATOR,
    Investigation,
    RootCause,
    ask_with_tools,
    brief,
    if_it_answers,
)
from agent.tools.debugging import DebuggerTools, Scene
from agent.tools.registry import ToolRegistry
from agent.tools.standard import WorkspaceTools
from agent.tools.workspace import Workspace, is_inside
from llm import Message, Tool
from llm.asking.prompts import fenced, mark_for
from llm.asking.tools import Call, call_text
from llm.errors import ToolsRefused
from llm.provider import row_of
from sandbox import SandboxError

MOST_LOOKS, FEW_LOOKS = 5, 2
"""Looks before an answer; the fewer of a small model, or in a small window."""
MOST_SEEN, SHARE_SEEN = 6_000, 0.3
"""Characters of what one call shows, and for each token of the window."""
WIDE_WINDOW, LEAST_WINDOW = 32_000, 6_000
"""Tokens of a window that holds a question with all that was seen, and of one that holds little."""
MOST_CALL_S = 120.0


@dataclass(frozen=True)
class Leave:
    """How far a debugger may look around."""

    looks: int
    """None where its model's window would not hold what it sees."""
    most_seen: int
    """Characters of what one call shows."""
    calls_tools: bool
    """Its model calls tools in its provider's own way."""


NO_LEAVE = Leave(0, 0, False)


async def leave(ctx: Context) -> Leave:
    """How far the model that is the debugger may look around: a small one not so far."""
    choice = ctx.plan.of(DEBUGGER.name)
    if choice is None:
        return NO_LEAVE
    row = row_of(choice.provider)
    window = (await ctx.answerer(DEBUGGER.name)).window
    looks = MOST_LOOKS
    if choice.is_small or (window is not None and window < WIDE_WINDOW):
        looks = FEW_LOOKS
    if window is not None and window < LEAST_WINDOW:
        looks = 0
    seen = MOST_SEEN if window is None else min(MOST_SEEN, int(SHARE_SEEN * window))
    refused = any(
        isinstance(entry.event, ModelFailed) and entry.event.error == ToolsRefused.__name__
        for entry in ctx.log()
    )
    return Leave(looks, seen, row.tools and not refused)


def looking_tools(
    ctx: Context, solution: Solution, suite: Suite, report: Report, most_seen: int = MOST_SEEN
) -> ToolRegistry:
    """Tools that run and read the program, and in a project its files and tests; of a test that is
    held out nothing is there."""
    task, project = ctx.task, ctx.task.project
    files = readable_files(task, solution, suite)
    registry = ToolRegistry(
        max_output_bytes=most_seen, timeout_s=min(MOST_CALL_S, max(1.0, ctx.seconds_left))
    )
    own = {file.path for file in solution.files}
    support = tuple(
        File(path=path, text=text) for path, text in files.items() if path not in own
    )

    def lessons(words: str) -> list[str]:
        told = FailureDescription(message=words)
        root = project.root if project else ""
        return [lesson.text for lesson in ctx.memory.lessons_for(told, root)]

    DebuggerTools(Scene(
        task=task.model_copy(update={"support": support}), solution=solution,
        tests=suite.visible, report=suite.seen_of(report),
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
        import_roots=project.import_roots, sites=task.sites, loopback=project.loopback,
    )
    tools = WorkspaceTools(workspace, ctx.sandbox)
    for function in (tools.file_list, tools.file_read, tools.search):
        registry.register(function)
    if not project.command:
        registry.register(tools.run_tests)
    return registry


def readable_files(task: Task, solution: Solution, suite: Suite) -> dict[str, str]:
    """The program's files and those beside it, without the text of a test that is held out."""
    files = laid(task, solution)
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


async def looked_around(
    ctx: Context, variables: Mapping[str, str], tools: ToolRegistry, allowed: Leave, *, without: str
) -> RootCause | None:
    """What the debugger answers once it has looked; `None` where its model gives no answer. A
    server that takes no tools of its own is told them in words."""
    try:
        return await _looked_around(ctx, variables, tools, allowed, without)
    except ToolsRefused as error:
        ctx.emit(Notice(level="info", text=(
            f"{error}. The debugger is told of them in words, and names one in its answer."
        )))
        plain = replace(allowed, calls_tools=False)
        return await _looked_around(ctx, variables, tools, plain, without)


async def _looked_around(
    ctx: Context, variables: Mapping[str, str], tools: ToolRegistry, allowed: Leave, without: str
) -> RootCause | None:
    native = tuple(
        Tool(one["name"], one["description"], one["parameters"]) for one in tools.get_schemas()
    ) if allowed.calls_tools else ()
    question = {**variables, "tools": "" if native else _described(tools)}
    turns: list[Message] = []
    for left in range(allowed.looks, -1, -1):
        asked: Awaitable[RootCause | Call] = (
            ask_with_tools(ctx, DEBUGGER_WITH_TOOLS, question, turns, native if left else ())
            if native else ask_with_tools(ctx, INVESTIGATOR, question, turns, ())
        )
        answer = await if_it_answers(ctx, DEBUGGER.name, asked, without)
        call = _call_of(answer)
        if answer is None or call is None:
            return answer if isinstance(answer, RootCause) else None
        if not left:
            break
        seen = brief(await _seen(ctx, tools, call), allowed.most_seen)
        ctx.emit(Looked(tool=call.name, arguments=call.arguments, seen=seen))
        said = call_text(call.name, call.arguments) if isinstance(answer, Call) else (
            answer.model_dump_json()
        )
        # Its words are a model's, and may be those of a hostile program.
        name = call.name if call.name in tools else "that tool"
        turns += [Message("assistant", said), Message("user", (
            f"What {name} gives:\n{fenced('seen', seen, mark_for([seen]))}\n\n"
            + (f"You may look {left - 1} more times." if left > 1 else
               "You may look no more: answer now with the JSON object alone"
               + (", with `tool` empty." if not native else "."))
        ))]
    return answer if isinstance(answer, RootCause) else None


def _call_of(answer: RootCause | Call | None) -> Call | None:
    if isinstance(answer, Investigation):
        return Call(answer.tool, answer.arguments) if answer.tool else None
    return answer if isinstance(answer, Call) else None


async def _seen(ctx: Context, tools: ToolRegistry, call: Call) -> str:
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError) as error:
        return f"error: `arguments` is no JSON: {error}"
    if not isinstance(arguments, dict):
        return "error: `arguments` must be the text of a JSON object"
    try:
        return (await tools.call(call.name, arguments)).text
    except SandboxError as error:
        ctx.emit(Notice(level="warning", text=(
            f"The debugger could not run {call.name}: {error} It goes on without."
        )))
        return "error: nothing can be run now; answer by what is known"


def _described(tools: ToolRegistry) -> str:
    """Each tool with what it takes."""
    return "\n".join(
        f"{one['name']}: {one['description']}\nIt takes {json.dumps(one['parameters'])}\n"
        for one in tools.get_schemas()
    )
