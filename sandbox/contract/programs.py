"""Programs that a backend is tried with, and what must be seen of each.

They lie in `cases/`, as files that are read and never imported: `honest/`, what people really
write, and `hostile/`, what a backend must hold back. Tables beside them say what is expected.
"""

from __future__ import annotations

import importlib.util
import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sandbox.levels import Level
from sandbox.types import Job, Limits, Outcome

RUN_AS_MAIN = """\
import sys
name, arguments = jail.payload
path = f"{jail.folder}/{name}"
sys.argv[:] = [path, *arguments]
main = sys.modules["__main__"].__dict__
main["__file__"] = path
source = jail.files[name].encode("utf-8", "surrogatepass")
try:
    exec(compile(source, path, "exec", dont_inherit=True), main)
except SystemExit:
    raise
except BaseException as error:
    shown = error.__traceback__.tb_next
    sys.excepthook(type(error), error.with_traceback(shown), shown)
    raise SystemExit(1) from None
"""
"""Runs a file of the job as `python FILE` would; the payload is its name and its arguments."""

ROOMY = Limits(wall_s=30, cpu_s=30)
KEY_NAME = "SANDBOX_CANARY_KEY"

_CASES = Path(__file__).with_name("cases")


def script(
    text: str,
    stdin: str = "",
    limits: Limits = ROOMY,
    arguments: tuple[str, ...] = (),
    files: Mapping[str, str] | None = None,
    sites: tuple[str, ...] = (),
) -> Job:
    """A job that runs `text` as a script, with more `files` beside it."""
    return Job(
        RUN_AS_MAIN,
        payload=["main.py", [*arguments]],
        files={"main.py": text, **(files or {})},
        stdin=stdin,
        sites=sites,
        limits=limits,
    )


@dataclass(frozen=True)
class ContractProgram:
    """A script and what is to be seen of it."""

    claim: str
    text: str
    prints: str = ""
    ends: tuple[str, ...] = ("completed",)
    """How it may end; one that completes must complain of nothing."""
    seen: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of the outcome. Any: each has a type of its own."""
    stdin: str = ""
    arguments: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """Further files of the job, beside the script."""
    limits: Limits = ROOMY
    levels: tuple[Level, ...] | None = None
    """The levels at which it is claimed, where what follows does not say it."""
    needs_files: bool = False
    """Reads or writes files by their names, so it asks for a level that has files."""
    needs_modes: bool = False
    """Changes the modes of its files, which Landlock cannot keep to the job's own: refused at
    L3 where the jail runs as its host's user."""
    package: str = ""
    """A package that must be installed; the job is given the folder it lies in."""
    path: str = ""
    """A file of the system that must be there."""
    processes: bool = False
    """Starts processes, so it asks to be granted them."""
    loopback: bool = False
    """Talks to itself over a network, likewise."""

    def missing(self) -> str:
        """What this machine lacks to run it; empty when nothing."""
        if self.package and importlib.util.find_spec(self.package) is None:
            return f"{self.package} is not installed"
        if self.path and not os.path.exists(self.path):
            return f"{self.path} does not exist"
        return ""

    def job(self) -> Job:
        """It as a job."""
        spec = importlib.util.find_spec(self.package) if self.package else None
        origin = None if spec is None else spec.origin
        sites = () if origin is None else (str(Path(origin).parents[1]),)
        job = script(self.text, self.stdin, self.limits, self.arguments, self.files, sites)
        return replace(job, processes=self.processes, loopback=self.loopback)

    def as_expected(self, outcome: Outcome) -> bool:
        """Whether the outcome is the one that stands in the table."""
        quiet = outcome.ended != "completed" or not outcome.stderr
        return (
            outcome.ended in self.ends and outcome.stdout == self.prints and quiet
            and all(getattr(outcome, name) == value for name, value in self.seen.items())
        )


def programs(kind: str) -> tuple[ContractProgram, ...]:
    """Those of one table: `honest` or `hostile`."""
    folder = _CASES / kind
    table = tomllib.loads((_CASES / f"{kind}.toml").read_text("utf-8"))
    return tuple(_program(claim, row, folder) for claim, row in table.items())


def _program(claim: str, row: dict[str, Any], folder: Path) -> ContractProgram:
    """A row as a program; of texts that begin with @ the rest is a file's name."""
    name = row.pop("text", None) or "".join(
        letter if letter.isascii() and letter.isalnum() else " " for letter in claim.lower()
    )
    source = (folder / f"{'_'.join(name.split())}.py").read_text("utf-8")
    files = {
        path: (folder / inner[1:]).read_text("utf-8") if inner.startswith("@") else inner
        for path, inner in row.pop("files", {}).items()
    }
    # The escapes in it are Python's: TOML has none for a lone surrogate.
    stdin = row.pop("stdin", "").encode("ascii").decode("unicode_escape")
    limits = replace(ROOMY, **row.pop("limits", {}))
    for key in {"arguments", "ends", "levels"} & row.keys():
        row[key] = tuple(row[key])
    seen = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in row.pop("seen", {}).items()
    }
    return ContractProgram(claim, source, files=files, stdin=stdin, limits=limits, seen=seen, **row)


@contextmanager
def planted_key(value: str) -> Iterator[None]:
    """Has the host's environment hold a key that no program may find."""
    before = os.environ.get(KEY_NAME)
    os.environ[KEY_NAME] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[KEY_NAME]
        else:
            os.environ[KEY_NAME] = before


def text(name: str) -> str:
    """One of the hostile programs of which more is expected than a table can say."""
    return (_CASES / "hostile" / f"{name}.py").read_text("utf-8")


HONEST = programs("honest")
HOSTILE = programs("hostile")
