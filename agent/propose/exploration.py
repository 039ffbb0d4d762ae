"""A debugger that looks around before it answers: it calls a tool, and sees what comes of it.

It names a tool and its arguments in an answer in JSON, which every provider can be asked for. Such
an answer is logged, reserved and paid for like any other. Whatever goes wrong in a call is
something to see, and what is seen is data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from agent.core.domain import File, Report, Script, Solution, Task
from agent.core.events import CodeWritten, Looked, Notice
from agent.core.state import Suite
from agent.iteration.context import Context
from agent.memory import FailureDescription
from agent.propose.roles import (
    DEBUGGER,
    INVESTIGATOR,
    Investigation,
    ask_if_it_answers,
    brief,
)
from agent.target.test_analysis.held_out import contains_test, file_without_test
from agent.tools.debugging import DebuggerTools, Scene
from agent.tools.registry import ToolRegistry
from agent.tools.standard import WorkspaceTools
from agent.tools.workspace import Workspace, is_inside
from agent.verify.project.suite_run import laid
from llm import Message
from llm.asking.prompts import fenced, mark_for
from sandbox import SandboxError

MAX_LOOKS, FEW_LOOKS = 5, 2
"""Looks before an answer; the fewer of a small model, or in a small window."""
MAX_SEEN, SHARE_SEEN = 6_000, 0.3
"""Characters of what one call shows, and for each token of the window."""
WIDE_WINDOW, LEAST_WINDOW = 32_000, 6_000
"""Tokens of a window that holds a question with all that was seen, and of one that holds little."""
MAX_CALL_S = 120.0


async def allowed_looks(ctx: Context) -> tuple[int, int]:
    """How often the model that is the debugger may call a tool, and the characters of what one call
    shows; fewer for a small model, and no call where its window would not hold what it sees."""
    choice = ctx.plan.of(DEBUGGER.name)
    if choice is None:
        return 0, 0
    window = (await ctx.answerer(DEBUGGER.name)).window
    if window is None:
        return FEW_LOOKS if choice.is_small else MAX_LOOKS, MAX_SEEN
    looks = FEW_LOOKS if choice.is_small or window < WIDE_WINDOW else MAX_LOOKS
    return looks if window >= LEAST_WINDOW else 0, min(MAX_SEEN, int(SHARE_SEEN * window))


def looking_tools(
    ctx: Context, solution: Solution, suite: Suite, report: Report, most_seen: int = MAX_SEEN
) -> ToolRegistry:
    """Tools that run and read the program, and in a project its files and tests; of a test that is
    held out nothing is there."""
    task, project = ctx.task, ctx.task.project
    files = readable_files(task, solution, suite)
    registry = ToolRegistry(
        max_output_bytes=most_seen, timeout_s=min(MAX_CALL_S, max(1.0, ctx.seconds_left))
    )
    own = {file.path for file in solution.files}
    support = tuple(
        File(path=path, text=text) for path, text in files.items() if path not in own
    )

    def lessons(words: str) -> list[str]:
        failure = FailureDescription(message=words)
        root = project.root if project else ""
        return [lesson.text for lesson in ctx.memory.lessons_for(failure, root)]

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
    ctx: Context, variables: Mapping[str, str], tools: ToolRegistry, looks: int, most_seen: int,
    *, without: str,
) -> Investigation | None:
    """What the debugger answers after at most that many looks; `None` where its model gives no
    answer."""
    question = {**variables, "tools": _described(tools)}
    turns: list[Message] = []
    for left in range(looks, -1, -1):
        answer = await ask_if_it_answers(
            ctx, INVESTIGATOR, question, turns=turns, without=without
        )
        if answer is None or not answer.tool or not left:
            break
        seen = brief(await _seen(ctx, tools, answer), most_seen)
        ctx.emit(Looked(tool=answer.tool, arguments=answer.arguments, seen=seen))
        # Its words are a model's, and may be those of a hostile program.
        name = answer.tool if answer.tool in tools else "that tool"
        turns += [Message("assistant", answer.model_dump_json()), Message("user", (
            f"What {name} gives:\n{fenced('seen', seen, mark_for([seen]))}\n\n"
            + (f"You may look {left - 1} more times." if left > 1 else
               "You may look no more: answer now with the JSON object alone, with `tool` empty.")
        ))]
    return answer


async def _seen(ctx: Context, tools: ToolRegistry, asked: Investigation) -> str:
    try:
        arguments = json.loads(asked.arguments or "{}")
    except (ValueError, RecursionError) as error:
        return f"error: `arguments` is no JSON: {error}"
    if not isinstance(arguments, dict):
        return "error: `arguments` must be the text of a JSON object"
    try:
        return (await tools.call(asked.tool, arguments)).text
    except SandboxError as error:
        ctx.emit(Notice(level="warning", text=(
            f"The debugger could not run {asked.tool}: {error} It goes on without."
        )))
        return "error: nothing can be run now; answer by what is known"


def _described(tools: ToolRegistry) -> str:
    """Each tool with what it takes."""
    return "\n".join(
        f"{one['name']}: {one['description']}\nIt takes {json.dumps(one['parameters'])}\n"
        for one in tools.get_schemas()
    )
