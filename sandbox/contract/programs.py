"""Test programs for backends, with their expected outcomes.

The files in `cases/` are read and never imported: `honest/` has typical programs, `hostile/` has
programs that a backend must contain. Tables next to them have the expected outcomes.
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
"""Runs a file of the job like `python FILE`; the payload is its name and arguments."""

GENEROUS_LIMITS = Limits(wall_s=30, cpu_s=30)
KEY_NAME = "SANDBOX_CANARY_KEY"

_CASES = Path(__file__).with_name("cases")


def script(
    text: str, stdin: str = "", limits: Limits = GENEROUS_LIMITS, arguments: tuple[str, ...] = (),
    files: Mapping[str, str] | None = None, package_folders: tuple[str, ...] = (),
) -> Job:
    """A job that runs `text` as a script, with additional `files`."""
    return Job(
        RUN_AS_MAIN, payload=["main.py", [*arguments]], files={"main.py": text, **(files or {})},
        stdin=stdin, package_folders=package_folders, limits=limits,
    )


@dataclass(frozen=True)
class ContractProgram:
    """A script and its expected outcome."""

    claim: str
    text: str
    prints: str = ""
    ends: tuple[str, ...] = ("completed",)
    """How it may end; if it completes, its standard error must be empty."""
    seen: Mapping[str, Any] = field(default_factory=dict)
    """Further expected fields of the outcome. Any: their types differ."""
    stdin: str = ""
    arguments: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """Additional files of the job."""
    limits: Limits = GENEROUS_LIMITS
    levels: tuple[Level, ...] | None = None
    """The levels at which it is claimed; `None` derives them from the other fields."""
    needs_files: bool = False
    """Reads or writes files by name, which needs a level with files."""
    needs_modes: bool = False
    """Changes the modes of files, which Landlock cannot restrict to the job's own files: refused at
    L3 if the jail runs as its host's user."""
    package: str = ""
    """A required package, whose folder the job gets."""
    path: str = ""
    """A required file of the system."""
    processes: bool = False
    """Starts processes, which must be granted."""
    loopback: bool = False
    """Uses a private network, which must be granted."""

    def missing(self) -> str:
        """The missing requirement on this machine; empty if none."""
        if self.package and importlib.util.find_spec(self.package) is None:
            return f"{self.package} is not installed"
        if self.path and not os.path.exists(self.path):
            return f"{self.path} does not exist"
        return ""

    def job(self) -> Job:
        """The job that runs the script."""
        spec = importlib.util.find_spec(self.package) if self.package else None
        origin = None if spec is None else spec.origin
        folders = () if origin is None else (str(Path(origin).parents[1]),)
        job = script(self.text, self.stdin, self.limits, self.arguments, self.files, folders)
        return replace(job, processes=self.processes, loopback=self.loopback)

    def as_expected(self, outcome: Outcome) -> bool:
        """Whether the outcome is the expected one."""
        quiet = outcome.ended != "completed" or not outcome.stderr
        return (
            outcome.ended in self.ends and outcome.stdout == self.prints and quiet
            and all(getattr(outcome, name) == value for name, value in self.seen.items())
        )


def programs(kind: str) -> tuple[ContractProgram, ...]:
    """The programs of one table: `honest` or `hostile`."""
    folder = _CASES / kind
    table = tomllib.loads((_CASES / f"{kind}.toml").read_text("utf-8"))
    return tuple(_program(claim, row, folder) for claim, row in table.items())


def _program(claim: str, row: dict[str, Any], folder: Path) -> ContractProgram:
    """The program of a row; a text that begins with @ names a file."""
    name = row.pop("text", None) or "".join(
        letter if letter.isascii() and letter.isalnum() else " " for letter in claim.lower()
    )
    source = (folder / f"{'_'.join(name.split())}.py").read_text("utf-8")
    files = {
        path: (folder / inner[1:]).read_text("utf-8") if inner.startswith("@") else inner
        for path, inner in row.pop("files", {}).items()
    }
    # With Python's escapes: TOML has none for a lone surrogate.
    stdin = row.pop("stdin", "").encode("ascii").decode("unicode_escape")
    limits = replace(GENEROUS_LIMITS, **row.pop("limits", {}))
    for key in {"arguments", "ends", "levels"} & row.keys():
        row[key] = tuple(row[key])
    seen = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in row.pop("seen", {}).items()
    }
    return ContractProgram(claim, source, files=files, stdin=stdin, limits=limits, seen=seen, **row)


@contextmanager
def planted_key(value: str) -> Iterator[None]:
    """Sets an API key in the host's environment that no job must be able to read."""
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
    """A hostile program without a row, whose check is written in Python."""
    return (_CASES / "hostile" / f"{name}.py").read_text("utf-8")


HONEST = programs("honest")
HOSTILE = programs("hostile")
