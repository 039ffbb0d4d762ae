"""Healing a failing test suite where it lies: `heal run .`, `heal run tests/test_a.py::test_b`.

The whole suite runs first, in a jail, over a copy of the tree. What fails and was asked for is
healed; what fails besides is left as it is and told. Nothing is written into the tree without
`--apply`.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from agent.core.domain import REST, File, Jail, Project, Report, Script, Solution, Task
from agent.core.events import Stamped
from agent.core.settings import Settings, data_folder
from agent.doors.commands import (
    Display,
    OpenSession,
    RunOptions,
    Usage,
    WriteOptions,
    against,
    keep_log,
    refuse_overwriting,
    show_result,
    watched,
)
from agent.doors.exits import HEALED, USAGE, exit_code
from agent.doors.writeback import Refused, write_back, write_new
from agent.intake import BadInput, NotFixable
from agent.judge.jail_level import jail_seen
from agent.judge.project_run import SuiteRun, run_suite, verdicts
from agent.log.result import Result, fold
from agent.project.layout import ProjectLayout, find_interpreter, find_layout
from agent.project.tree import ProjectTree, read_tree
from sandbox import open_sandbox

THE_REST = "the rest of the suite"
LAST_FAILED = ".pytest_cache/v/cache/lastfailed"
BACKUPS = "backups"


@dataclass(frozen=True)
class ProjectInputs:
    """Which project, and which of its tests."""

    start: Path
    nodes: Sequence[str] = ()
    """Node ids, files or folders of tests, relative to where the command was started."""
    keyword: str = ""
    last_failed: bool = False
    python: str | None = None
    only: Sequence[str] = ()
    exclude: Sequence[str] = ()
    arguments: Sequence[str] = ()
    """Further ones of pytest's."""

    @classmethod
    def of(
        cls, path: str, further: Sequence[str], keyword: str, last_failed: bool,
        python: str | None, only: Sequence[str], exclude: Sequence[str],
    ) -> ProjectInputs:
        """As typed: of what stands after the first PATH, tests are told from pytest's arguments."""
        tests = [one for one in further if "::" in one or Path(one).exists()]
        folder = Path(path.partition("::")[0])
        whole = "::" not in path and find_layout(folder).root == folder.absolute()
        return cls(
            folder, [*(() if whole else (path,)), *tests], keyword, last_failed, python, only,
            exclude, [one for one in further if one not in tests],
        )


def is_of_project(path: str) -> bool:
    """Whether a PATH names a project or tests in one, and no program."""
    return "::" in path or Path(path).is_dir()


def heal_project(
    opener: OpenSession, inputs: ProjectInputs, writing: WriteOptions, face: Display,
    options: RunOptions,
) -> int:
    """Heals the tests that fail, shows the patch, and writes where that was asked for."""
    refuse_overwriting(writing)
    seen = _look(inputs, options.settings().model_copy(update={"ask": False}), face)
    if not seen.wanted:
        return _healthy(seen, writing, face)
    aside = tuple(node for node in seen.run.failing if node not in {*seen.wanted})
    if aside:
        face.terminal.say(f"note: {len(aside)} other tests fail and are left as they are", "yellow")
    task = task_of(
        seen.tree, seen.project.model_copy(update={"aside": aside}), seen.wanted, seen.run,
        seen.sites,
    )

    async def drive() -> tuple[Stamped, ...]:
        async with opener(seen.settings) as session:
            return await watched(session, await session.start(task, title=seen.project.name), face)

    log = asyncio.run(drive())
    result = fold(log)
    code = exit_code(result, writing.least)
    kept, refusals = keep_log(writing, log)
    try:
        kept += _written(result, code, writing, seen)
    except Refused as error:
        refusals.append(str(error))
    result = replace(result, error=" ".join([result.error, *refusals]).strip())
    show_result(against(result, writing.least), face, program=False)
    for words in kept:
        face.terminal.say(words, "bold")
    for words in refusals:
        face.terminal.say(words, "bold red")
    return code or (USAGE if refusals else HEALED)


@dataclass(frozen=True)
class _Seen:
    """A project and how its suite comes out."""

    tree: ProjectTree
    project: Project
    sites: tuple[str, ...]
    settings: Settings
    run: SuiteRun
    wanted: Sequence[str]
    """The failing tests that are to be healed."""
    jail: Jail
    seconds: float


def _look(inputs: ProjectInputs, settings: Settings, face: Display) -> _Seen:
    """Finds the project, says what was found, and runs its suite once."""
    started = time.monotonic()
    layout = find_layout(inputs.start)
    interpreter = find_interpreter(layout.root, inputs.python or "")
    tree = read_tree(layout, inputs.only, inputs.exclude)
    project = _project(tree, inputs)
    _say_what_was_found(layout, tree, interpreter.words, face)
    if not tree.editable:
        raise BadInput(
            f"there is no module in {layout.root} that may be edited; name some with --only"
        )

    async def look() -> _Seen:
        jailed = open_sandbox(settings.sandbox, settings.environment or None)
        files = dict(tree.files)
        run = await run_suite(files, project, interpreter.sites, jailed)
        if not run.rows:
            why = "; ".join(run.problems)
            raise NotFixable("invalid_tests", "pytest collects no test" + (
                f": {why}" if why else f" in {layout.root}; write one that fails"
            ))
        if run.problems:
            raise NotFixable(
                "invalid_tests", f"not all of the suite runs: {'; '.join(run.problems)}. Mend that "
                "first: what is healed is judged by the whole suite",
            )
        wanted = _chosen(run, inputs, layout)
        if inputs.keyword and wanted:
            picked = project.model_copy(update={
                "arguments": (*project.arguments, "-k", inputs.keyword)
            })
            among = (await run_suite(files, picked, interpreter.sites, jailed)).rows
            wanted = [node for node in wanted if node in among]
        jail = await jail_seen(jailed, interpreter.sites)
        return _Seen(
            tree, project, interpreter.sites, settings, run, wanted, jail,
            time.monotonic() - started,
        )

    return asyncio.run(look())


def task_of(
    tree: ProjectTree, project: Project, wanted: Sequence[str], run: SuiteRun,
    sites: tuple[str, ...],
) -> Task:
    """The task to heal these tests of a project, the rest of its suite staying as it is."""
    tests = [
        Script(
            name=node, origin="user", code=tree.files.get(node.partition("::")[0], ""), node=node,
            file=node.partition("::")[0],
        )
        for node in wanted
    ]
    rest = Script(name=THE_REST, origin="user", code="", node=REST, without=tuple(wanted))
    program = tuple(File(path=path, text=tree.files[path]) for path in sorted(tree.editable))
    return Task(
        solution=Solution(files=program, entry=_entry(tree, run, wanted)),
        tests=(*tests, rest),
        support=tuple(File(path=path, text=text) for path, text in tree.files.items()),
        sites=sites, project=project,
    )


def _entry(tree: ProjectTree, run: SuiteRun, wanted: Sequence[str]) -> str:
    """The file that is looked at first: the innermost that may be edited where a test fails."""
    for node in wanted:
        file = str(run.rows[node].get("file", ""))
        if file in tree.editable:
            return file
    return min(tree.editable, key=lambda path: (path.endswith("__init__.py"), path))


def _project(tree: ProjectTree, inputs: ProjectInputs) -> Project:
    settings = tree.layout.settings
    return Project(
        root=str(tree.layout.root), name=tree.layout.name,
        import_roots=tree.layout.import_roots, arguments=tuple(inputs.arguments),
        editable=tuple(sorted(tree.editable)), loopback=bool(settings.get("loopback", False)),
    )


def _say_what_was_found(
    layout: ProjectLayout, tree: ProjectTree, python: str, face: Display
) -> None:
    tests = sum(
        PurePosixPath(path).name.startswith("test_") or path.endswith("_test.py")
        for path in tree.files if path.endswith(".py")
    )
    where = next((root for root in layout.import_roots if root), "the top")
    face.terminal.say(
        f"{layout.name}: {len(tree.editable)} modules below {where}, {tests} test files, "
        f"{python}, pytest by {layout.configuration or 'its defaults'}"
    )
    for notice in tree.notices[:5]:
        face.terminal.say(f"note: {notice}", "yellow")


def _chosen(run: SuiteRun, inputs: ProjectInputs, layout: ProjectLayout) -> list[str]:
    """The failing tests that were asked for by name, or by the last run of pytest."""
    failing = run.failing
    chosen = [_node(one, layout) for one in inputs.nodes]
    for one in chosen:
        if not any(_is_below(node, one) for node in run.rows):
            raise Usage(f"pytest collects no test {one}")
    if chosen:
        failing = [node for node in failing if any(_is_below(node, one) for one in chosen)]
    if inputs.last_failed:
        failed = _last_failed(layout)
        failing = [node for node in failing if node in failed]
    return failing


def _node(typed: str, layout: ProjectLayout) -> str:
    """A node id from the project's root."""
    path, mark, name = typed.partition("::")
    place = Path(path).absolute()
    inside = place.relative_to(layout.root) if place.is_relative_to(layout.root) else Path(path)
    return f"{'' if inside == Path('.') else inside.as_posix()}{mark}{name}"


def _is_below(node: str, chosen: str) -> bool:
    return not chosen or node == chosen or node.startswith(
        (f"{chosen}::", f"{chosen}[", f"{chosen}/")
    )


def _last_failed(layout: ProjectLayout) -> frozenset[str]:
    try:
        said = json.loads((layout.root / LAST_FAILED).read_text("utf-8"))
    except FileNotFoundError as error:
        raise Usage(
            f"--lf: there is no {LAST_FAILED} in {layout.root}; run pytest there first"
        ) from error
    except (OSError, ValueError) as error:
        raise Usage(f"--lf: {LAST_FAILED} cannot be read: {error}") from error
    return frozenset(said)


def _healthy(seen: _Seen, writing: WriteOptions, face: Display) -> int:
    """The result of a suite in which nothing that was asked for fails."""
    rest = Script(name=THE_REST, origin="user", code="", node=REST)
    aside = seen.project.model_copy(update={"aside": tuple(seen.run.failing)})
    report = Report(solution="", verdicts=tuple(verdicts(seen.run, [rest], aside)))
    passed = sum(one.passed for one in report.verdicts)
    result = against(Result(
        title=seen.project.name, outcome="healthy", proof="E1" if passed else "E0",
        reason=f"{passed} of {len(report.verdicts)} tests pass; nothing that was asked for fails",
        report=report, seconds=seen.seconds, sandbox=seen.jail.words, level=seen.jail.level,
    ), writing.least)
    show_result(result, face, program=False)
    return exit_code(result, writing.least)


def _written(
    result: Result, code: int, writing: WriteOptions, seen: _Seen
) -> list[str]:
    """Writes the patch or the files; what they were is kept outside of the tree."""
    if not (writing.apply or writing.out):
        return []
    if code != HEALED:
        return ["Nothing was written."]
    kept = []
    if writing.out is not None:
        patch = result.diff.encode("utf-8", "surrogateescape")
        write_new(writing.out, patch, overwrite=writing.force)
        kept.append(f"Wrote {writing.out}; `git apply {writing.out}` takes it.")
    if writing.apply:
        folder, _ = data_folder(seen.settings)
        for path, text in result.files:
            before = seen.tree.files[path]
            if text == before:
                continue
            place = seen.tree.layout.root / path
            backup = write_back(
                place, before.encode("utf-8", "surrogateescape"),
                text.encode("utf-8", "surrogateescape"),
                (folder / BACKUPS / result.run_id / path).parent,
            )
            kept.append(f"Wrote {place}; what it was is kept in {backup}.")
    return kept
