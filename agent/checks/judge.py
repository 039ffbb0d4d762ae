"""Judges a solution by its tests; the only room that knows both sides.

An example with plain values is compared by the host (`examples`). Any other test has two
witnesses: `plain_run` says how it comes out, as pytest itself would; `observed_run` says whether
that can be believed. `belief` puts the two together. Whatever the solution does is a verdict;
`SandboxError` is raised only when the jail itself is broken.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from agent.checks import belief, shipping
from agent.checks.astray import astray
from agent.checks.belief import Seen
from agent.checks.brought import FIRST_SEEDS, Brought, Seeds
from agent.checks.canary import Manner
from agent.checks.examples import Elsewhere, answers, asked, calls
from agent.checks.masking import mask
from agent.checks.nodes import stands_for
from agent.checks.observed_run import ObservedRun, observe_file, observe_snippets
from agent.checks.plain_run import PlainRun, run_file, run_snippets
from agent.checks.signs import may_equal_anything, reaching, written_for
from agent.checks.transform import unsupported
from agent.domain import (
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
from sandbox.sandbox import Sandbox
from sandbox.types import Job, Json, Limits, Outcome, SandboxError

START_S = 30.0
"""A busy machine may take this long to start an interpreter."""
NO_FILES = (
    "a test file needs files, and at this level of the sandbox (L2) none can be opened: run it on "
    "a Linux with Landlock, choose the sandbox `subprocess`, or write the test as a snippet"
)
ANSWER_BYTES = 2_000_000
"""More than any answer that is not sent to the witnesses, escapes and all."""
SHOWN = 2_000
SCRIPT_WALL_FACTOR = 2.0
OBSERVED_FACTOR = 3.0
"""Observing may take so many times what the plain run took, and a moment more."""
OBSERVED_S = 2.0
UNASKED = "nobody was asked whether this can be believed"
HURRY_S = 0.5
HURRY_FACTOR = 3.0
"""A spoilt test may take so many times what the slowest took, and a moment more."""
MOST_ALONE = 5
"""Tests observed alone before the others are believed to behave as these."""
PLAIN_RUNS = 3
"""Where the witnesses disagree, the plain one is heard so often: any failure is flaky."""

Row = Mapping[str, Any]


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
) -> Report:
    """What the tests show of the solution: one verdict per test, or per pytest node.

    The program is also run as a script where `run_program` says so; left open, where a test
    reads its output or nothing else could speak of it. `wall_s` is each test's deadline. With
    `first_failure` tests may have no verdict once one of them has failed. Without `observe` only
    the plain witness is heard: for programs of which nothing is claimed, as mutants are.
    """
    reads_output = any(isinstance(test, Script) and test.uses_output for test in tests)
    if run_program is None:
        run_program = reads_output or not any(t.origin in VETOING_ORIGINS for t in tests)
    bench = _Bench(Brought(solution, task, sandbox, wall_s, seeds), first_failure, observe)
    ending: Ending | None = None
    if run_program or reads_output:
        if reads_output:
            ending = await bench.ending()
            verdicts = await bench.verdicts(tests, ending.stdout)
        else:
            ending, verdicts = await _both(bench, tests)
    else:
        verdicts = await bench.verdicts(tests, "")
    return Report(
        solution=solution.id, verdicts=_unique(verdicts), ending=ending,
        astray=next(iter(bench.astray), ""),
    )


def calling(
    solution: Solution, task: Task, sandbox: Sandbox, called: list[Json], wall_s: float
) -> Job:
    """A job that answers calls of a program as those of examples are answered, in a process that
    holds the program alone; `wall_s` is for each of them."""
    return _Bench(Brought(solution, task, sandbox, wall_s)).calling(called, wall_s)


async def _both(bench: _Bench, tests: Sequence[TestCase]) -> tuple[Ending, list[Verdict]]:
    """The program's run and the tests', side by side."""
    try:
        async with asyncio.TaskGroup() as group:
            ending = group.create_task(bench.ending())
            verdicts = group.create_task(bench.verdicts(tests, ""))
    except* SandboxError as broken:
        raise SandboxError(str(broken.exceptions[0])) from broken
    return ending.result(), verdicts.result()


_Snippets = list[tuple[str, TestCase, str | None]]
_Again = Callable[[Sequence[str], Manner], Awaitable[PlainRun]]
"""Hears the plain witness once more: on some tests, or on all; spoilt, or as it is."""
_OnceMore = Callable[[Sequence[str]], Awaitable[ObservedRun]]
"""Observes these tests in a fresh pair of processes."""


@dataclass(frozen=True)
class _Bench:
    """A solution on its way through all its tests."""

    brought: Brought
    first_failure: bool = False
    observe: bool = True
    found: dict[int, list[Verdict]] = field(default_factory=dict)
    """Test, by its identity since two may have one name, to its verdicts: one, or one a node."""
    astray: list[str] = field(default_factory=list)
    """What files of tests ran in place of the program."""

    async def verdicts(self, tests: Sequence[TestCase], output: str) -> list[Verdict]:
        """Verdicts on each test, in the order of the tests."""
        snippets = await self._compare_examples([test for test in tests if not _node(test)])
        if snippets and not self._settled():
            await self._hear_snippets(snippets, output)
        by_file: dict[str, list[TestCase]] = {}
        for test in tests:
            if _node(test):
                by_file.setdefault(test.code, []).append(test)
        for code, group in by_file.items():
            if not self._settled():
                await self._hear_file(code, group)
        return [verdict for test in tests for verdict in self.found.get(id(test), ())]

    def _settled(self) -> bool:
        """Whether a failure was seen, and one is enough."""
        return self.first_failure and any(
            verdict.fails for verdicts in self.found.values() for verdict in verdicts
        )

    async def _compare_examples(self, tests: list[TestCase]) -> list[TestCase]:
        """Judges the examples whose answers the host itself can compare; returns the others."""
        waiting = [(test, one) for test in tests if (one := asked(test)) is not None]
        while waiting:
            wall_s = self.brought.test_s
            job = self.calling(calls([one for _, one in waiting]), wall_s)
            rows = await answers(
                self.brought.sandbox, job, [one for _, one in waiting], wall_s, START_S
            )
            for (test, _), row in zip(waiting, rows, strict=False):
                if isinstance(row, Elsewhere):
                    continue
                self.found[id(test)] = [belief.compared(test, row)]
                if row["status"] == "timeout":
                    self.brought.late.append(test.name)
            waiting = [] if self._settled() else waiting[len(rows) :]
        return [test for test in tests if id(test) not in self.found]

    async def _hear_snippets(self, tests: list[TestCase], output: str) -> None:
        snippets: _Snippets = [
            (str(number), test, output if _uses_output(test) else None)
            for number, test in enumerate(tests)
        ]
        reasons = {key: self._out_of_reach(test) for key, test, _ in snippets}
        followed = [one for one in snippets if not reasons[one[0]]]
        observed = ObservedRun()
        plain = await self._heard(
            run_snippets(self.brought, snippets),
            observe_snippets(self.brought, followed, observed) if followed else None,
        )

        async def again(keys: Sequence[str], manner: Manner) -> PlainRun:
            chosen = [one for one in snippets if not keys or one[0] in keys]
            return await run_snippets(self._hurried(plain, manner), chosen, manner)

        async def once_more(keys: Sequence[str]) -> ObservedRun:
            run = ObservedRun()
            await observe_snippets(self.brought, [one for one in snippets if one[0] in keys], run)
            return run

        modules = self.brought.all_modules
        calling = {
            key for key, test, _ in snippets if belief.keeps_to_calls(test.code, modules)
        }
        rows = await self._weighed(plain, observed, reasons, calling, again, once_more)
        for key, test, _ in snippets:
            seen = self._with_text(test, rows.get(key) or Seen({"message": plain.problem}))
            self.found[id(test)] = [belief.verdict(test, test.name, seen)]

    async def _hear_file(self, code: str, tests: list[TestCase]) -> None:
        ours = await shipping.shipment(self.brought.sandbox, self.brought.task.sites, True)
        if not ours.opens_files:
            for test in tests:
                seen = Seen({"status": "error", "message": NO_FILES})
                self.found[id(test)] = [belief.verdict(test, test.name, seen)]
            return
        reason = self._out_of_reach(tests[0])
        observed = ObservedRun()
        plain = await self._heard(
            run_file(self.brought, code, tests),
            None if reason else observe_file(self.brought, code, tests, observed),
        )

        async def again(keys: Sequence[str], manner: Manner) -> PlainRun:
            return await run_file(self._hurried(plain, manner), code, tests, manner, keys)

        async def once_more(keys: Sequence[str]) -> ObservedRun:
            run = ObservedRun()
            await observe_file(self.brought, code, [_only(tests, key) for key in keys], run)
            return run

        reasons = dict.fromkeys(plain.rows, reason)
        calling = {*plain.rows} if belief.keeps_to_calls(code, self.brought.all_modules) else set()
        rows = await self._weighed(plain, observed, reasons, calling, again, once_more)
        own = isinstance(tests[0], Script) and tests[0].file == self.brought.solution.entry
        if words := astray(self.brought, plain, code, own=own):
            self.astray.append(words)
        for test in tests:
            node = _node(test)
            mine = {name: seen for name, seen in rows.items() if _of(test, name)}
            if not mine and (node != REST or not (rows or len(tests) > 1)):
                mine[test.name if node == REST else node] = Seen(_uncollected(node, plain))
            self.found[id(test)] = [
                belief.verdict(
                    test, name if node == REST else test.name + name.removeprefix(node),
                    self._with_text(test, seen),
                )
                for name, seen in mine.items()
            ]

    async def _heard(
        self, plain: Awaitable[PlainRun], observing: Awaitable[None] | None
    ) -> PlainRun:
        """Both witnesses at once; the observed one has a while after the plain one is done."""
        if observing is None:
            return await plain
        started = time.monotonic()
        watching = asyncio.ensure_future(observing)
        try:
            run = await plain
            took_s = time.monotonic() - started
            if any(belief.passes(row) for row in run.rows.values()):
                await asyncio.wait(
                    [watching], timeout=OBSERVED_S + (OBSERVED_FACTOR - 1) * took_s
                )
            if watching.done():
                watching.result()
            return run
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _weighed(
        self, plain: PlainRun, observed: ObservedRun, reasons: Mapping[str, str],
        calling: Collection[str], again: _Again, once_more: _OnceMore,
    ) -> dict[str, Seen]:
        """What was seen of each test, after all that has to be looked at once more."""
        rows = dict(plain.rows)
        passing = [key for key, row in rows.items() if belief.passes(row)]
        failing = [key for key in passing if belief.can_contradict(observed.rows.get(key))]
        against = await self._contradicted([key for key in failing if key in calling], once_more)
        signs = {key: plain.signs_of(key) for key in rows}
        if against:
            for run in [await again([], "") for _ in range(PLAIN_RUNS - 1)]:
                for key in against:
                    if not belief.passes(run.rows.get(key, {})):
                        rows[key] = _flaky(run.rows.get(key, {}))
        within = [
            key for key in passing
            if key not in against and (
                observed.rows.get(key, {}).get("status") != "passed"
                or belief.unchecked(rows[key])
            )
        ]
        # Of a mutant nobody asks why it passes.
        vacuous = frozenset(key for key in passing if belief.unchecked(rows[key]))
        if self.observe:
            vacuous = await self._canaries(within, signs, again)
        return {
            key: Seen(
                row, signs=signs[key], observed=observed.rows.get(key),
                unfollowed=reasons.get(key, "") or observed.problem,
                contradicted=key in against, vacuous=key in vacuous,
            )
            for key, row in rows.items()
        }

    async def _contradicted(
        self, keys: Sequence[str], once_more: _OnceMore
    ) -> frozenset[str]:
        """Those that fail from outside again, each alone in a fresh pair of processes; of very
        many those that fail again together, where any does alone."""
        found: set[str] = set()
        if len(keys) > MOST_ALONE:
            rows = (await once_more(keys)).rows
            keys = [key for key in keys if belief.can_contradict(rows.get(key))]
        for key in keys[:MOST_ALONE]:
            if belief.can_contradict((await once_more([key])).rows.get(key)):
                found.add(key)
        return frozenset(found | {*keys[MOST_ALONE:]} if found else found)

    async def _canaries(
        self, keys: Sequence[str], signs: dict[str, list[str]], again: _Again
    ) -> frozenset[str]:
        """Those that pass whatever the program answers; a pass that something equal to anything
        has brought about is a sign."""
        if not keys:
            return frozenset()
        false, sentinel = await asyncio.gather(
            again(keys, "spoilt false"), self._with_sentinel(keys, again)
        )
        for key in keys:
            signs[key] += sentinel.signs.get(key, ())
        deaf = [key for key in keys if belief.passes(false.rows.get(key, {}))]
        if not deaf:
            return frozenset()
        true = await again(deaf, "spoilt true")
        return frozenset(key for key in deaf if belief.passes(true.rows.get(key, {})))

    async def _with_sentinel(self, keys: Sequence[str], again: _Again) -> PlainRun:
        """What a run with a sentinel shows; nothing where no object can be equal to anything."""
        texts = "".join(self.brought.files.values())
        return await again(keys, "sentinel") if may_equal_anything(texts) else PlainRun()

    def _hurried(self, plain: PlainRun, manner: Manner) -> Brought:
        """The same with a deadline for tests that took no longer than they did: a spoilt program
        often comes to no end, and what it takes says nothing about the tests'."""
        if not manner:
            return self.brought
        slowest = max((float(row.get("wall_s", 0.0)) for row in plain.rows.values()), default=0.0)
        wall_s = min(self.brought.wall_s, HURRY_S + HURRY_FACTOR * slowest)
        return replace(self.brought, wall_s=wall_s, late=[])

    def _out_of_reach(self, test: TestCase) -> str:
        if not self.observe:
            return UNASKED
        return unsupported(test.code, self.brought.all_modules)

    def _with_text(self, test: TestCase, seen: Seen) -> Seen:
        """The same, with what the program's text says against it."""
        text = self.brought.solution.text
        return replace(
            seen, written=written_for(text, test.code, not _node(test)), reaching=reaching(text)
        )

    async def ending(self) -> Ending:
        """Runs the program as a script, in a jail of its own."""
        brought = self.brought
        wall_s = brought.wall_s * SCRIPT_WALL_FACTOR
        job = Job(
            program=shipping.program("script"),
            payload={
                "entry": brought.solution.entry, "text": mask(brought.solution.text),
                "argv": list(brought.task.argv), "random_seed": brought.random_seed,
            },
            modules=shipping.modules(),
            files=brought.files,
            stdin=brought.task.stdin,
            sites=brought.task.sites,
            seed=brought.seeds.hash,
            preload=brought.preload,
            limits=Limits(wall_s=wall_s, cpu_s=wall_s),
        )
        return _ending(await brought.sandbox.run(job))

    def calling(self, called: list[Json], wall_s: float) -> Job:
        """A process that holds the program alone and answers these calls."""
        brought = self.brought
        total_s = START_S + len(called) * wall_s
        return Job(
            program=shipping.program("observe_examples"),
            payload={**brought.payload, "calls": called},
            modules=shipping.modules(),
            files=brought.files,
            sites=brought.task.sites,
            seed=brought.seeds.hash,
            preload=brought.preload,
            limits=Limits(
                wall_s=total_s, cpu_s=total_s,
                message_bytes=min(ANSWER_BYTES * (1 + len(called)), 64_000_000),
            ),
        )


def _flaky(row: Row) -> Row:
    said = str(row.get("message", "")) or str(row.get("status", "it did not run"))
    return {**row, "status": "failed", "message": f"flaky: it passes in some runs only; {said}"}


def _only(tests: Sequence[TestCase], node: str) -> TestCase:
    """The test of a file that has this node, asking for nothing else."""
    test = next(one for one in tests if _of(one, node))
    return test.model_copy(update={"node": node})


def _of(test: TestCase, name: str) -> bool:
    """Whether a test stands for a name that pytest collected."""
    return isinstance(test, Script) and stands_for(test.node, test.without, name)


def _uncollected(node: str, plain: PlainRun) -> Row:
    """What is said of a test that pytest has not collected: its own words where it has any."""
    if plain.skipped:
        return {"status": "skipped", "message": plain.skipped}
    none = "pytest collected no test" + ("" if node == REST else f" {node}")
    return {"status": "error", "message": plain.problem or none}




def _text(row: Row, key: str) -> str:
    value = row.get(key)
    return value[:SHOWN] if isinstance(value, str) else ""


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
        unique.append(verdict.model_copy(update={"name": name}))
    return tuple(unique)


def _ending(outcome: Outcome) -> Ending:
    """How a script ended: the host's word first, then what the process told of itself."""
    told = outcome.messages[-1] if outcome.messages else None
    row: Row = told if isinstance(told, dict) else {}
    kind: Literal["completed", "raised", "exited", "timeout", "killed"]
    exit_code = outcome.exit_code
    if outcome.ended == "timeout":
        kind = "timeout"
    elif outcome.ended in ("output", "killed", "garbled"):
        kind = "killed"
    elif "raised" in row:
        kind, exit_code = "raised", 1
    elif "exited" in row and isinstance(row["exited"], int):
        kind, exit_code = "exited", row["exited"]
    else:
        kind = "completed" if outcome.ended == "completed" else "exited"
    raised = kind == "raised"
    message = _text(row, "message")
    if kind == "exited" and exit_code and not message:
        # What a program says before it gives up goes there: argparse does so.
        message = (outcome.stderr.strip().splitlines() or [""])[-1][:SHOWN]
    line = row.get("line")
    return Ending(
        kind=kind, exit_code=exit_code,
        exception=_text(row, "raised") if raised else "",
        message=message if raised or kind == "exited" else "",
        line=line if raised and isinstance(line, int) else None,
        traceback=str(row.get("traceback", "")) if raised else "",
        stdout=outcome.stdout, stderr=outcome.stderr,
        truncated=outcome.ended == "output",
        limit=outcome.limit or outcome.signal if kind in ("timeout", "killed") else "",
        refused=outcome.refusals,
    )


def _node(test: TestCase) -> str:
    return test.node if isinstance(test, Script) else ""


def _uses_output(test: TestCase) -> bool:
    return isinstance(test, Script) and test.uses_output
