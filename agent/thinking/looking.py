"""A debugger that looks around before it answers: it names a tool, and sees what comes of it.

Tools are called by an answer in JSON like any other, so every provider can, and what was asked and
answered is recorded, replayed and paid for as everything else. Whatever goes wrong in a call is
something to see.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from agent.core.domain import Project, Script, Solution, Task
from agent.core.events import Notice
from agent.core.state import Suite
from agent.healing.context import Context
from agent.intake.asked.held_out import file_without_test
from agent.judge.project_run import laid
from agent.thinking.roles import DEBUGGER, INVESTIGATOR, Investigation, ask_if_it_answers, brief
from agent.tools.registry import ToolRegistry
from agent.tools.standard import WorkspaceTools
from agent.tools.workspace import Workspace, is_inside
from llm import Message
from llm.asking.prompts import fenced, mark_for
from llm.provider import row_of
from sandbox import Sandbox

MOST_LOOKS = 5
MOST_SEEN = 6_000
"""Characters of what one call shows."""
LEAST_WINDOW = 32_000
"""Tokens of the smallest window that holds a question with all that was seen."""
MOST_CALL_S = 120.0


async def may_look(ctx: Context) -> bool:
    """Whether the debugger is a model that is given tools: no small one, nor one whose window what
    it sees would not fit."""
    choice = ctx.plan.of(DEBUGGER.name)
    if choice is None or row_of(choice.provider).small:
        return False
    window = (await ctx.answerer(DEBUGGER.name)).window
    return window is None or window >= LEAST_WINDOW


def looking_tools(
    task: Task, project: Project, solution: Solution, suite: Suite, sandbox: Sandbox,
    timeout_s: float = MOST_CALL_S,
) -> ToolRegistry:
    """Tools that read a project and run its tests; of a test that is held out nothing is there."""
    files = readable_files(task, solution, suite)
    workspace = Workspace(
        {path: text for path, text in files.items() if is_inside(path)}, name=project.name,
        import_roots=project.import_roots, sites=task.sites, loopback=project.loopback,
    )
    tools = WorkspaceTools(workspace, sandbox)
    registry = ToolRegistry(max_output_bytes=MOST_SEEN, timeout_s=timeout_s)
    for function in (tools.file_list, tools.file_read, tools.search):
        registry.register(function)
    if not project.command:
        registry.register(tools.run_tests)
    return registry


def readable_files(task: Task, solution: Solution, suite: Suite) -> dict[str, str]:
    """A project's files without the text of a test that is held out."""
    files = laid(task, solution)
    for test in suite.held_out:
        if isinstance(test, Script) and test.file:
            rest = file_without_test(test.code, test.node.removeprefix(f"{test.file}::"))
            if rest is None:
                files.pop(test.file, None)
            else:
                files[test.file] = rest
    return files | {
        test.file: test.code for test in suite.visible
        if isinstance(test, Script) and test.file in files and test.code
    }


async def looked_around(
    ctx: Context, variables: Mapping[str, str], tools: ToolRegistry, *, without: str
) -> Investigation | None:
    """What the debugger answers once it has looked; `None` where its model gives no answer."""
    question = {**variables, "tools": _described(tools)}
    turns: list[Message] = []
    looks = MOST_LOOKS
    while True:
        answer = await ask_if_it_answers(
            ctx, INVESTIGATOR, question, turns=turns, without=without
        )
        if answer is None or not answer.tool or not looks:
            return answer
        looks -= 1
        seen = brief(await _seen(tools, answer), MOST_SEEN)
        ctx.emit(Notice(level="info", text=(
            f"The debugger looks: {answer.tool} {' '.join(answer.arguments.split())}".rstrip()
        )))
        turns += [Message("assistant", answer.model_dump_json()), Message("user", (
            f"What {answer.tool} gives:\n{fenced('seen', seen, mark_for([seen]))}\n\n"
            + (f"You may look {looks} more times." if looks else
               "You may look no more: answer now, with `tool` empty.")
        ))]


async def _seen(tools: ToolRegistry, answer: Investigation) -> str:
    try:
        arguments = json.loads(answer.arguments or "{}")
    except ValueError as error:
        return f"error: `arguments` is no JSON: {error}"
    if not isinstance(arguments, dict):
        return "error: `arguments` must be the text of a JSON object"
    return (await tools.call(answer.tool, arguments)).text


def _described(tools: ToolRegistry) -> str:
    """Each tool with what it takes."""
    return "\n".join(
        f"{one['name']}: {one['description']}\nIt takes {json.dumps(one['parameters'])}\n"
        for one in tools.get_schemas()
    )
