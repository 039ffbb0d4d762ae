"""Cases of benchmark suites: small bugs as users submit them (a file with asserts, a pytest file, a
crash, a small project or a task text), and a hidden truth that a correct repair passes.

    {"id", "mode": "asserts" | "pytest" | "crash", "program", "tests", "support", "truth", "fixed",
     "kind"?, "author"?}
    {"id", "mode": "project", "files": {path: text}, "fixed": {path: text}, "truth", ...}
    {"id", "buggy", "setup"?, "tests": [...], "held_out": [...]?, "kind"?, "author"?,
     "fixed"?, "entry_point"?, "plus_inputs": [[...], ...]?}
    {"id", "task", "buggy"?, "tests"?, ...}

With a `task` the program is written from its text; `buggy` is the first draft without a model. The
truth is a script, held-out asserts, or the answers of `fixed` to `plus_inputs`. The programs of a
suite and small edits of them are trusted: a `TruthScript` runs in a plain Python process unless its
caller runs it in a jail.
"""

from __future__ import annotations

import ast
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from agent.target.discovery.words import tests_from_words

IMPORTS = (
    "import program\n"
    "globals().update({k: v for k, v in vars(program).items() if not k.startswith('__')})\n"
)
"""Imports all names of the program into a script, including private ones."""
TRUTH_SENTINEL = "TRUTH OK"
"""The last output of a truth script, so that a program that exits early does not pass. A truth that
does not print it consists of asserts over the program's names."""
TRUTH_S = 30.0
_ANSWERS = """
import contextlib, io, itertools, json, program, sys
for given in json.load(open("_inputs.json")):
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            value = eval("program." + {entry!r})(*json.loads(given))
            if hasattr(value, "__next__"):
                value = list(itertools.islice(value, 1000))
            answer = ["gives", type(value).__name__, repr(value)]
        except Exception as error:
            answer = ["raises", type(error).__name__, ""]
    print(json.dumps(answer), file=sys.__stdout__)
"""
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_NAN = re.compile(r"\bnan\b")


class BadSuite(Exception):
    """The suite cannot be used; the message names the file and the line."""


class TruthScript(NamedTuple):
    """Files, and the arguments of a Python process that checks them."""

    files: dict[str, str]
    arguments: Sequence[str]
    prints: str = ""
    """The output that it must contain."""

    def holds(self) -> bool:
        done = self.run()
        return done is not None and done.returncode == 0 and self.prints in done.stdout

    def run(self) -> subprocess.CompletedProcess[str] | None:
        """Runs the process; returns `None` on a timeout."""
        with tempfile.TemporaryDirectory(prefix="case-") as name:
            write(self.files, Path(name))
            try:
                return subprocess.run(
                    [sys.executable, *self.arguments], cwd=name, capture_output=True, text=True,
                    timeout=TRUTH_S, stdin=subprocess.DEVNULL, check=False,
                    env={**os.environ, "PYTHONPATH": name, "PYTHONDONTWRITEBYTECODE": "1"},
                )
            except (subprocess.TimeoutExpired, UnicodeDecodeError):
                return None


class Case(BaseModel):
    """A bug with its user's input and the truth."""

    model_config = ConfigDict(frozen=True)

    id: Annotated[str, Field(min_length=1, max_length=150)]
    mode: Literal["asserts", "pytest", "crash", "project", "task"] = "asserts"
    task: str = ""
    """The description, with examples, of a program to be written."""
    draft: str = ""
    """The program's first draft without a model."""
    program: str = ""
    tests: tuple[str, ...] = ()
    support: dict[str, str] = Field(default_factory=dict)
    files: dict[str, str] = Field(default_factory=dict)
    """The files of a project."""
    fixed: str | dict[str, str] = ""
    truth: str = ""
    held_out: tuple[str, ...] = ()
    entry_point: Annotated[str, Field(pattern=r"^([^\W\d]\w*(\.[^\W\d]\w*)*)?$")] = ""
    plus_inputs: tuple[list[Any], ...] = ()
    kind: str = ""
    author: str = ""

    @model_validator(mode="before")
    @classmethod
    def _of_row(cls, row: dict[str, Any]) -> dict[str, Any]:
        found = {name: value for name, value in row.items() if value is not None}
        setup, tests = found.pop("setup", ""), found.get("tests")
        if setup.strip():
            setup = setup.rstrip("\n") + "\n"
            found |= {name: setup + found[name] for name in ("buggy", "fixed") if found.get(name)}
        if isinstance(tests, str):
            found["tests"] = (tests,) if tests.strip() else ()
        if words := found.get("task", "").strip():
            found |= {"mode": "task", "task": words, "draft": found.get("buggy", "")}
        elif "buggy" in found:
            found["program"] = found["buggy"]
        return found

    @model_validator(mode="after")
    def _complete(self) -> Case:
        if self.mode == "asserts" and not (self.program.strip() and self.tests):
            raise ValueError("a row without a `task` needs a program, and one test at least")
        if self.plus_inputs and not self.entry_point:
            raise ValueError("`entry_point` must be named where there are `plus_inputs`")
        for code in (self.truth, *self.held_out):
            try:
                ast.parse(code)
            except (SyntaxError, RecursionError, MemoryError) as error:
                raise ValueError(f"what is held out does not parse: {error}") from error
        return self

    @property
    def has_truth(self) -> bool:
        return bool(self.truth or self.held_out or (self.fixed and self.plus_inputs))

    @property
    def submitted(self) -> dict[str, str]:
        return self.files or {**self.support, "program.py": self.program}

    @property
    def test_text(self) -> str:
        """The tests as one text; without tests, the examples in the task's text."""
        tests = self.tests or [test.code for test in tests_from_words(self.task)]
        return "\n".join(tests) + "\n" if tests else ""

    def test_script(self, changed: Mapping[str, str]) -> TruthScript:
        """Runs the tests, or the program that must not crash, with changed files."""
        files = {**self.submitted, **changed}
        match self.mode:
            case "asserts" | "task":
                return TruthScript({**files, "_tests.py": IMPORTS + self.test_text}, ["_tests.py"])
            case "pytest":
                files["test_program.py"] = self.test_text
                return TruthScript(files, ["-m", "pytest", "-q", "test_program.py"])
            case "crash":
                return TruthScript(files, ["program.py"])
            case "project":
                return TruthScript(files, ["-m", "pytest", "-q"])

    def truth_script(self, changed: Mapping[str, str]) -> TruthScript:
        """Runs the truth's code with changed files."""
        files = {**self.submitted, **changed}
        truth = self.truth or "\n".join(self.held_out)
        if TRUTH_SENTINEL not in truth:
            truth = f"{IMPORTS}{truth}\n"
        if TRUTH_SENTINEL not in truth:
            truth += f"print({TRUTH_SENTINEL!r})\n"
        return TruthScript({**files, "_truth.py": truth}, ["_truth.py"], TRUTH_SENTINEL)

    def answers_script(self, changed: Mapping[str, str]) -> TruthScript:
        """Prints the program's answers to `plus_inputs` with changed files."""
        files = {
            **self.submitted, **changed,
            "_inputs.json": json.dumps([json.dumps(one) for one in self.plus_inputs]),
            "_answers.py": _ANSWERS.replace("{entry!r}", repr(self.entry_point)),
        }
        return TruthScript(files, ["_answers.py"])

    def passes(self, changed: Mapping[str, str]) -> bool:
        """Whether the tests pass or the crash is removed with changed files."""
        return self.test_script(changed).holds()

    def is_right(self, changed: Mapping[str, str]) -> bool:
        """Whether the truth holds with changed files."""
        if (self.truth or self.held_out) and not self.truth_script(changed).holds():
            return False
        if not self.plus_inputs:
            return True
        runs = [self.answers_script(one).run() for one in (self.reference, changed)]
        return same_answers(*("" if done is None else done.stdout for done in runs))

    def failure(self) -> str:
        """The last line of the failure's output; empty for a task or a project."""
        if self.mode in ("task", "project"):
            return ""
        test = self.test_script({})
        if self.mode == "pytest":
            test = test._replace(arguments=[*test.arguments, "--tb=line", "-p", "no:cacheprovider"])
        done = test.run()
        lines = [] if done is None else (done.stdout + done.stderr).strip().splitlines()
        return lines[-1] if lines else ""

    @property
    def reference(self) -> dict[str, str]:
        """The changed files of the reference repair, if there is one."""
        if isinstance(self.fixed, dict):
            return self.fixed
        return {"program.py": self.fixed} if self.fixed else {}


def same_answers(fixed: str, other: str) -> bool:
    """Whether two outputs contain the same answers."""
    lefts, rights = fixed.splitlines(), other.splitlines()
    try:
        return bool(lefts) and len(lefts) == len(rights) and all(
            _same_answer(json.loads(left), json.loads(right))
            for left, right in zip(lefts, rights, strict=True)
        )
    except (ValueError, TypeError, RecursionError):
        return False


def _same_answer(left: list[str], right: list[str]) -> bool:
    if left[:2] != right[:2]:
        return False
    texts = [_NAN.sub("'nan'", _ADDRESS.sub("", one)) for one in (left[2], right[2])]
    try:
        return texts[0] == texts[1] or _same(*map(ast.literal_eval, texts))
    except (ValueError, SyntaxError):
        return False


def _same(left: object, right: object) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=1e-9)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return type(left) is type(right) and len(left) == len(right) and all(
            map(_same, left, right)
        )
    return left == right


def read_cases(path: Path) -> tuple[Case, ...]:
    """Reads the cases of a file; raises `BadSuite` for an invalid line."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadSuite(f"{path} cannot be read: {error}") from error
    found: dict[str, Case] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadSuite(f"{path}, line {number} is not JSON: {error}") from error
        try:
            case = Case.model_validate(row)
        except (ValidationError, AttributeError, TypeError) as error:
            raise BadSuite(f"{path}, line {number}: {error}") from error
        if case.id in found:
            raise BadSuite(f"{path}, line {number}: another row has the id {case.id!r} too")
        found[case.id] = case
    if not found:
        raise BadSuite(f"{path} contains no case")
    return tuple(found.values())


def write(files: Mapping[str, str], folder: Path) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
