"""Judges a solution by its tests; the only module that handles both.

The host compares examples with plain values itself (`examples`). `plain_run` gives the outcome of
any other test, as pytest would; `evidence` gathers whether a pass can be believed, and `belief`
makes the verdict. Any behaviour of the solution becomes a verdict; `SandboxError` is raised only
when the jail itself is broken.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from agent.core.domain import (
    OTHER_TESTS,
    TRUSTED_ORIGINS,
    Ending,
    Report,
    Script,
    Solution,
    Task,
    TestCase,
    Verdict,
)
from agent.core.loops import in_thread
from agent.verify import belief, jail_modules
from agent.verify.belief import RunEvidence
from agent.verify.confirmation import confirm
from agent.verify.evidence import gather_evidence
from agent.verify.examples.examples import answers, example_call
from agent.verify.file_order import judged_in_order
from agent.verify.groups import Group
from agent.verify.node_ids import enclosing_nodes, matches_node
from agent.verify.plain.canary import RunVariation
from agent.verify.plain.plain_run import PlainRun
from agent.verify.plain.wrong_file import wrong_file
from agent.verify.project.suite_judge import project_report
from agent.verify.rewriting.masking import mask
from agent.verify.script_run import run_script
from agent.verify.subject import FIRST_SEEDS, Seeds, Subject
from agent.verify.tamper_indicators import reaching_code, text_indicator
from sandbox.sandbox import Sandbox
from sandbox.types import SandboxError

NO_FILES = (
    "a test file needs files, and at this level of the sandbox (L2) none can be opened: run it on "
    "Linux with Landlock, choose the sandbox `subprocess`, or write the test as a snippet"
)


async def check(
    solution: Solution, tests: Sequence[TestCase], task: Task, sandbox: Sandbox, *,
    run_program: bool | None = None, wall_s: float = 5.0, seeds: Seeds = FIRST_SEEDS,
    fail_fast: bool = False, verify_passes: bool = True, recheck: bool = True,
    confirmed: set[tuple[str, str]] | None = None, until: float = math.inf,
) -> Report:
    """Judges a solution: one verdict per test, or per pytest node.

    In a project its own pytest decides which tests there are, and their outcomes.

    Args:
        run_program: Whether the program is also run as a script; by default where a test reads its
            output, or no vetoing test judges it.
        wall_s: Deadline of each test, in seconds.
        fail_fast: Whether to stop after the first failure, leaving tests without a verdict.
        verify_passes: Whether passes are verified beyond the plain run: not for mutants. A program
            that passes everything is confirmed under other seeds and in another environment.
        recheck: Whether tests of files run again with other expectations.
        confirmed: Confirmed passes of earlier calls, by solution and test: they are not confirmed
            again, and new ones are added.
        until: In a project, when the judgement must end, on the monotonic clock.
    """
    if task.project is not None:
        return await project_report(
            solution, tests, task, task.project, sandbox, check, seeds.hash, verify_passes, until
        )
    reads_output = any(isinstance(test, Script) and test.uses_output for test in tests)
    if run_program is None:
        run_program = reads_output or not any(t.origin in TRUSTED_ORIGINS for t in tests)
    await in_thread(mask, solution.text)

    async def judge(
        tests: Sequence[TestCase], runner: _Runner, run_program: bool = run_program
    ) -> Report:
        ending: Ending | None = None
        if any(isinstance(test, Script) and test.uses_output for test in tests):
            ending, output = await run_script(runner.subject)
            verdicts = await runner.verdicts(tests, output)
        elif run_program:
            ending, verdicts = await _run_both(runner, tests)
        else:
            verdicts = await runner.verdicts(tests, "")
        if ending is not None:
            message = jail_modules.without_jail_paths(ending.message)
            ending = ending.model_copy(update={"message": message})
        return Report(
            solution=solution.id, verdicts=_unique(verdicts), ending=ending,
            wrong_file=next(iter(runner.wrong_file), ""),
        )

    async def run_again(tests: Sequence[TestCase], other: Seeds, variation: RunVariation) -> Report:
        subject = Subject(solution, task, sandbox, wall_s, other)
        return await judge(tests, _Runner(subject, False, False, variation), False)

    subject = Subject(solution, task, sandbox, wall_s, seeds)
    report = await judge(tests, _Runner(subject, fail_fast, verify_passes, recheck=recheck))
    if not verify_passes:
        return report
    confirmed = set() if confirmed is None else confirmed
    report = await confirm(report, tests, solution, run_again, confirmed)
    return await judged_in_order(report, subject, task)


async def _run_both(runner: _Runner, tests: Sequence[TestCase]) -> tuple[Ending, list[Verdict]]:
    try:
        async with asyncio.TaskGroup() as group:
            ending = group.create_task(run_script(runner.subject))
            verdicts = group.create_task(runner.verdicts(tests, ""))
    except* SandboxError as broken:
        raise SandboxError(str(broken.exceptions[0])) from broken
    return ending.result()[0], verdicts.result()


@dataclass(frozen=True)
class _Runner:
    """Runs all tests of one solution and collects their verdicts."""

    subject: Subject
    fail_fast: bool = False
    verify_passes: bool = True
    variation: RunVariation = ""
    """How a plain run differs from the usual one."""
    recheck: bool = True
    found: dict[int, list[Verdict]] = field(default_factory=dict)
    """Verdicts by the `id` of their test, since two tests may have the same name."""
    wrong_file: list[str] = field(default_factory=list)
    """Messages about files that tests ran in place of the program."""

    async def verdicts(self, tests: Sequence[TestCase], output: str) -> list[Verdict]:
        snippets = await self._compare_examples([test for test in tests if not _node(test)])
        if snippets and not self._can_stop():
            await self._judge_snippets(snippets, output)
        by_file: dict[str, list[TestCase]] = {}
        for test in tests:
            if _node(test):
                by_file.setdefault(test.code, []).append(test)
        for code, group in by_file.items():
            if not self._can_stop():
                await self._judge_file(code, group)
        return [verdict for test in tests for verdict in self.found.get(id(test), ())]

    def _can_stop(self) -> bool:
        """Whether a test has failed, and one failure is enough."""
        return self.fail_fast and any(
            verdict.fails for verdicts in self.found.values() for verdict in verdicts
        )

    async def _compare_examples(self, tests: list[TestCase]) -> list[TestCase]:
        """Judges the examples whose answers the host can compare; returns the other tests."""
        pending = [(test, one) for test in tests if (one := example_call(test)) is not None]
        if self.variation:
            return tests  # only plain runs have variations
        while pending:
            rows = await answers(self.subject, [one for _, one in pending])
            for (test, _), row in zip(pending, rows, strict=False):
                if row is None:
                    continue  # judged by a plain run
                self.found[id(test)] = [belief.compared(test, row)]
                if row["status"] == "timeout":
                    self.subject.timed_out.append(test.name)
            pending = [] if self._can_stop() else pending[len(rows) :]
        return [test for test in tests if id(test) not in self.found]

    async def _judge_snippets(self, tests: list[TestCase], output: str) -> None:
        plain, rows = await gather_evidence(
            Group(self.subject, tests, output=output), self.verify_passes, self.variation
        )
        nothing = RunEvidence({"message": plain.problem or "it did not run"})
        found = [(test, rows.get(str(number), nothing)) for number, test in enumerate(tests)]
        for test, evidence in zip(tests, await in_thread(self._with_text, found), strict=True):
            self.found[id(test)] = [belief.verdict(test, test.name, evidence)]

    async def _judge_file(self, code: str, tests: list[TestCase]) -> None:
        subject = self.subject
        ours = await jail_modules.bundle(subject.sandbox, subject.task.site_dirs, with_pytest=True)
        if not ours.opens_files:
            nothing = RunEvidence({"status": "error", "message": NO_FILES})
            for test in tests:
                self.found[id(test)] = [belief.verdict(test, test.name, nothing)]
            return
        plain, rows = await gather_evidence(
            Group(self.subject, tests, code), self.verify_passes, self.variation, self.recheck
        )
        is_entry = isinstance(tests[0], Script) and tests[0].file == self.subject.solution.entry
        if message := wrong_file(self.subject, plain, code, is_entry=is_entry):
            self.wrong_file.append(message)
        by_node: dict[str, list[str]] = {}
        for name in rows:
            for node in enclosing_nodes(name):
                by_node.setdefault(node, []).append(name)
        for test in tests:
            node = _node(test)
            mine = {
                name: rows[name] for name in by_node.get(node, ())
                if isinstance(test, Script) and matches_node(test.node, test.excluded_nodes, name)
            }
            if not mine and (node != OTHER_TESTS or not (rows or len(tests) > 1)):
                mine[test.name if node == OTHER_TESTS else node] = RunEvidence(
                    _uncollected(node, plain, self.subject.all_modules)
                )
            evidence = await in_thread(self._with_text, [(test, one) for one in mine.values()])
            self.found[id(test)] = [
                belief.verdict(
                    test, name if node == OTHER_TESTS else test.name + name.removeprefix(node), one
                )
                for name, one in zip(mine, evidence, strict=True)
            ]

    def _with_text(self, found: Sequence[tuple[TestCase, RunEvidence]]) -> list[RunEvidence]:
        solution = self.subject.solution
        reaches = next(filter(None, (reaching_code(file.text) for file in solution.files)), "")
        return [
            replace(
                evidence, text_indicator=text_indicator(solution.text, test.code, not _node(test)),
                access_message=reaches,
            )
            for test, evidence in found
        ]


def _uncollected(node: str, plain: PlainRun, modules: Collection[str]) -> dict[str, str]:
    """The outcome of a test that pytest has not collected, with pytest's reason if there is one.

    A file that is skipped because the program (`modules`) cannot be imported is an error.
    """
    if plain.skipped:
        missing = any(f"could not import {module!r}" in plain.skipped for module in modules)
        return {"status": "error" if missing else "skipped", "message": plain.skipped}
    none = "pytest collected no test" + ("" if node == OTHER_TESTS else f" {node}")
    return {"status": "error", "message": plain.problem or none}


def _unique(verdicts: list[Verdict]) -> tuple[Verdict, ...]:
    """The verdicts with unique names, numbered where needed, and without jail paths."""
    taken = {verdict.name for verdict in verdicts}
    named: set[str] = set()
    unique = []
    for verdict in verdicts:
        name, count = verdict.name, 1
        while name in named or (count > 1 and name in taken):
            count += 1
            name = f"{verdict.name} ({count})"
        named.add(name)
        unique.append(verdict.model_copy(update={
            "name": name, "message": jail_modules.without_jail_paths(verdict.message),
            "got": jail_modules.without_jail_paths(verdict.got),
        }))
    return tuple(unique)


def _node(test: TestCase) -> str:
    return test.node if isinstance(test, Script) else ""

