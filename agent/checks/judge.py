"""Judges a solution by its tests, outside of it; the only room that knows both sides.

The tests run in one jail and the solution in another, joined by a channel (`remote`): the
first never holds the solution, the second never an expected value. Verdicts come from the
tests' process alone. Whatever the solution does is a verdict; `SandboxError` is raised only
when the jail itself is broken.
"""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import PurePosixPath
from typing import Any, Literal

from agent.checks import shipping
from agent.checks.alone import run_in_process
from agent.checks.canary import Manner
from agent.checks.examples import (
    LAST_WORD_S,
    Elsewhere,
    answers,
    asked,
    calls,
    ended,
    explained,
    lacks_permission,
)
from agent.checks.masking import mask
from agent.checks.reading import told_snippet
from agent.checks.transform import always_skipped, unsupported
from agent.domain import (
    VETOING_ORIGINS,
    Ending,
    Integrity,
    Report,
    Script,
    Solution,
    Status,
    Task,
    TestCase,
    Verdict,
)
from sandbox.sandbox import Process, Sandbox
from sandbox.types import Job, Json, Limits, Outcome, SandboxError

START_S = 30.0
"""A busy machine may take this long to start two interpreters."""
GRACE_S = 4.0
"""The tests' process stops a test by itself; this much later the host does."""
LATE_TESTS = 2
"""After so many tests that came to no end the others are given a fifth of the time."""
NO_FILES = (
    "a test file needs files, and at this level of the sandbox (L2) none can be opened: run it on "
    "a Linux with Landlock, choose the sandbox `subprocess`, or write the test as a snippet"
)
ANSWER_BYTES = 2_000_000
"""More than any answer that is not sent to the tests' process, escapes and all."""
SHOWN = 2_000
SCRIPT_WALL_FACTOR = 2.0

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Seeds:
    """What a solution's chance depends on."""

    hash: int = 0
    """The hash seed of the interpreter; each other one takes a fork server of its own."""
    random: int | None = None
    """The seed of `random`; `None` leaves it as it is, the same in every process."""


FIRST_SEEDS = Seeds()


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
) -> Report:
    """What the tests show of the solution: one verdict per test, or per pytest node.

    The program is also run as a script where `run_program` says so; left open, where a test
    reads its output or nothing else could speak of it. `wall_s` is each test's deadline. With
    `first_failure` tests may have no verdict once one of them has failed.
    """
    reads_output = any(isinstance(test, Script) and test.uses_output for test in tests)
    if run_program is None:
        run_program = reads_output or not any(t.origin in VETOING_ORIGINS for t in tests)
    bench = _Bench(solution, task, sandbox, wall_s, seeds, first_failure)
    ending: Ending | None = None
    if run_program or reads_output:
        if reads_output:
            ending = await bench.ending()
            verdicts = await bench.verdicts(tests, ending.stdout)
        else:
            ending, verdicts = await _both(bench, tests)
    else:
        verdicts = await bench.verdicts(tests, "")
    return Report(solution=solution.id, verdicts=_unique(verdicts), ending=ending)


def calling(
    solution: Solution, task: Task, sandbox: Sandbox, called: list[Json], wall_s: float
) -> Job:
    """A job that answers calls of a program as those of examples are answered, in a process that
    holds the program alone; `wall_s` is for each of them."""
    return _Bench(solution, task, sandbox, wall_s).calling(called, wall_s)


async def _both(bench: _Bench, tests: Sequence[TestCase]) -> tuple[Ending, list[Verdict]]:
    """The program's run and the tests', side by side."""
    try:
        async with asyncio.TaskGroup() as group:
            ending = group.create_task(bench.ending())
            verdicts = group.create_task(bench.verdicts(tests, ""))
    except* SandboxError as broken:
        raise SandboxError(str(broken.exceptions[0])) from broken
    return ending.result(), verdicts.result()


@dataclass
class _Ask:
    """One snippet, or one node of a test file, and what came of it."""

    test: TestCase
    rows: list[tuple[str, Row]] = field(default_factory=list)
    in_process: str = ""
    """Why it must be judged in one process with the solution."""


@dataclass(frozen=True)
class _Bench:
    """A solution on its way through all its tests."""

    solution: Solution
    task: Task
    sandbox: Sandbox
    wall_s: float
    seeds: Seeds = FIRST_SEEDS
    first_failure: bool = False
    late: list[str] = field(default_factory=list)
    """Names of tests that came to no end."""

    async def verdicts(self, tests: Sequence[TestCase], output: str) -> list[Verdict]:
        """A verdict for each test, in the order of the tests."""
        asks = [_Ask(test) for test in tests]
        for ask in asks:
            ask.in_process = unsupported(ask.test.code, self._all_modules)
        outside = [ask for ask in asks if not ask.in_process]
        snippets = [ask for ask in outside if not _node(ask.test)]
        snippets = await self._compare_examples(snippets)
        if snippets and not self._settled(asks):
            await self._observe_snippets(snippets, output)
        by_file: dict[str, list[_Ask]] = {}
        for ask in outside:
            if _node(ask.test):
                by_file.setdefault(ask.test.code, []).append(ask)
        for code, group in by_file.items():
            if not self._settled(asks):
                await self._observe_file(code, group)
        if not self._settled(asks):
            await self._fall_back([ask for ask in asks if ask.in_process])
        return [
            _verdict(ask.test, name, row) for ask in asks for name, row in ask.rows
        ]

    def _settled(self, asks: Sequence[_Ask]) -> bool:
        """Whether a failure was seen, and one is enough."""
        return self.first_failure and any(
            row["status"] not in ("passed", "unsettled") for ask in asks for _, row in ask.rows
        )

    async def ending(self) -> Ending:
        """Runs the program as a script, in a jail of its own."""
        job = Job(
            program=shipping.program("script"),
            payload={
                "entry": self.solution.entry, "text": mask(self.solution.text),
                "argv": list(self.task.argv), "random_seed": self._random_seed,
            },
            modules=shipping.modules(),
            files=self._files,
            stdin=self.task.stdin,
            sites=self.task.sites,
            seed=self.seeds.hash,
            preload=self._preload,
            limits=Limits(
                wall_s=self.wall_s * SCRIPT_WALL_FACTOR, cpu_s=self.wall_s * SCRIPT_WALL_FACTOR
            ),
        )
        return _ending(await self.sandbox.run(job))

    async def _compare_examples(self, asks: list[_Ask]) -> list[_Ask]:
        """Judges the examples whose answers the host itself can compare; returns the others."""
        waiting = [(ask, one) for ask in asks if (one := asked(ask.test)) is not None]
        while waiting:
            wall_s = self._test_wall_s
            job = self.calling(calls([one for _, one in waiting]), wall_s)
            rows = await answers(
                self.sandbox, job, [one for _, one in waiting], wall_s, START_S
            )
            for (ask, _), row in zip(waiting, rows, strict=False):
                if isinstance(row, Elsewhere):
                    continue
                ask.rows.append((ask.test.name, row))
                if row["status"] == "timeout":
                    self.late.append(ask.test.name)
            waiting = [] if self._settled(asks) else waiting[len(rows) :]
        return [ask for ask in asks if not ask.rows]

    def calling(self, called: list[Json], wall_s: float) -> Job:
        """A process that holds the program alone and answers these calls."""
        total_s = START_S + len(called) * wall_s
        return Job(
            program=shipping.program("observe_examples"),
            payload={**self._program_payload, "calls": called},
            modules=shipping.modules(),
            files=self._files,
            sites=self.task.sites,
            seed=self.seeds.hash,
            preload=self._preload,
            limits=Limits(
                wall_s=total_s, cpu_s=total_s,
                message_bytes=min(ANSWER_BYTES * (1 + len(called)), 64_000_000),
            ),
        )

    async def _observe_snippets(self, asks: list[_Ask], output: str) -> None:
        waiting = dict(enumerate(asks))
        while waiting:
            payload: dict[str, Json] = {
                "tests": [
                    {
                        "name": str(number), "code": ask.test.code,
                        "reading": told_snippet(ask.test.code, self._all_modules),
                        "output": output if _uses_output(ask.test) else None,
                        "loose": not isinstance(ask.test, Script),
                    }
                    for number, ask in waiting.items()
                ],
            }
            rows, last = await self._session(payload, [*waiting.values()])
            if not rows:
                raise SandboxError(f"the tests' process began no test: {last.get('ended')}")
            for name, row in rows.items():
                ask = waiting.pop(int(name))
                _settle(ask, ask.test.name, row)
            if self._settled(asks):
                return

    async def _observe_file(self, code: str, asks: list[_Ask]) -> None:
        """One test file; a session of pytest for as long as no test ends the solution."""
        done: list[str] = []
        stem = self._name.rpartition(".")[2]
        file = f"test_{stem}.py" if f"test_{stem}" not in self._modules else "test_it.py"
        found: dict[str, Row] = {}
        while True:
            payload: dict[str, Json] = {
                "file": file, "code": code, "nodes": [_node(ask.test) for ask in asks],
                "done": list(done),
                "conftest": any(_is_conftest(path) for path in self._test_support),
            }
            # The text goes by the channel: on disk another process might read it.
            rows, last = await self._session(payload, asks, {file: ""}, shared=True)
            found |= rows
            done += rows
            if "unloaded" in last:
                _all(asks, last["unloaded"])
                return
            if "done" in last or not rows:
                problem = str(last.get("problem") or last.get("ended") or "")
                break
        for ask in asks:
            node = _node(ask.test)
            mine = {name: row for name, row in found.items() if _of(node, name)}
            for name, row in mine.items():
                if row.get("status") != "skipped":
                    _settle(ask, ask.test.name + name.removeprefix(node), row)
            if not mine:
                said = f": {problem}" if problem else ""
                message = f"pytest collected no test {node}{said}"
                ask.rows.append((ask.test.name, {"status": "error", "message": message}))

    async def _session(
        self, payload: dict[str, Json], asks: Sequence[_Ask],
        test_files: Mapping[str, str] | None = None, shared: bool = False,
    ) -> tuple[dict[str, Row], Row]:
        """One pair of processes: verdicts by name, and the last message that is none."""
        common: dict[str, Json] = {"name": self._name, "modules": list(self._modules)}
        wall_s = self._test_wall_s
        total_s = START_S + len(asks) * (wall_s + GRACE_S)
        with_pytest = any(
            shipping.needs_packages(ask.test, self._all_modules) for ask in asks
        ) or any(
            shipping.imports_packages(text, self._all_modules)
            for path, text in self._test_support.items() if path.endswith(".py")
        )
        ours = await shipping.shipment(self.sandbox, self.task.sites, with_pytest)
        if shared and not ours.opens_files:
            return {}, {"unloaded": {"status": "error", "message": NO_FILES}}
        limits = Limits(wall_s=total_s, cpu_s=total_s)
        tests_job = Job(
            program=shipping.program("observe_tests"),
            payload={**common, **payload, "wall_s": wall_s},
            modules=ours.modules,
            files={**self._test_support, **(test_files or {})},
            sites=ours.sites,
            seed=self.seeds.hash,
            preload=self._preload,
            limits=limits,
        )
        solution_job = Job(
            program=shipping.program("observe_solution"),
            payload={
                **self._program_payload, "last_site_is_ours": ours.last_site_is_ours,
            },
            # The same as the other's: both may come from one preloaded interpreter.
            modules=ours.modules,
            files=self._files,
            sites=ours.sites,
            seed=self.seeds.hash,
            preload=self._preload,
            limits=limits,
        )
        async with self.sandbox.pair(tests_job, solution_job, shared) as (court, defendant):
            rows, last = await _listen(court, defendant, wall_s)
            if "done" in last:
                # Their end is nearer than that of processes that must be killed.
                await asyncio.gather(court.receive(LAST_WORD_S), defendant.receive(LAST_WORD_S))
            if any(lacks_permission(row) for row in rows.values()):
                refusals = (await defendant.kill()).refusals
                rows = {name: explained(row, refusals) for name, row in rows.items()}
        self.late.extend(name for name, row in rows.items() if row.get("status") == "timeout")
        return rows, last

    async def _fall_back(self, asks: list[_Ask]) -> None:
        """Tests that cannot be judged outside share a process with the solution, and say so."""
        for ask in asks:
            settled = [(name, had) for name, had in ask.rows if had.get("status") != "unsettled"]
            if not always_skipped(ask.test.code, _node(ask.test)):
                settled.append((ask.test.name, await self._in_process(ask)))
            ask.rows = settled

    async def _in_process(self, ask: _Ask) -> Row:
        """What a test shows beside the solution. A pass is believed where the same test fails
        on spoilt answers, and passes where the solution's objects cannot judge themselves."""
        if _node(ask.test) and not (
            await shipping.shipment(self.sandbox, self.task.sites, True)
        ).opens_files:
            return {"status": "error", "message": NO_FILES, "in_process": ask.in_process}
        status, message = await self._run_beside(ask, "")
        why = ask.in_process
        if status == "passed":
            why += "; it was run again with every answer of the program spoilt"
            manners: tuple[Manner, ...] = ("spoilt false", "spoilt true")
            if all([(await self._run_beside(ask, one))[0] == "passed" for one in manners]):
                status = "error"
                message = "not believed: the test also passes on spoilt answers of the program"
            elif (await self._run_beside(ask, "disarmed"))[0] != "passed":
                status = "error"
                message = (
                    "not believed: the test only passes because objects of the program say so"
                    " of themselves"
                )
        return {"status": status, "message": message, "in_process": why}

    async def _run_beside(self, ask: _Ask, manner: Manner) -> tuple[Status, str]:
        (seen,) = await run_in_process(
            self.solution, [ask.test], self.task, self.sandbox, wall_s=self.wall_s, manner=manner
        )
        if seen.passed == (True,):
            return "passed", ""
        said = f"{seen.exception}: {seen.message}".strip(": ")
        where = f" at line {seen.line}" if seen.line and said else ""
        return "timeout" if seen.ended == "timeout" else "failed", (said or seen.ended) + where

    @property
    def _test_wall_s(self) -> float:
        """The deadline of the next tests."""
        if len(self.late) < LATE_TESTS:
            return self.wall_s
        return max(min(0.2, self.wall_s), self.wall_s / 10)

    @property
    def _program_payload(self) -> dict[str, Json]:
        return {
            "name": self._name, "entry": self.solution.entry, "text": mask(self.solution.text),
            "stdin": self.task.stdin, "argv": list(self.task.argv),
            "random_seed": self._random_seed,
        }

    @property
    def _random_seed(self) -> int | None:
        """None is set where the program has a module of that name in the place of Python's."""
        own = {PurePosixPath(f.path).name for f in (*self.solution.files, *self.task.support)}
        return None if "random.py" in own else self.seeds.random

    @property
    def _preload(self) -> tuple[str, ...]:
        return shipping.preloads(
            file.text for file in (*self.solution.files, *self.task.support)
            if file.path.endswith(".py")
        )

    @property
    def _name(self) -> str:
        return _module_name(self.solution.entry)

    @cached_property
    def _all_modules(self) -> frozenset[str]:
        """Every name that leads a test to the program."""
        return frozenset({*self._modules, self._name, "solution"})

    @cached_property
    def _modules(self) -> tuple[str, ...]:
        """Every importable name of the program and of what it came with."""
        names: set[str] = set()
        for file in (*self.solution.files, *self.task.support):
            if file.path.endswith(".py") and file.path not in self._test_support:
                parts = _module_name(file.path).split(".")
                names |= {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
        return tuple(sorted(names))

    @cached_property
    def _test_support(self) -> dict[str, str]:
        """Support files that the tests need on their side: helpers that the program does not
        import, which may hold asserts and expected values, and whatever is no module."""
        modules = {f.path: f.text for f in self.task.support if f.path.endswith(".py")}
        mine = modules and _reached([file.text for file in self.solution.files], modules)
        return {f.path: f.text for f in self.task.support if f.path not in mine}

    @property
    def _files(self) -> dict[str, str]:
        helpers = {path for path in self._test_support if path.endswith(".py")}
        laid = {f.path: f.text for f in self.task.support if f.path not in helpers}
        laid |= {file.path: file.text for file in self.solution.files}
        laid[self.solution.entry] = mask(self.solution.text)
        return laid


async def _listen(
    court: Process, defendant: Process, wall_s: float
) -> tuple[dict[str, Row], Row]:
    """Takes the verdicts of one session as they come, until it ends or a test ends it."""
    rows: dict[str, Row] = {}
    begun = ""
    patience_s = START_S
    while True:
        message = await court.receive(patience_s)
        if isinstance(message, Outcome):
            if begun:
                rows[begun] = _cut_off(message, wall_s)
                return rows, {}
            return rows, {"ended": message.stderr.strip()[-300:] or message.ended}
        if not isinstance(message, dict):
            raise SandboxError("the tests' process sent what is no message of ours")
        match message:
            case {"begin": str(name)}:
                begun, patience_s = name, wall_s + GRACE_S
            case {"skipped": said, "name": str(name), "marked": marked}:
                status = "skipped" if marked else "error"
                rows[name] = {"status": status, "message": f"skipped: {said}"}
                begun = ""
            case {"verdict": dict(verdict), "name": str(name), "broken": broken, "last": last}:
                rows[name] = await _with_end(verdict, defendant) if broken else verdict
                begun = ""
                patience_s = START_S
                if broken or verdict.get("status") == "timeout":
                    return rows, {}
                if last:
                    return rows, {"done": True}
            case {"unloaded": dict(verdict)}:
                return rows, {"unloaded": await _with_end(verdict, defendant)}
            case _:
                return rows, message


async def _with_end(verdict: Mapping[str, Json], defendant: Process) -> Row:
    """A verdict on a process that is gone, with how it ended as the host saw it."""
    if verdict.get("status") != "error" or "process ended" not in str(verdict.get("message")):
        return verdict
    end = await defendant.receive(1.0)
    if not isinstance(end, Outcome):
        return verdict
    return {**verdict, "message": ended(end)}


def _cut_off(outcome: Outcome, wall_s: float) -> Row:
    """The verdict on a test in whose midst its own process was gone."""
    if outcome.ended == "timeout":
        return {"status": "timeout", "message": f"no end within {wall_s:g} s"}
    how = outcome.limit or outcome.signal or outcome.ended
    return {"status": "error", "message": f"the process of the tests ended: {how}"}


def _settle(ask: _Ask, name: str, row: Row) -> None:
    if row.get("status") == "unsettled":
        ask.in_process = str(row.get("message"))
    ask.rows.append((name, row))


def _all(asks: list[_Ask], row: Row) -> None:
    for ask in asks:
        ask.rows.append((ask.test.name, row))


def _verdict(test: TestCase, name: str, row: Row) -> Verdict:
    """A row of the tests' process as a value; anything odd in it is an error."""
    status: Status = "error"
    if row.get("status") in ("passed", "failed", "error", "timeout"):
        status = row["status"]
    integrity: Integrity = "outside"
    reason = _text(row, "reason")
    observed = row.get("observed")
    if row.get("in_process"):
        integrity, reason = "in-process", _text(row, "in_process")
    elif isinstance(observed, list) and observed:
        integrity, reason = "observed", "; ".join(str(why) for why in observed)[:SHOWN]
    wall_s = row.get("wall_s")
    return Verdict(
        name=name, test=test.name, origin=test.origin, status=status, integrity=integrity,
        reason=reason, call=_text(row, "call"), expected=_text(row, "expected"),
        got=_text(row, "got"), message=_text(row, "message"),
        type_differs=row.get("type_differs") is True,
        wall_s=float(wall_s) if isinstance(wall_s, int | float) else 0.0,
    )


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


def _of(node: str, name: str) -> bool:
    """Whether a collected name is the node, one of its parameters, or in its class."""
    return name == node or name.startswith((f"{node}[", f"{node}::"))


def _is_conftest(path: str) -> bool:
    return PurePosixPath(path).name == "conftest.py"


def _reached(texts: list[str], modules: Mapping[str, str]) -> set[str]:
    """Those of the modules, path to text, that the texts import, directly or through others."""
    reached: set[str] = set()
    waiting = list(texts)
    while waiting:
        wanted = set(_imported(waiting.pop()))
        for path, text in modules.items():
            # By the last part too, for imports relative to a package.
            name = _module_name(path)
            if path not in reached and (
                wanted & {name, name.rpartition(".")[2]}
                or any(one.startswith(f"{name}.") for one in wanted)
            ):
                reached.add(path)
                waiting.append(text)
    return reached


def _imported(text: str) -> Iterator[str]:
    """Dotted names that a text imports; none where it does not parse."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.module:
                yield node.module
            yield from (f"{node.module}.{a.name}" if node.module else a.name for a in node.names)


@lru_cache(maxsize=1024)
def _module_name(path: str) -> str:
    parts = PurePosixPath(path).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)
