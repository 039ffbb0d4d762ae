"""Packs the files of a run into one zip: patch, pytest files, report, JUnit XML and log. Pure
functions."""

from __future__ import annotations

import ast
import io
import keyword
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence

from agent.core.domain import TRUSTED_ORIGINS, File, Script, Task, TestCase
from agent.core.events import LogEntry, to_jsonl
from agent.core.trees import parse
from agent.interfaces.project.reports import junit, markdown
from agent.report.result import ACCEPTED, Result, fold
from agent.report.words import partial_words
from agent.target.parsing import toplevel_names
from agent.target.project import module_stem
from agent.target.task import PASTED_FILENAME

_OLDEST = (1980, 1, 1, 0, 0, 0)
"""A fixed time for all files, so that the same run always gives the same bytes."""


def program_filename(task: Task) -> str:
    """Returns the file name of the program, as used in its tests and its patch."""
    return task.solution.entry if task.solution is not None else PASTED_FILENAME


def regression_tests(task: Task, result: Result) -> tuple[File, ...]:
    """Returns the tests of a run as pytest files: submitted files unchanged, all others as
    functions of one file."""
    stem = module_stem(program_filename(task))
    files: dict[str, str] = {}
    loose: list[TestCase] = []
    known = {test.name for test in task.tests}
    answered = [
        Script(name=row.name, origin=row.origin, code=row.code) for row in result.rows
        if row.name not in known and row.origin in TRUSTED_ORIGINS and row.code
    ]
    for test in (*task.tests, *answered):
        if isinstance(test, Script) and test.node:
            files.setdefault(test.file or f"test_{stem}.py", test.code)
        elif test.origin in TRUSTED_ORIGINS:
            loose.append(test)
    if loose:
        plain = re.sub(r"\W", "_", stem)  # pytest needs a valid module name
        name = f"test_{plain}_healed.py" if files else f"test_{plain}.py"
        files[name] = _snippet_test_module(loose, stem, task, result.program)
    return tuple(File(path=path, text=text) for path, text in files.items() if text)


def patch_of(result: Result) -> str:
    """Returns the patch for download: the repair, or else the best partial one."""
    return result.last_diff or (result.partial.diff if result.partial is not None else "")


def patched(result: Result) -> str:
    """Returns the name of the changed file, or the number of changed files."""
    names = re.findall(r"^--- .*\n\+\+\+ b/(.+)$", patch_of(result), re.MULTILINE)
    return names[0] if len(names) == 1 else f"{len(names)} files"


def healed_project(task: Task, result: Result) -> Mapping[str, str]:
    """Returns all files of a healed project, including its tests; empty without a repair."""
    if task.project is None or not (result.outcome in ACCEPTED and result.diff):
        return {}
    return {**{one.path: one.text for one in task.support}, **dict(result.files)}


def rejection(result: Result) -> str:
    """Returns why the patch was not accepted as a repair; empty if it was."""
    if result.last_diff or result.partial is None:
        return ""
    return "not kept" if result.partial.passed == result.partial.total else "not a fix"


def patch(result: Result) -> bytes:
    """Returns the patch as a file, with a comment if it was not accepted."""
    note = rejection(result) and result.partial and " ".join(partial_words(result.partial).split())
    head = f"# {note}\n" if note else ""
    return f"{head}{patch_of(result)}".encode("utf-8", "surrogateescape")


def bundle(task: Task, log: Sequence[LogEntry]) -> bytes:
    """Returns a zip with all files of a run. The tests are beside the program, so that they run."""
    result = fold(log)
    name = patched(result) if patch_of(result) else program_filename(task)
    is_kept = result.outcome in ACCEPTED and (result.diff or result.from_description)
    folder, healed = ("healed", dict(result.files)) if is_kept else ("submitted", {})
    submitted = task.solution.files if task.solution is not None else ()
    before = (*task.support, *submitted, *regression_tests(task, result))
    programs = {one.path: one.text for one in before} | healed
    first = next(iter(result.tested_programs), None)
    files = {
        "heal.patch" if result.diff else "partial.patch": patch(result),
        "report.md": markdown(result, name).encode("utf-8", "replace"),
        "junit.xml": junit(result, first.report if first is not None else None),
        "run.jsonl": to_jsonl(log).encode(),
        **{
            f"{folder}/{path}": text.encode("utf-8", "surrogateescape")
            for path, text in programs.items()
        },
    }
    return packed({path: content for path, content in files.items() if content or "/" in path})


def packed(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(zipfile.ZipInfo(path, _OLDEST), content, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _snippet_test_module(tests: Sequence[TestCase], stem: str, task: Task, program: str) -> str:
    text = "\n".join(test.code for test in tests)
    used = {node.id for node in ast.walk(parse(text)) if isinstance(node, ast.Name)}
    names = sorted(used & toplevel_names(program))
    printed = any(isinstance(test, Script) and test.uses_output for test in tests)
    head = [f'"""The tests that judged the repair of {stem}."""', ""]
    no_module = names and (not stem.isidentifier() or keyword.iskeyword(stem))
    imported = ["import runpy"] * bool(no_module) + ["import subprocess", "import sys"] * printed
    if imported:
        head += [*imported, "from pathlib import Path", ""]
    if no_module:
        head += [f"PROGRAM = runpy.run_path(str(Path(__file__).with_name({f'{stem}.py'!r})))",
                 *(f"{name} = PROGRAM[{name!r}]" for name in names), ""]
    elif names:
        head += [f"from {stem} import {', '.join(names)}", ""]
    if printed:
        head += [
            "RUN = subprocess.run(",
            f'    [sys.executable, str(Path(__file__).with_name("{stem}.py")), *{[*task.argv]!r}],',
            f"    input={task.stdin!r}, capture_output=True, text=True, timeout=60,", ")", "",
        ]
    return "\n".join([*head, *_functions(tests)])


def _functions(tests: Sequence[TestCase]) -> Iterator[str]:
    for number, test in enumerate(tests, start=1):
        yield f"\ndef test_{number}():"
        if isinstance(test, Script) and test.uses_output:
            yield "    output = RUN.stdout"
        yield f"{_indented(test.code.rstrip())}\n"


def _indented(code: str) -> str:
    """Returns code as the body of a function. Lines inside multi-line strings are unchanged."""
    inside = {
        line for node in ast.walk(parse(code)) if isinstance(node, ast.Constant | ast.JoinedStr)
        for line in range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)
    }
    return "\n".join(
        line if number in inside or not line.strip() else f"    {line}"
        for number, line in enumerate(code.split("\n"), start=1)
    )
