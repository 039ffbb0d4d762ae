"""Attacks on a sandbox: Python programs with the exact result that each level promises.

A failed attack alone proves nothing, since it may never have started. So each attack reports its
start and its result, each level promises a specific error, and in a naive harness the same program
must succeed, or at least reach the kernel.

Attacks are functions in the files of `cases/`, one file per rule, which are read and never
imported; `cases/prelude.py` has their helpers. `cases/attacks.toml` has the expected results.
"""

from __future__ import annotations

import ast
import json
import platform
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import dedent, indent
from typing import Any, Literal

from sandbox.types import Limits

Rule = Literal[
    "environment", "files", "network", "processes", "signals", "kernel", "memory", "output",
    "descriptors", "time", "next job",
]

Harness = Literal["process", "interpreter"]
"""How the naive harness runs the scripts of an attack.

process      each in a new process, with everything that the host's process has
interpreter  one after the other in one interpreter, like a harness that calls `exec`
"""

ATTACK_SUCCEEDED = "through"
"""The result of a successful attack."""

_CASES = Path(__file__).with_name("cases")
_PRELUDE = (_CASES / "prelude.py").read_text("utf-8")
_LIMITS = Limits(wall_s=20, cpu_s=20, memory_mib=400, output_bytes=100_000, file_mib=4)
_CALL = re.compile(r"\b(?:call\(|syscall_number\(|call_or\(-1, )\"(\w+)\"")

MACHINES = ("x86_64", "aarch64")


def _numbers() -> dict[str, tuple[int | None, ...]]:
    lines = (_CASES / "numbers.txt").read_text("ascii").splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    return {name: tuple(None if one == "-" else int(one) for one in row) for name, *row in rows}


NUMBERS = _numbers()
"""Name of a system call to its number on each of `MACHINES`; `None` if there is no such call."""


@dataclass(frozen=True)
class Attack:
    """An attack on one rule of a jail, which does no harm if it succeeds."""

    name: str
    rule: Rule
    attempt: str
    """The body of a function. It raises the kernel's error, or `Absent` if it finds nothing, and
    returns if it succeeds."""
    refusals: Mapping[str, str]
    """Level to the promised result: an errno, the signal or limit that ended the process, or
    `absent` if nothing was found; "one or other" if it depends on the owner of a file. A missing
    level promises nothing."""
    control: tuple[str, ...] = (ATTACK_SUCCEEDED,)
    """The results in the naive harness that prove the attack valid: `through`, or an errno with
    which the kernel, not a jail, rejects the call."""
    probe: str = ""
    """A second attempt, run in the next job unless the first is refused; its result then counts."""
    harness: Harness = "process"
    machines: tuple[str, ...] = MACHINES
    limits: Limits = _LIMITS
    with_given_packages: bool = False
    """Whether the job gets `Targets.given_packages`."""

    def why_unsupported(self) -> str:
        """Why this machine cannot run the attack; empty if it can."""
        machine = platform.machine()
        if machine not in self.machines:
            return f"written for {', '.join(self.machines)}, not for {machine}"
        missing = [name for name in self._calls() if _number(name) is None]
        return f"{machine} has no {', '.join(missing)}" if missing else ""

    def texts(self) -> list[str]:
        """The scripts in order; each takes `Targets.facts` as its argument."""
        numbers = json.dumps({name: _number(name) for name in [*self._calls(), "socket"]})
        return [
            f"{_PRELUDE}\nNUMBERS = {numbers}\n"
            f"def attempt():\n{indent(text.strip(), '    ')}\n\nrun_and_report(attempt)\n"
            for text in (self.attempt, self.probe) if text
        ]

    def _calls(self) -> list[str]:
        return sorted(set(_CALL.findall(self.attempt + self.probe)))


def _number(name: str) -> int | None:
    return NUMBERS[name][MACHINES.index(platform.machine())]


def _attacks() -> Iterator[Attack]:
    table = tomllib.loads((_CASES / "attacks.toml").read_text("utf-8"))
    answers: dict[str, dict[str, str]] = table.pop("answers")
    for rule, rows in table.items():
        programs = _programs(_CASES / f"{rule}.py")
        for name, row in rows.items():
            yield _attack(name, rule.replace("_", " "), row, programs, answers)
        assert not programs, f"{rule}: {[*programs]} of the programs are in no table"


def _attack(
    name: str,
    rule: Any,  # Any: a key of the table, as is all in `row`
    row: Any,
    programs: dict[str, tuple[str, str]],
    answers: Mapping[str, dict[str, str]],
) -> Attack:
    more: dict[str, Any] = {"meets": row} if isinstance(row, str) else dict(row)
    meets = more.pop("meets")
    refusals = answers.get(meets) or dict.fromkeys(("L2", "L3", "L4"), meets)
    refusals = refusals | {key: more.pop(key) for key in [*more] if re.fullmatch(r"L\d", key)}
    for key in {"control", "machines"} & more.keys():
        more[key] = tuple(more[key])
    limits = replace(_LIMITS, **more.pop("limits", {}))
    attempt, probe = programs.pop(name)
    return Attack(name, rule, attempt, refusals, probe=probe, limits=limits, **more)


def _programs(path: Path) -> dict[str, tuple[str, str]]:
    """Name of each attack in a file, from its docstring, to its attempt and its probe."""
    text = path.read_text("utf-8")
    lines = text.splitlines()
    found: dict[str, tuple[str, str]] = {}
    for function in ast.parse(text).body:
        if not isinstance(function, ast.FunctionDef):
            continue
        name = ast.get_docstring(function)
        first = function.body[1 if name else 0]
        body = dedent("\n".join(lines[first.lineno - 1 : function.end_lineno]))
        if name:
            latest = name
        found[latest] = (body, "") if name else (found[latest][0], body)
    return found


ATTACKS: tuple[Attack, ...] = tuple(_attacks())
