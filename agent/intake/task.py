"""What users bring becomes a task, or a clear refusal.

Every door makes a `Brought` of what it is given, `from_command_line` of a command line and
`from_page` of a page's fields, and `task_of` makes the task of it; that is pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent.core.domain import File, Solution, Task, TestCase
from agent.intake.asked.contradictions import contradiction, unwritten
from agent.intake.brought import PASTED, Brought, Inputs, TestText
from agent.intake.environment import (
    installed_modules,
    nearest_module,
    site_folders,
    standard_modules,
)
from agent.intake.errors import BadInput, NotFixable
from agent.intake.found.gathered import gathered
from agent.intake.parsing import (
    TOO_DEEP,
    imports,
    is_import,
    parsed,
    shortened,
    statements_of,
    visible_names,
)
from agent.intake.program import line_of_end
from agent.intake.project import laid_out
from agent.intake.source import (
    LARGEST,
    LARGEST_BYTES,
    SourceFile,
    files_with,
    read_source,
    refuse_file_names,
    refuse_without_code,
)

__all__ = ["PASTED", "PreparedTask", "from_command_line", "make_task", "from_page", "task_of"]

_UNREADABLE = f"{TOO_DEEP}. Split its longest expression into several statements."


@dataclass(frozen=True)
class PreparedTask:
    """A task, what a reader must know about it, and the file to write back to, if any."""

    task: Task
    notices: tuple[str, ...] = ()
    source: SourceFile | None = None


def make_task(
    code: str | None = None,
    *,
    entry: str = PASTED,
    words: str = "",
    tests: Sequence[TestText] = (),
    support: Sequence[File] = (),
    stdin: str = "",
    argv: Sequence[str] = (),
    sites: Sequence[str] = (),
    deselect: Sequence[str] = (),
    doctests: bool = False,
) -> PreparedTask:
    """The task of these parts, see `task_of`."""
    return task_of(Brought(
        code, entry, words, tuple(tests), tuple(support), stdin, tuple(argv), tuple(sites),
        tuple(deselect), doctests,
    ))


def from_command_line(inputs: Inputs) -> PreparedTask:
    """The task of a command line; reads the files it names.

    Raises `BadInput` and `NotFixable` with a message for people.
    """
    source = test_source = None
    if inputs.path is not None:
        source = read_source("-" if inputs.path == "-" else Path(inputs.path))
    if inputs.tests_file is not None:
        test_source = read_source(inputs.tests_file)
    tests = snippet_texts(inputs.tests)
    project = laid_out(
        source.path if source is not None else None, source.text if source is not None else "",
        inputs.tests_file, test_source.text if test_source is not None else "", inputs.within,
    )
    if test_source is not None:
        tests.append(TestText(test_source.text, test_source.name, project.tests))
    entry = project.entry or (source.name if source is not None else PASTED)
    support = {file.path: file for file in project.support} | {
        file.path: file for path in inputs.with_files for file in files_with(path)
    }
    support.pop(entry, None)
    interpreter, stdin = site_folders(inputs.python), inputs.stdin
    if stdin.startswith("@"):
        stdin = read_source(Path(stdin[1:]), allow_empty=True).text
    return task_of(Brought(
        source.text if source is not None else None, entry, inputs.task or "", tuple(tests),
        tuple(support.values()), stdin, tuple(inputs.args), interpreter.sites,
        tuple(inputs.deselect), inputs.doctests,
        notices=(*project.notices, *filter(None, [interpreter.note])), source=source,
    ))


def snippet_texts(snippets: Sequence[str]) -> list[TestText]:
    """Pieces of assert code as typed; raises `BadInput` for the name of a file."""
    refuse_file_names(snippets)
    return [
        TestText(snippet, "the tests" if len(snippets) == 1 else f"test {number}")
        for number, snippet in enumerate(snippets, start=1)
    ]


def from_page(
    code: str = "", tests: str = "", words: str = "", deselect: Sequence[str] = (),
    doctests: bool = False, stdin: str = "", argv: Sequence[str] = (),
) -> PreparedTask:
    """The task of a page's three fields; empty ones count as not given.

    Pasted code has no file name. Where pasted tests import it by one, it is called that.
    """
    if max(map(len, (code, tests, words, stdin))) > LARGEST_BYTES:
        raise BadInput(f"What was pasted is larger than {LARGEST}. Bring the part that fails.")
    brought = Brought(
        code if code.strip() else None, words=words.strip(),
        tests=(TestText(tests),) if tests.strip() else (), sites=site_folders().sites,
        deselect=tuple(deselect), doctests=doctests, stdin=stdin, argv=tuple(argv),
    )
    return task_of(replace(brought, entry=_called(brought)))


def task_of(brought: Brought) -> PreparedTask:
    """A task from program text, words or both, with all tests that can be found in them.

    Raises `BadInput` where there is nothing to work on, and `NotFixable` for tests that do
    not parse or test nothing, and for code that is nested too deeply to be read. That a package
    is missing the run shows.
    """
    try:
        return _made(brought.with_plain_lines())
    except RecursionError:
        # Some readers go deeper than others: what one of them cannot read is not judged.
        raise NotFixable("too_deep", f"The tests, or the program: {_UNREADABLE}") from None


def _made(brought: Brought) -> PreparedTask:
    _refuse_unusable(brought)
    found = gathered(brought)
    notices = [*brought.notices, *found.notices]
    solution = None
    _refuse_contradictions(found.tests, brought)
    if brought.code is not None:
        _refuse_foreign(brought)
        file = File(path=brought.entry, text=brought.code)
        solution = Solution(files=(file,), entry=brought.entry)
    end = line_of_end(brought.program) if brought.tests else None
    if end is not None:
        notices.append(
            f"The program ends itself at line {end} whenever it is imported. Where that is a good "
            "end, it is tested by what it has defined until then; pytest alone would stop there. "
            'Put that line under `if __name__ == "__main__":`.'
        )
    task = Task(
        text=brought.words, solution=solution, tests=found.tests, support=brought.support,
        stdin=brought.stdin, argv=brought.argv, sites=brought.sites, doctests=brought.doctests,
    )
    return PreparedTask(task, tuple(dict.fromkeys(notices)), brought.source)


def _called(brought: Brought) -> str:
    """The file name by whose module pasted tests import names that the program defines."""
    if brought.code is None:
        return PASTED
    names = visible_names(brought.program)
    standing = standard_modules() | installed_modules(brought.sites)
    for test in brought.tests:
        for one in imports(*statements_of(test.text)):
            unknown = one.top and one.module == one.top and one.top not in standing
            if unknown and one.name in names | {"", "*"}:
                return f"{one.module}.py"
    return PASTED


def refuse_unwritable(text: str) -> None:
    """Raises `BadInput` for a text that no file of Python can hold."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise BadInput(
            "The text holds half of a character pair (a lone surrogate), which no file can "
            "hold. Write it as an escape, \\ud800, and try again."
        )
    if "\0" in text:
        raise BadInput("The text holds a zero character, which Python does not accept.")


def _refuse_unusable(brought: Brought) -> None:
    """Raises for what can be no task, whatever its tests say."""
    if brought.code is None and not brought.words.strip():
        raise BadInput("There is nothing to heal: bring code, or a task in words.")
    for text in (brought.program, brought.words, *(test.text for test in brought.tests)):
        refuse_unwritable(text)
    if brought.code is not None:
        refuse_without_code(brought.code, brought.entry if brought.entry != PASTED else "The code")
        try:
            parsed(brought.code)
        except SyntaxError as error:
            if error.msg == TOO_DEEP:
                raise NotFixable("too_deep", f"The program: {_UNREADABLE}") from None


def _refuse_contradictions(tests: Sequence[TestCase], brought: Brought) -> None:
    program = unwritten(tests) if brought.code is None else brought.program
    pair = contradiction(tests, program, brought.stem)
    if pair is not None:
        raise NotFixable(
            "invalid_tests",
            f"Two tests contradict each other: `{shortened(pair[0], 200)}` and "
            f"`{shortened(pair[1], 200)}`. No program that answers alike each time passes both: "
            "correct one of them. Where the first call is meant to change what the second "
            "answers, write both into one test.",
        )


def _refuse_foreign(brought: Brought) -> None:
    """Refuses tests that import a module which is not there, by a name near the program's or for
    names that the program defines."""
    stem = brought.stem
    here = brought.beside | {stem, "solution"} | standard_modules()
    names = visible_names(brought.program)
    for test in brought.tests:
        for one in imports(*filter(is_import, statements_of(test.text))):
            meant = one.name in names or nearest_module(one.top, [stem])
            if one.top and meant and one.top not in here | installed_modules(brought.sites):
                raise NotFixable(
                    "invalid_tests",
                    f"{test.name} import {one.top}, but the program is called {stem}. Write: "
                    f"from {stem} import …",
                )
