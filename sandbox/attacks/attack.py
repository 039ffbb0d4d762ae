"""What an attack is: Python that tries something, and the exact answer each level promises.

An attack that was merely not seen to succeed proves nothing: it may never have started. So a
refusal is promised by its name, the text says itself that it starts and what it met, and the
same text must have got through, or at least met the kernel, in a naive harness beside the jail.

Attacks are functions of the programs in `cases/`, one file for each rule, which are read and never
imported; `cases/prelude.py` has the words that they use. What each meets stands in
`cases/attacks.toml`.
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
"""How the naive harness runs the texts of an attack.

process      each in a process of its own, with everything the host's process has
interpreter  one after the other in one interpreter, as a harness that calls `exec` does
"""

THROUGH = "through"
"""The answer to an attack that got what it wanted."""

_CASES = Path(__file__).with_name("cases")
_PRELUDE = (_CASES / "prelude.py").read_text("utf-8")
_LIMITS = Limits(wall_s=20, cpu_s=20, memory_mib=400, output_bytes=100_000, file_mib=4)
_CALL = re.compile(r"\b(?:call\(|numbered\(|otherwise\(-1, )\"(\w+)\"")

MACHINES = ("x86_64", "aarch64")


def _numbers() -> dict[str, tuple[int | None, ...]]:
    lines = (_CASES / "numbers.txt").read_text("ascii").splitlines()
    rows = [line.split() for line in lines if not line.startswith("#")]
    return {name: tuple(None if one == "-" else int(one) for one in row) for name, *row in rows}


NUMBERS = _numbers()
"""Name of a system call to its number on each of `MACHINES`; `None` where one has no such call."""


@dataclass(frozen=True)
class Attack:
    """One thing that untrusted code may try; harmless where it succeeds."""

    name: str
    rule: Rule
    attempt: str
    """The body of a function. It raises what the kernel answers, `Absent` where it finds
    nothing, and ends where it succeeds."""
    refusals: Mapping[str, str]
    """Level to the one answer that counts: an errno, the signal or the limit that ended the
    process, or `absent` where nothing was found; "one or other" where it hangs on who owns a
    file. A level that is not named promises nothing."""
    control: tuple[str, ...] = (THROUGH,)
    """The answers of the naive harness that prove the attack real: `through`, or an errno by
    which the kernel, not a jail, finds fault with the call."""
    probe: str = ""
    """A second attempt, made as the next job; it decides, once the first has run."""
    harness: Harness = "process"
    machines: tuple[str, ...] = MACHINES
    limits: Limits = _LIMITS
    with_site: bool = False
    """The job is given the world's folder of packages to import from."""

    def unfit(self) -> str:
        """Why this machine cannot run it; empty when it can."""
        machine = platform.machine()
        if machine not in self.machines:
            return f"written for {', '.join(self.machines)}, not for {machine}"
        missing = [name for name in self._calls() if _number(name) is None]
        return f"{machine} has no {', '.join(missing)}" if missing else ""

    def texts(self) -> list[str]:
        """The scripts to run, in order; each takes the world's facts as its argument."""
        numbers = json.dumps({name: _number(name) for name in [*self._calls(), "socket"]})
        return [
            f"{_PRELUDE}\nNUMBERS = {numbers}\n"
            f"def attempt():\n{indent(text.strip(), '    ')}\n\nconclude(attempt)\n"
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
    """Name of each attack in a file to its attempt and its probe; the names are docstrings."""
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
