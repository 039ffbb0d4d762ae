"""Small bugs as people submit them: a file with a few asserts, a pytest file or only a crash, or a
small project; and the hidden truth, a script that a right repair passes.

    {"id", "mode": "asserts" | "pytest" | "crash", "program", "tests", "support", "truth", "fixed",
     "kind"?, "author"?}
    {"id", "mode": "project", "files": {path: text}, "fixed": {path: text}, "truth", ...}

A row of any other suite (see `suite`) is read as a case with asserts. Everything runs as users run
it, in plain Python processes: the programs of a suite are trusted, and so are small edits of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agent.intake.found.words import tests_from_words
from evaluation.suite import BadRow, BadSuite, Row, row_of
from sandbox import Json

NAMES = (
    "import program\n"
    "globals().update({k: v for k, v in vars(program).items() if not k.startswith('__')})\n"
)
"""Gives a script the names of the program, private ones too."""
DONE = "TRUTH OK"
"""What a truth prints at its end: a program that ends the process early must not pass. One that
does not print it is asserts beside the program's names."""
TRUTH_S = 30.0
_AGREE = """
import importlib.util, json, math
def load(path):
    spec = importlib.util.spec_from_file_location("one", path)
    module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module)
    return module
def answer(module, given):
    try:
        return "gives", eval("module." + {entry!r})(*json.loads(given))
    except Exception as error:
        return "raises", type(error).__name__
def same(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9) or a != a and b != b
    if isinstance(a, (list, tuple)) and type(a) is type(b) and len(a) == len(b):
        return all(map(same, a, b))
    return a == b
left, right = load("program.py"), load("_fixed.py")
for given in json.load(open("_inputs.json")):
    assert same(answer(left, given), answer(right, given)), given
"""


class Case(BaseModel):
    """One bug with what its user submits, and the truth."""

    model_config = ConfigDict(frozen=True)

    id: str
    mode: Literal["asserts", "pytest", "crash", "project", "task"] = "asserts"
    task: str = ""
    """Of a program that is to be written: what it must do, in words with examples."""
    program: str = ""
    tests: str = ""
    support: dict[str, str] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)
    """Those of a project."""
    fixed: str | dict[str, str] = ""
    truth: str
    kind: str = ""
    author: str = ""
    hidden: dict[str, str] = Field(default_factory=dict)
    """Files that the truth reads."""

    @property
    def submitted(self) -> dict[str, str]:
        """The files as the user has them."""
        return self.files or {**self.support, "program.py": self.program}

    @property
    def reference(self) -> dict[str, str]:
        """The files that a right repair changes, as it leaves them."""
        return self.fixed if isinstance(self.fixed, dict) else {"program.py": self.fixed}

    def passes(self, changed: Mapping[str, str]) -> bool:
        """Whether the tests pass, or the crash is gone, with these texts of some files."""
        files = {**self.submitted, **changed}
        match self.mode:
            case "asserts" | "task":
                return _ends_well({**files, "_tests.py": NAMES + self.tests}, ["_tests.py"])
            case "pytest":
                files["test_program.py"] = self.tests
                return _ends_well(files, ["-m", "pytest", "-q", "test_program.py"])
            case "crash":
                return _ends_well(files, ["program.py"])
            case "project":
                return _ends_well(files, ["-m", "pytest", "-q"])

    def is_right(self, changed: Mapping[str, str]) -> bool:
        """Whether the truth holds with these texts of some files."""
        truth = self.truth if DONE in self.truth else f"{NAMES}{self.truth}\nprint({DONE!r})\n"
        files = {**self.submitted, **changed, **self.hidden, "_truth.py": truth}
        return _ends_well(files, ["_truth.py"], DONE)

    def failure(self) -> str:
        """The last line of what the user sees of it; empty for a task, or a project."""
        files, arguments = dict(self.submitted), ["program.py"]
        if self.mode in ("task", "project"):
            return ""
        if self.mode == "asserts":
            files["_tests.py"], arguments = NAMES + self.tests, ["_tests.py"]
        if self.mode == "pytest":
            files["test_program.py"] = self.tests
            arguments = ["-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider"]
        done = _ran(files, arguments)
        lines = [] if done is None else (done.stdout + done.stderr).strip().splitlines()
        return lines[-1] if lines else ""

    def refuted(self) -> str:
        """What is wrong with a case by its own measure; empty where nothing is."""
        if self.mode != "task" and (self.passes({}) or self.is_right({})):
            return "the program passes its tests, or its truth, as it is"
        if not self.fixed:
            return ""
        return "" if self.passes(self.reference) and self.is_right(self.reference) else (
            "the reference fix fails the tests or the truth"
        )


def read_cases(path: Path) -> tuple[Case, ...]:
    """The cases of a file; raises `BadSuite` for a line that is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise BadSuite(f"{path} cannot be read: {error}") from error
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            parsed = json.loads(line)
            case = Case.model_validate(parsed) if "truth" in parsed else _of_row(parsed)
        except (ValueError, TypeError, KeyError, ValidationError) as error:
            raise BadSuite(f"{path}, line {number}: {error}") from error
        found.append(case)
    if not found:
        raise BadSuite(f"{path} holds no case")
    return tuple(found)


def _of_row(parsed: dict[str, Json]) -> Case:
    row = row_of(str(parsed["id"]), parsed)
    if isinstance(row, BadRow):
        raise ValueError(row.why)
    return of_row(row)


def of_row(row: Row) -> Case:
    """A row of a suite as a case; raises `ValueError` where there is no truth to compare with."""
    truth = row.truth
    if not truth.known:
        raise ValueError(f"{row.id} has no held-out test and no reference repair with inputs")
    groups = dict(row.groups)
    held = NAMES + "\n".join(truth.held_out) + "\n" if truth.held_out else ""
    agree = _AGREE.replace("{entry!r}", repr(truth.entry_point)) if truth.inputs else ""
    words = row.broken.words
    tests = row.broken.tests or tuple(test.code for test in tests_from_words(words))
    return Case(
        id=row.id, mode="task" if words else "asserts", task=words,
        program="" if words else row.broken.program, tests="\n".join(tests) + "\n",
        truth=f"{held}{agree}\nprint({DONE!r})\n", fixed=truth.fixed,
        hidden={
            "_fixed.py": truth.fixed, "_inputs.json": json.dumps([json.dumps(one) for one in
                                                                  truth.inputs]),
        } if truth.inputs else {}, author=groups.get("author", ""), kind=groups.get("kind", ""),
    )


def _ends_well(files: Mapping[str, str], arguments: list[str], said: str = "") -> bool:
    done = _ran(files, arguments)
    return done is not None and done.returncode == 0 and said in done.stdout


def _ran(
    files: Mapping[str, str], arguments: list[str]
) -> subprocess.CompletedProcess[str] | None:
    """A plain Python process over these files; `None` where it does not end in time."""
    with tempfile.TemporaryDirectory(prefix="case-") as name:
        folder = Path(name)
        write(files, folder)
        try:
            return subprocess.run(
                [sys.executable, *arguments], cwd=folder, capture_output=True, text=True,
                timeout=TRUTH_S, stdin=subprocess.DEVNULL, check=False,
                env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
            )
        except (subprocess.TimeoutExpired, UnicodeDecodeError):
            return None


def write(files: Mapping[str, str], folder: Path) -> None:
    """Writes files into a folder."""
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8", errors="surrogateescape")
