"""How a project's tests come out, and which passes are believed.

The project's own pytest says how each test comes out. Of a repair that passes, the tests run once
more with other expectations (`project_doubt`), and each file of tests is judged as a file that was
submitted alone: its plain calls are repeated in a process without the tests, answers are spoilt,
and it runs again in other surroundings. Its files are laid as the import root has them of the
module that the test file imports, so that calls name it as the tests do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from agent.core.domain import REST, File, Project, Report, Script, Solution, Task, TestCase
from agent.verify.belief import CONTRADICTS
from agent.verify.confirmation import OTHER_HASHES
from agent.verify.evidence import gather_evidence
from agent.verify.examples.repeated import repeat_calls
from agent.verify.groups import Group
from agent.verify.jail_modules import imports
from agent.verify.plain.double_check import double_checked
from agent.verify.project.suite_double_check import Heard, believed, chosen, watching, written
from agent.verify.project.suite_run import laid, run_suite, verdicts
from agent.verify.subject import Subject, module_name
from agent.verify.tamper_indicators import may_equal_anything, reaching, words
from sandbox.sandbox import Sandbox

MAX_PAIRS = 12
"""Files of tests, each with one module that it imports, that are judged."""
NOT_ALONE = "its file was not judged alone: {}"
CALL_S = 5.0
"""The longest that a call, or a test of a file, may take."""


class Judge(Protocol):
    """Judges a solution by tests of files, as `judge.check` does."""

    def __call__(
        self, solution: Solution, tests: Sequence[TestCase], task: Task, sandbox: Sandbox, *,
        wall_s: float, asks: bool,
    ) -> Awaitable[Report]:
        """The report."""


async def project_report(
    solution: Solution, tests: Sequence[TestCase], task: Task, project: Project, sandbox: Sandbox,
    judge: Judge, seed: int = 0, observe: bool = True,
) -> Report:
    """The verdicts of a run on a solution: of the whole suite, or of some tests alone where the
    rest of it is not among these. `judge` judges tests of a file, `seed` is the interpreter's for
    hashes. Without `observe` its tests are not run once more where it passes."""
    nodes = [one.node for one in tests if isinstance(one, Script)]
    wanted = [node for node in nodes if node != REST]
    if REST not in nodes and not project.command:
        project = project.model_copy(update={"arguments": (*project.arguments, *nodes)})
    files = laid(task, solution)
    seen = watching(files, project.editable)
    run = await run_suite(files, project, task.sites, sandbox, seed, seen=seen)
    report = Report(solution=solution.id, verdicts=tuple(verdicts(run, tests, project)))
    if project.command:
        return report
    said = Heard()
    texts = "\n".join(files[path] for path in seen.tests)
    if observe and report.passed:
        seen = replace(seen, only=chosen(report, wanted))
        passing = frozenset(one.name for one in report.verdicts if one.passed)
        untried = {*seen.only} - {*wanted} if len(seen.only) < len(passing) else ()
        # In another interpreter: a pass that needs one order of its sets is lost there.
        alone, (said, told) = await asyncio.gather(
            judge_files(files, project, task, sandbox, judge, seen.only, wanted or seen.only),
            double_checked(
                files, project, task.sites, sandbox, seen, texts, OTHER_HASHES[1], untried
            ),
        )
        said = replace(
            said, isolated=frozenset(alone.isolated), denied={**alone.denied, **said.denied},
            vacuous=frozenset(alone.vacuous), left_out=passing - {*seen.only},
            unjudged=alone.unjudged,
        )
        run.told.indicators += told.indicators + written(files, seen)
    return report.model_copy(update={
        "verdicts": tuple(believed(report.verdicts, run.told.indicators, said, wanted, texts))
    })


@dataclass
class AsFiles:
    """What judging the tests of a project's files shows, by node id."""

    isolated: set[str] = field(default_factory=set)
    """Passes that rest on checks which hold outside of their process."""
    denied: dict[str, str] = field(default_factory=dict)
    """Passes that are not believed, and why."""
    vacuous: set[str] = field(default_factory=set)
    """Passes that no changed answer of the program makes fail."""
    unjudged: dict[str, str] = field(default_factory=dict)
    """Passes whose file was not judged alone, and why."""


async def judge_files(
    files: Mapping[str, str], project: Project, task: Task, sandbox: Sandbox, judge: Judge,
    passing: Sequence[str], whole: Collection[str],
) -> AsFiles:
    """Judges tests of a project's files, each file alone.

    Args:
        files: The project as it is judged, path to text.
        judge: Judges tests of a file.
        passing: Node ids of tests that pass and are looked at.
        whole: Those of them that are judged in every way; of the others only the plain calls are
            repeated.

    Returns:
        What that shows; nothing where the tests need what only their own process has: another
        interpreter, variables, folders beside the project.
    """
    found = AsFiles()
    needs = ", ".join(what for what, has in (
        ("an interpreter of its own", project.python), ("variables", project.environment),
        ("folders beside it", project.readable), ("the loopback network", project.loopback),
    ) if has)
    if needs:
        found.unjudged |= dict.fromkeys(passing, NOT_ALONE.format(f"the project needs {needs}"))
        return found
    by_file: dict[str, list[str]] = {}
    for node in passing:
        by_file.setdefault(node.partition("::")[0], []).append(node)
    pairs = [
        (path, root, module) for path in by_file if path in files
        for root, module in _imported(files[path], files, project)
    ]
    firsts = {path: module for path, _, module in reversed(pairs)}
    judged = {path for path, _, _ in pairs[:MAX_PAIRS]}
    for path in by_file.keys() - judged:
        why = f"{MAX_PAIRS} others were" if path in firsts else "it imports no module to repair"
        found.unjudged |= dict.fromkeys(by_file[path], NOT_ALONE.format(why))

    async def judge_pair(path: str, root: str, module: str) -> None:
        subject = Subject(*_laid(files, project, task, root, module), sandbox, CALL_S)
        tests = [
            Script(name=node, origin="user", code=files[path], node=key, file=path)
            for node in by_file[path] for key in [node.partition("::")[2]]
        ]
        wanted = [one for one in tests if one.name in whole and firsts[path] == module]
        if wanted:
            before = {one.path: one.text for one in task.support}
            base = replace(subject, solution=_laid(before, project, task, root, module)[0])
            await _judge_one(Group(subject, wanted, files[path]), base, judge, found)
        left = [one for one in tests if one not in wanted]
        held, against = await repeat_calls(
            Group(subject, left, files[path]), [one.node for one in left]
        )
        found.isolated |= {f"{path}::{key}" for key in held}
        for key, call in against.items():
            found.denied[f"{path}::{key}"] = f"{CONTRADICTS}: {call}"

    await asyncio.gather(*(judge_pair(*pair) for pair in pairs[:MAX_PAIRS]))
    found.isolated -= found.denied.keys()
    return found


async def _judge_one(group: Group, base: Subject, judge: Judge, found: AsFiles) -> None:
    """Judges the tests of one file; what the program did to its tests before it was repaired (as
    `base`) is not held against the repair."""
    subject = group.subject
    report = await judge(
        subject.solution, group.tests, subject.task, subject.sandbox, wall_s=subject.wall_s,
        asks=False,  # as a project's they are asked twice anyway
    )
    found.isolated |= {one.name for one in report.verdicts if one.integrity == "isolated"}
    found.vacuous |= {one.name for one in report.verdicts if one.vacuous}
    doubts = {one.name: one.doubt for one in report.verdicts if one.doubt}
    certain = (CONTRADICTS, words("surroundings"))
    found.denied |= {node: said for node, said in doubts.items() if said.startswith(certain)}
    doubts = {node: said for node, said in doubts.items() if node not in found.denied}
    if not doubts or base.solution.files == subject.solution.files:
        return
    _, rows = await gather_evidence(replace(group, subject=base), observe=False)
    known = [sign for row in rows.values() for sign in row.indicators]
    known += [reaching(one.text) for one in base.solution.files]
    if may_equal_anything(base.solution.text):
        known.append(words("equal-to-all"))
    for node, said in doubts.items():
        fresh = [one for one in said.split("; ") if not one.startswith(tuple(filter(None, known)))]
        if fresh:
            found.denied[node] = "; ".join(fresh)


def _imported(
    text: str, files: Mapping[str, str], project: Project
) -> Iterator[tuple[str, str]]:
    """The modules of the program that a test file imports, each with its import root."""
    names = imports(text)
    for path in project.editable:
        for root in project.import_roots:
            prefix = f"{root}/" if root else ""
            if path in files and path.startswith(prefix) and (
                module_name(path.removeprefix(prefix)) in names
            ):
                yield root, path
                break


def _laid(
    files: Mapping[str, str], project: Project, task: Task, root: str, module: str
) -> tuple[Solution, Task]:
    """The project as a program whose entry is one of its modules, and what lies beside it."""
    prefix = f"{root}/" if root else ""
    own = {path: File(path=path.removeprefix(prefix), text=text) for path, text in files.items()}
    program = [file for path, file in own.items() if path in project.editable]
    support = [file for path, file in own.items() if path not in project.editable]
    return (
        Solution(files=tuple(program), entry=module.removeprefix(prefix)),
        Task(support=tuple(support), sites=task.sites),
    )
