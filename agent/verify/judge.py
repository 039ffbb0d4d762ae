"""Judges a solution by its tests; the only module that knows both sides.

An example with plain values is compared by the host (`examples`). How any other test comes out is
what `plain_run` says, as pytest itself would; `evidence` gathers whether a pass can be believed,
and `belief` makes the verdict. Whatever the solution does is a verdict; `SandboxError` is raised
only when the jail itself is broken.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from agent.core.domain import (
    REST,
    VETOING_ORIGINS,
    Ending,
    Report,
    Script,
    Solution,
    Task,
    TestCase,
    Verdict,
)
from agent.core.loops import aside
from agent.verify import belief, jail_modules
from agent.verify.belief import PassEvidence
from agent.verify.confirmation import confirm
from agent.verify.evidence import gather_evidence
from agent.verify.examples.examples import answers, example_call
from agent.verify.groups import Group
from agent.verify.node_ids import nodes_above, stands_for
from agent.verify.plain.canary import CanaryKind
from agent.verify.plain.plain_run import PlainRun
from agent.verify.plain.wrong_file import astray
from agent.verify.project.suite_judge import project_report
from agent.verify.rewriting.masking import mask
from agent.verify.script_run import ending_of
from agent.verify.subject import FIRST_SEEDS, Seeds, Subject
from agent.verify.tamper_indicators import reaching, written_for
from sandbox.sandbox import Sandbox
from sandbox.types import SandboxError

NO_FILES = (
    "a test file needs files, and at this level of the sandbox (L2) none can be opened: run it on "
    "a Linux with Landlock, choose the sandbox `subprocess`, or write the test as a snippet"
)


async def check(
    solution: Solution,
    tests: Sequence[TestCase],
    task: Task,
    sandbox: Sandbox,
    *,
    run_program: bool | None = None,
    wall_s: float = 5.0,
    seeds: Seeds = FIRST_SEEDS,
    first_failure: bool = False,
    observe: bool = True,
    asks: bool = True,
    confirmed: set[tuple[str, str]] | None = None,
) -> Report:
    """What the tests show of the solution: one verdict per test, or per pytest node.

    The program is also run as a script where `run_program` says so; left open, where a test
    reads its output or nothing else could speak of it. `wall_s` is each test's deadline. With
    `first_failure` tests may have no verdict once one of them has failed. Without `observe` only
    the plain run is made: for programs of which nothing is claimed, as mutants are. Without `asks`
    the tests of files do not run again with other expectations.
    Otherwise a program that passes everything runs again under other chance and in other
    surroundings (`confirmation`). `confirmed` holds passes of earlier calls that were confirmed, by
    solution and test: they are not run again, and new ones are added.
    In a project its own pytest says how tests come out, and which tests there are.
    """
    if task.project is not None:
        return await project_report(
            solution, tests, task, task.project, sandbox, check, seeds.hash, observe
        )
    reads_output = any(isinstance(test, Script) and test.uses_output for test in tests)
    if run_program is None:
        run_program = reads_output or not any(t.origin in VETOING_ORIGINS for t in tests)
    await aside(mask, solution.text)

    async def judged(
        tests: Sequence[TestCase], bench: _Bench, run_program: bool = run_program
    ) -> Report:
        ending: Ending | None = None
        if any(isinstance(test, Script) and test.uses_output for test in tests):
            ending, output = await ending_of(bench.subject)
            verdicts = await bench.verdicts(tests, output)
        elif run_program:
            ending, verdicts = await _both(bench, tests)
        else:
            verdicts = await bench.verdicts(tests, "")
        if ending is not None:
            ending = ending.model_copy(
                update={"message": jail_modules.without_jail_paths(ending.message)}
            )
        return Report(
            solution=solution.id, verdicts=_unique(verdicts), ending=ending,
            astray=next(iter(bench.astray), ""),
        )

    async def again(
        tests: Sequence[TestCase], other: Seeds, surroundings: CanaryKind
    ) -> Report:
        subject = Subject(solution, task, sandbox, wall_s, other)
        return await judged(tests, _Bench(subject, False, False, surroundings), False)

    report = await judged(
        tests,
        _Bench(
            Subject(solution, task, sandbox, wall_s, seeds), first_failure, observe, asks=asks
        ),
    )
    if not observe:
        return report
    return await confirm(report, tests, solution, again, set() if confirmed is None else confirmed)


async def _both(bench: _Bench, tests: Sequence[TestCase]) -> tuple[Ending, list[Verdict]]:
    """The program's run and the tests', side by side."""
    try:
        async with asyncio.TaskGroup() as group:
            ending = group.create_task(ending_of(bench.subject))
            verdicts = group.create_task(bench.verdicts(tests, ""))
    except* SandboxError as broken:
        raise SandboxError(str(broken.exceptions[0])) from broken
    return ending.result()[0], verdicts.result()


@dataclass(frozen=True)
class _Bench:
    """A solution on its way through all its tests."""

    subject: Subject
    first_failure: bool = False
    observe: bool = True
    surroundings: CanaryKind = ""
    """Of a plain run alone: how its surroundings differ from the usual."""
    asks: bool = True
    """Whether tests of files run again with other expectations."""
    found: dict[int, list[Verdict]] = field(default_factory=dict)
    """Test, by its identity since two may have one name, to its verdicts: one, or one a node."""
    astray: list[str] = field(default_factory=list)
    """What files of tests ran in place of the program."""

    async def verdicts(self, tests: Sequence[TestCase], output: str) -> list[Verdict]:
        """Verdicts on each test, in the order of the tests."""
        snippets = await self._compare_examples([test for test in tests if not _node(test)])
        if snippets and not self._settled():
            await self._judge_snippets(snippets, output)
        by_file: dict[str, list[TestCase]] = {}
        for test in tests:
            if _node(test):
                by_file.setdefault(test.code, []).append(test)
        for code, group in by_file.items():
            if not self._settled():
                await self._judge_file(code, group)
        return [verdict for test in tests for verdict in self.found.get(id(test), ())]

    def _settled(self) -> bool:
        """Whether a failure was seen, and one is enough."""
        return self.first_failure and any(
            verdict.fails for verdicts in self.found.values() for verdict in verdicts
        )

    async def _compare_examples(self, tests: list[TestCase]) -> list[TestCase]:
        """Judges the examples whose answers the host itself can compare; returns the others."""
        waiting = [(test, one) for test in tests if (one := example_call(test)) is not None]
        if self.surroundings:
            return tests  # only the surroundings of a plain run can be changed
        while waiting:
            rows = await answers(self.subject, [one for _, one in waiting])
            for (test, _), row in zip(waiting, rows, strict=False):
                if row is None:
                    continue  # it runs beside the program
                self.found[id(test)] = [belief.compared(test, row)]
                if row["status"] == "timeout":
                    self.subject.late.append(test.name)
            waiting = [] if self._settled() else waiting[len(rows) :]
        return [test for test in tests if id(test) not in self.found]

    async def _judge_snippets(self, tests: list[TestCase], output: str) -> None:
        plain, rows = await gather_evidence(
            Group(self.subject, tests, output=output), self.observe, self.surroundings
        )
        nothing = PassEvidence({"message": plain.problem or "it did not run"})
        found = [(test, rows.get(str(number), nothing)) for number, test in enumerate(tests)]
        for test, seen in zip(tests, await aside(self._with_text, found), strict=True):
            self.found[id(test)] = [belief.verdict(test, test.name, seen)]

    async def _judge_file(self, code: str, tests: list[TestCase]) -> None:
        ours = await jail_modules.bundle(self.subject.sandbox, self.subject.task.sites, True)
        if not ours.opens_files:
            nothing = PassEvidence({"status": "error", "message": NO_FILES})
            for test in tests:
                self.found[id(test)] = [belief.verdict(test, test.name, nothing)]
            return
        plain, rows = await gather_evidence(
            Group(self.subject, tests, code), self.observe, self.surroundings, self.asks
        )
        own = isinstance(tests[0], Script) and tests[0].file == self.subject.solution.entry
        if words := astray(self.subject, plain, code, own=own):
            self.astray.append(words)
        by_node: dict[str, list[str]] = {}
        for name in rows:
            for node in nodes_above(name):
                by_node.setdefault(node, []).append(name)
        for test in tests:
            node = _node(test)
            mine = {name: rows[name] for name in by_node.get(node, ()) if _of(test, name)}
            if not mine and (node != REST or not (rows or len(tests) > 1)):
                mine[test.name if node == REST else node] = PassEvidence(
                    _uncollected(node, plain, self.subject.all_modules)
                )
            seen = await aside(self._with_text, [(test, one) for one in mine.values()])
            self.found[id(test)] = [
                belief.verdict(
                    test, name if node == REST else test.name + name.removeprefix(node), one
                )
                for name, one in zip(mine, seen, strict=True)
            ]

    def _with_text(self, found: Sequence[tuple[TestCase, PassEvidence]]) -> list[PassEvidence]:
        """The same, with what the program's text says against each."""
        solution = self.subject.solution
        reaches = next(filter(None, (reaching(one.text) for one in solution.files)), "")
        return [
            replace(
                seen, written=written_for(solution.text, test.code, not _node(test)),
                reaching=reaches,
            )
            for test, seen in found
        ]


def _of(test: TestCase, name: str) -> bool:
    """Whether a test stands for a name that pytest collected."""
    return isinstance(test, Script) and stands_for(test.node, test.without, name)


def _uncollected(node: str, plain: PlainRun, modules: Collection[str]) -> dict[str, str]:
    """What is said of a test that pytest has not collected: its own words where it has any. A file
    that sets itself aside since the program (`modules`) cannot be imported says nothing for it."""
    if plain.skipped:
        missing = any(f"could not import {one!r}" in plain.skipped for one in modules)
        return {"status": "error" if missing else "skipped", "message": plain.skipped}
    none = "pytest collected no test" + ("" if node == REST else f" {node}")
    return {"status": "error", "message": plain.problem or none}


def _unique(verdicts: list[Verdict]) -> tuple[Verdict, ...]:
    """Two tests of one name get numbers, since names are keys."""
    taken = {verdict.name for verdict in verdicts}
    named: set[str] = set()
    unique = []
    for verdict in verdicts:
        name, count = verdict.name, 1
        while name in named or (count > 1 and name in taken):
            count += 1
            name = f"{verdict.name} ({count})"
        named.add(name)
        texts = {"message": verdict.message, "got": verdict.got}
        texts = {one: jail_modules.without_jail_paths(text) for one, text in texts.items()}
        unique.append(verdict.model_copy(update={"name": name, **texts}))
    return tuple(unique)


def _node(test: TestCase) -> str:
    return test.node if isinstance(test, Script) else ""

