"""Programs of several files: first drafts by a model, and repairs by edits of any file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Literal

from agent.core.domain import File, Project, Solution, SuspectFile
from agent.iteration.context import Context
from agent.iteration.iterations import is_small
from agent.iteration.strategies import RepairInput, failing_nodes
from agent.propose.roles import SMALL_GENERATOR, ask_for_code, ask_generator
from agent.search.project.suite import open_suite
from agent.target.environment import standard_modules
from agent.target.repository.tree import is_test_code
from agent.target.task import PASTED_FILENAME
from agent.tools.errors import BadPath
from agent.tools.workspace import checked_path
from agent.verify.project.suite_run import project_files
from llm import BadReply
from llm.asking.answers import apply_edits_by_file, parse_edits_by_file, parse_files

MAX_FILES = 20
"""The maximum number of files of a draft."""
SUFFIXES = (".py", ".json", ".csv", ".txt", ".toml", ".yaml")
MAX_TRACED = 3
MAX_VALUES = 12
MAX_NAMED = 10


async def write_draft(ctx: Context, origin: Literal["model", "draft"]) -> Solution:
    """Asks for a first program of one or more files; raises an `LlmError`."""

    def read(text: str) -> dict[str, str]:
        found = {path or PASTED_FILENAME: code for path, code in parse_files(text).items()}
        if len(found) > MAX_FILES:
            raise BadReply(f"{len(found)} files are too many; {MAX_FILES} are allowed")
        for path in found:
            if fault := _path_fault(path, found):
                raise BadReply(fault)
        return found

    words = {"task": ctx.task.text}
    if is_small(ctx):
        texts = {PASTED_FILENAME: await ask_for_code(ctx, "draft", words, prompt=SMALL_GENERATOR)}
    else:
        texts, *_ = await ask_generator(ctx, "draft", words, read)
    return Solution(
        files=tuple(File(path=path, text=text) for path, text in texts.items()),
        entry=next(iter(texts)), origin=origin,
    )


def _path_fault(path: str, files: Collection[str]) -> str:
    """Why a drafted file's path is refused; empty if it is allowed."""
    try:
        plain = checked_path(path) == path
    except BadPath as error:
        return str(error)
    parts = PurePosixPath(path)
    if not plain or parts.suffix not in SUFFIXES:
        return f"{path} is not a plain path; write only {', '.join(SUFFIXES)} files"
    if is_test_code(path):
        return f"{path} is named like a test or settings file; write only the program"
    if parts.parts[0].removesuffix(".py") in standard_modules():
        return f"{path} would shadow a standard library module; choose another name"
    if path == next(iter(files)) and parts.suffix != ".py":
        return f"{path} is first, but not a module; begin with the module that the task names"
    if any(str(above) in files for above in parts.parents):
        return f"{path} is impossible: {parts.parent} is a file"
    return ""


async def edited_solution(
    solution: Solution, ctx: Context, question: Mapping[str, str], temperature: float | None = None,
) -> Solution:
    """Asks for edits and applies them to the program; raises an `LlmError`."""
    project = ctx.task.project

    def read(text: str) -> dict[str, str]:
        edits = parse_edits_by_file(text)
        texts = {file.path: file.text for file in solution.files}
        support = {file.path for file in ctx.task.support}
        editable = tuple(texts) if project is None else project.editable
        for path in edits:
            if path not in editable or path not in texts:
                raise BadReply(_refusal(path, path in support, editable))
        return apply_edits_by_file(texts, edits)

    texts, *_ = await ask_generator(ctx, "edit_files", question, read, temperature)
    return solution.with_texts(texts, origin="model")


def _refusal(path: str, is_support: bool, editable: Sequence[str]) -> str:
    why = "must not be edited: it is a test, a settings file, or excluded" if is_support else (
        "is no file of this program"
    )
    files = ", ".join(editable[:MAX_NAMED])
    more = " and others" if len(editable) > MAX_NAMED else ""
    return f"{path} {why}; these may be edited: {files}{more}"


async def values_seen(
    attempt: RepairInput, ctx: Context, project: Project, suspect: SuspectFile
) -> list[str]:
    """Variable values in the most suspicious file at the points where failing tests go wrong."""
    if project.command:
        return []
    nodes = failing_nodes(attempt.tests, attempt.report)
    async with open_suite(
        project_files(ctx.task, attempt.solution), project, ctx.task.site_dirs, ctx.sandbox
    ) as suite:
        numbers = [number for number, node in enumerate(suite.nodes) if node in nodes]
        numbers = numbers[:MAX_TRACED]
        if not numbers or suspect.file not in suite.loaded:
            return []
        trace = await suite.trace(suspect.file, numbers)
        lines = []
        for number, traced in zip(numbers, trace.tests, strict=True):
            place = f"{suspect.file}, line {traced.line}" if traced.line else suspect.file
            values = ", ".join(f"{name} = {value}" for name, value in traced.values[:MAX_VALUES])
            if values:
                lines.append(f"{place}, in {suite.nodes[number]}: {values}")
    return lines
