"""Converts user input to a task, or refuses it with a clear message.

Every interface makes a `Submission`: `from_command_line` from a command line, `from_page` from the
fields of a page. The pure function `task_of` finds all tests in it: those submitted as tests, those
in the program and those in the description. Paths are relative to the import root.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from agent.core.domain import OTHER_TESTS, File, Script, Solution, Task, TestCase
from agent.core.pytest_settings import CONFIGURATIONS
from agent.target.discovery.doctests import has_prompts, tests_from_doctests, tests_from_prompts
from agent.target.discovery.pytest_files import (
    borrowed,
    collected,
    makes_tests,
    notices_of_file,
    tests_from_file,
)
from agent.target.discovery.snippets import LocatedTest, is_bare_check, located_tests
from agent.target.discovery.words import tests_from_words
from agent.target.environment import OURS, installed_modules, nearest_module, standard_modules
from agent.target.errors import BadInput, NotFixable
from agent.target.interpreter import find_interpreter, site_folders
from agent.target.parsing import (
    TOO_DEEP,
    Definition,
    checking_helpers,
    checks,
    imports,
    is_import,
    parsed,
    shortened,
    statements_of,
    toplevel_names,
    unique,
    where,
)
from agent.target.program import changes_between, line_of_end, tests_from_program
from agent.target.project import collect_project_files, module_stem
from agent.target.source import (
    LARGEST,
    LARGEST_BYTES,
    SourceFile,
    read_source,
    read_support_files,
    refuse_file_names,
    refuse_without_code,
)
from agent.target.test_analysis.unusable import contradiction, unwritten, vacuous

PASTED_FILENAME = "solution.py"


@dataclass(frozen=True)
class TestText:
    """The text of tests, and their name in messages."""

    __test__ = False

    text: str
    name: str = "the tests"
    path: str = ""
    """The path of the file in its project; empty for pasted tests."""

    def fails_to(self, verb: str) -> str:
        """`The tests do not parse`, `test_sum.py does not parse`."""
        if self.name == "the tests":
            return f"The tests do not {verb}"
        return f"{self.name} does not {verb}"


@dataclass(frozen=True)
class Inputs:
    """A user's input as typed at a terminal; each field is an option of `heal run`."""

    path: str | None = None
    """`-` is standard input."""
    args: Sequence[str] = ()
    task: str | None = None
    tests: Sequence[str] = ()
    tests_file: Path | None = None
    with_files: Sequence[Path] = ()
    python: str | None = None
    stdin: str = ""
    """The text, or `@FILE`."""
    deselect: Sequence[str] = ()
    doctests: bool = False
    within: Path | None = None
    """Files outside this folder are not included."""

    @property
    def title(self) -> str:
        return self.path or (self.task or "")[:80]


@dataclass(frozen=True)
class Submission:
    """The input: a program or description, tests as text, and supporting files."""

    code: str | None = None
    entry: str = PASTED_FILENAME
    words: str = ""
    tests: tuple[TestText, ...] = ()
    support: tuple[File, ...] = ()
    stdin: str = ""
    argv: tuple[str, ...] = ()
    package_folders: tuple[str, ...] = ()
    deselect: tuple[str, ...] = ()
    doctests: bool = False
    """Whether failing doctests count in addition to other tests."""
    notices: tuple[str, ...] = ()
    source: SourceFile | None = None
    """The file to which a repaired program is written."""

    @property
    def program(self) -> str:
        return self.code or ""

    @property
    def stem(self) -> str:
        """The module name of the program in tests."""
        return module_stem(self.entry)

    @property
    def support_modules(self) -> frozenset[str]:
        """Names by which supporting files are imported, from the root or from their folder."""
        paths = [PurePosixPath(file.path).parts for file in self.support]
        return frozenset(
            name.removesuffix(".py") for parts in paths for name in (parts[0], parts[-1])
        )

    def with_plain_lines(self) -> Submission:
        return replace(
            self, code=self.code if self.code is None else _plain_lines(self.code),
            tests=tuple(replace(test, text=_plain_lines(test.text)) for test in self.tests),
        )


def _plain_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


__all__ = [
    "PASTED_FILENAME", "PreparedTask", "from_command_line", "make_task", "from_page", "task_of",
]

_UNREADABLE = f"{TOO_DEEP}. Split its longest expression into several statements."


@dataclass(frozen=True)
class PreparedTask:
    """A task, notices about it, and the file to write back to, if any."""

    task: Task
    notices: tuple[str, ...] = ()
    source: SourceFile | None = None


def make_task(
    code: str | None = None, *, entry: str = PASTED_FILENAME, words: str = "",
    tests: Sequence[TestText] = (), support: Sequence[File] = (), stdin: str = "",
    argv: Sequence[str] = (), package_folders: Sequence[str] = (), deselect: Sequence[str] = (),
    doctests: bool = False,
) -> PreparedTask:
    return task_of(Submission(
        code, entry, words, tuple(tests), tuple(support), stdin, tuple(argv),
        tuple(package_folders), tuple(deselect), doctests,
    ))


def from_command_line(inputs: Inputs) -> PreparedTask:
    """The task of a command line; reads the named files. Raises `BadInput` and `NotFixable`."""
    source = test_source = None
    if inputs.path is not None:
        source = read_source("-" if inputs.path == "-" else Path(inputs.path))
    if inputs.tests_file is not None:
        test_source = read_source(inputs.tests_file)
    tests = snippet_texts(inputs.tests)
    project = collect_project_files(
        source.path if source is not None else None, source.text if source is not None else "",
        inputs.tests_file, test_source.text if test_source is not None else "", inputs.within,
    )
    if test_source is not None:
        tests.append(TestText(test_source.text, test_source.name, project.tests))
    entry = project.entry or (source.name if source is not None else PASTED_FILENAME)
    support = {file.path: file for file in project.support} | {
        file.path: file for path in inputs.with_files for file in read_support_files(path)
    }
    support.pop(entry, None)
    (package_folders, note), stdin = _packages(inputs.python), inputs.stdin
    if stdin.startswith("@"):
        stdin = read_source(Path(stdin[1:]), allow_empty=True).text
    return task_of(Submission(
        source.text if source is not None else None, entry, inputs.task or "", tuple(tests),
        tuple(support.values()), stdin, tuple(inputs.args), package_folders,
        tuple(inputs.deselect), inputs.doctests,
        notices=(*project.notices, *filter(None, [note, _unused_tests(inputs, source)])),
        source=source,
    ))


def _unused_tests(inputs: Inputs, source: SourceFile | None) -> str:
    """A notice about a test file of the program, if no test is given; else empty."""
    if source is None or source.path is None or inputs.tests or inputs.tests_file or inputs.task:
        return ""
    folder, stem = source.path.parent, source.path.stem
    found = [
        path for place in (folder, folder / "tests")
        for path in (place / f"test_{stem}.py", place / f"{stem}_test.py") if path.is_file()
    ]
    return f"{found[0]} was not used. To judge by it: --tests-file {found[0]}" if found else ""


def _packages(python: str | None) -> tuple[tuple[str, ...], str]:
    """The package folders of a Python, by default the current one, and a notice if it differs."""
    if not python:
        return site_folders(), ""
    found = find_interpreter(Path(), python)
    if found.version == OURS:
        return found.package_folders, ""
    return found.package_folders, (
        f"The program runs on Python {OURS[0]}.{OURS[1]} instead of {found.words}, so compiled "
        "packages may fail to import."
    )


def snippet_texts(snippets: Sequence[str]) -> list[TestText]:
    """Snippets of asserts as tests; raises `BadInput` for the name of a file."""
    refuse_file_names(snippets)
    return [
        TestText(snippet, "the tests" if len(snippets) == 1 else f"test {number}")
        for number, snippet in enumerate(snippets, start=1)
    ]


def from_page(
    code: str = "", tests: str = "", words: str = "", deselect: Sequence[str] = (),
    doctests: bool = False, stdin: str = "", argv: Sequence[str] = (),
) -> PreparedTask:
    """The task of a page's fields; empty fields count as missing.

    Pasted code gets the name by which the pasted tests import it.
    """
    if max(map(len, (code, tests, words, stdin))) > LARGEST_BYTES:
        raise BadInput(f"The input is larger than {LARGEST}. Submit only the part that fails.")
    submitted = Submission(
        code if code.strip() else None, words=words.strip(),
        tests=(TestText(tests),) if tests.strip() else (), package_folders=site_folders(),
        deselect=tuple(deselect), doctests=doctests, stdin=stdin, argv=tuple(argv),
    )
    return task_of(replace(submitted, entry=_imported_as(submitted)))


def task_of(submitted: Submission) -> PreparedTask:
    """A task from a program, a description or both, with all tests found in them.

    Raises:
        BadInput: There is neither code nor a description.
        NotFixable: Tests do not parse or test nothing, or code is nested too deeply.
    """
    try:
        return _prepared(submitted.with_plain_lines())
    except RecursionError:
        # Some visitors recurse deeper than `MAX_TREE_DEPTH` allows for.
        raise NotFixable("too_deep", f"The tests, or the program: {_UNREADABLE}") from None


def _prepared(submitted: Submission) -> PreparedTask:
    _refuse_unusable(submitted)
    notices = [*submitted.notices]
    tests = _gathered(submitted, notices)
    solution = None
    _refuse_contradictions(tests, submitted)
    if submitted.code is not None:
        _refuse_foreign(submitted)
        file = File(path=submitted.entry, text=submitted.code)
        solution = Solution(files=(file,), entry=submitted.entry)
    end = line_of_end(submitted.program) if submitted.tests else None
    if end is not None:
        notices.append(
            f"The program exits at line {end} whenever it is imported. After a successful exit, "
            "the definitions before that line are tested; pytest alone would stop there. Put the "
            'line under `if __name__ == "__main__":`.'
        )
    task = Task(
        text=submitted.words, solution=solution, tests=tests, support=submitted.support,
        stdin=submitted.stdin, argv=submitted.argv, site_dirs=submitted.package_folders,
        doctests=submitted.doctests,
        snippets=tuple(one.text for one in submitted.tests if _is_snippet(one)),
    )
    return PreparedTask(task, tuple(dict.fromkeys(notices)), submitted.source)


def _imported_as(submitted: Submission) -> str:
    """The file name under which pasted tests import names of the program."""
    if submitted.code is None:
        return PASTED_FILENAME
    names = toplevel_names(submitted.program)
    known = standard_modules() | installed_modules(submitted.package_folders)
    for test in submitted.tests:
        for one in imports(*statements_of(test.text)):
            unknown = one.top and one.module == one.top and one.top not in known
            if unknown and one.name in names | {"", "*"}:
                return f"{one.module}.py"
    return PASTED_FILENAME


def refuse_unwritable(text: str) -> None:
    """Raises `BadInput` for a text that a Python file cannot contain."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise BadInput(
            "The text contains half of a character pair (a lone surrogate), which cannot be saved "
            "in a file. Write it as an escape, \\ud800, and try again."
        )
    if "\0" in text:
        raise BadInput("The text contains a zero character, which Python does not accept.")


def _refuse_unusable(submitted: Submission) -> None:
    """Raises `BadInput` or `NotFixable` for an unusable program or description."""
    if submitted.code is None and not submitted.words.strip():
        raise BadInput("There is nothing to heal. Submit code or a task description.")
    for text in (submitted.program, submitted.words, *(test.text for test in submitted.tests)):
        refuse_unwritable(text)
    if submitted.code is not None:
        refuse_without_code(
            submitted.code, submitted.entry if submitted.entry != PASTED_FILENAME else "The code"
        )
        try:
            parsed(submitted.code)
        except SyntaxError as error:
            if error.msg == TOO_DEEP:
                raise NotFixable("too_deep", f"The program: {_UNREADABLE}") from None


def _refuse_contradictions(tests: Sequence[TestCase], submitted: Submission) -> None:
    program = unwritten(tests) if submitted.code is None else submitted.program
    pair = contradiction(tests, program, submitted.stem)
    if pair is not None and not (submitted.code and changes_between(program, pair)):
        raise NotFixable(
            "invalid_tests",
            f"Two tests contradict each other: `{shortened(pair[0], 200)}` and "
            f"`{shortened(pair[1], 200)}`. Correct one of them. If the first call is meant to "
            "change the result of the second, write both in one test.",
        )


def _refuse_foreign(submitted: Submission) -> None:
    """Refuses tests that seem to import the program under another module name."""
    stem = submitted.stem
    known = submitted.support_modules | {stem, "solution"} | standard_modules()
    names = toplevel_names(submitted.program)
    for test in submitted.tests:
        for one in imports(*filter(is_import, statements_of(test.text))):
            means_program = one.name in names or nearest_module(one.top, [stem])
            if one.top and means_program and (
                one.top not in known | installed_modules(submitted.package_folders)
            ):
                raise NotFixable(
                    "invalid_tests",
                    f"{test.name} import {one.top}, but the program is called {stem}. Write: "
                    f"from {stem} import …",
                )


def _gathered(submitted: Submission, notices: list[str]) -> tuple[TestCase, ...]:
    """All tests of the submission with unique names, without deselected ones.

    Other tests that test nothing are left out with a notice; submitted ones raise `NotFixable`.
    """
    given = [one for test in submitted.tests for one in _text_tests(test, submitted, notices)]
    if submitted.tests and not given:
        raise NotFixable(
            "invalid_tests",
            "The tests contain no code. Write an assert, such as: assert f(2) == 4",
        )
    names = None if submitted.code is None else toplevel_names(submitted.program)
    every = _distinct([
        *given, *_program_tests(submitted, files=any(
            isinstance(one, Script) and one.node for _, one in given
        )),
        *((None, test) for test in tests_from_words(submitted.words, names)),
    ])
    reasons = vacuous(
        [test for _, test in every], submitted.program, submitted.stem,
        {test.name: line for line, test in every if line is not None},
    )
    _refuse_vacuous([test.name for _, test in every[: len(_distinct(given))]], reasons)
    notices += [
        f"The test {name!r} is left out, because it tests nothing: {reason}"
        for name, reason in reasons.items()
    ]
    tests = [test for _, test in every if test.name not in reasons]
    return _selected(tests, submitted.deselect)


def _text_tests(test: TestText, submitted: Submission, notices: list[str]) -> Sequence[LocatedTest]:
    """The tests of a submitted text: an interpreter session, a pytest file or a snippet."""
    try:
        parsed(test.text)
    except SyntaxError as error:
        if has_prompts(test.text):
            return [(None, one) for one in tests_from_prompts(test.text, submitted.program)]
        raise NotFixable(
            "invalid_tests", f"{test.fails_to('parse')}: {where(error)}. Correct this first; "
            "a test is a line like `assert f(1) == 2`."
        ) from None
    if _is_snippet(test):
        return located_tests(test.text, submitted.program)
    text, line = borrowed(test.text, submitted.program, submitted.entry)
    if line:
        notices.append(f"{test.fails_to('import the program')}, so `{line}` was added.")
    notices += notices_of_file(text, test.name)
    configuration = [
        file.text for file in submitted.support
        if PurePosixPath(file.path).name in ("conftest.py", *CONFIGURATIONS)
    ]
    return [
        (None, one.model_copy(update={"file": test.path}) if test.path else one)
        for one in tests_from_file(text, test.name, configuration)
    ]


def _is_snippet(test: TestText) -> bool:
    """Whether a text has asserts, and is no file of tests."""
    body = statements_of(test.text)
    return not (collected(body) or makes_tests(body)) and (
        not test.name.endswith(".py") or _checks_at_top(body)
    )


def _checks_at_top(body: Sequence[ast.stmt]) -> bool:
    helpers = checking_helpers(body)
    return any(
        not isinstance(node, Definition) and (checks(node, helpers) or is_bare_check(node))
        for node in body
    )


def _program_tests(submitted: Submission, *, files: bool) -> list[LocatedTest]:
    """Tests in the program; with test `files` its asserts are left out, as an import runs them."""
    own = tests_from_program(submitted.program, submitted.entry)
    return [
        *((line, test) for line, test in own if not files or line is None),
        *((None, test) for test in tests_from_doctests(submitted.program)),
    ]


def _distinct(tests: Iterable[LocatedTest]) -> list[LocatedTest]:
    """The tests without duplicates, each with a unique name."""
    taken: dict[str, int] = {}
    known: set[tuple[str, str]] = set()
    distinct: list[LocatedTest] = []
    for line, test in tests:
        key = (test.code, test.node if isinstance(test, Script) else "")
        if key not in known:
            known.add(key)
            named = test.model_copy(update={"name": unique(test.name, taken)})
            distinct.append((line, named))
    return distinct


def _refuse_vacuous(given: Sequence[str], reasons: dict[str, str]) -> None:
    """Raises `NotFixable` if none of the submitted tests tests anything."""
    if given and all(name in reasons for name in given):
        sentences = list(dict.fromkeys(reasons[name] for name in given))
        more = f" (and {len(sentences) - 3} more)" if len(sentences) > 3 else ""
        raise NotFixable(
            "invalid_tests",
            f"The tests test nothing: {'; '.join(sentences[:3])}{more}. Write an assert that "
            "calls the program, such as: assert f(2) == 4",
        )


def _selected(tests: Sequence[TestCase], deselect: Sequence[str]) -> tuple[TestCase, ...]:
    """The tests without deselected ones; raises `BadInput` for an id that no test can have."""
    if not deselect:
        return tuple(tests)
    ids = [one.partition("::")[2] if one.partition("::")[0].endswith(".py") else one
           for one in deselect]
    known = {test.name for test in tests}
    files = any(isinstance(test, Script) and test.node == OTHER_TESTS for test in tests)
    for one in ids:
        if one not in known and not files:
            raise BadInput(f"deselect {one}: no test has this id.")
    return tuple(
        test.model_copy(update={"excluded_nodes": (*test.excluded_nodes, *ids)})
        if isinstance(test, Script) and test.node else test
        for test in tests
        if not any(test.name == one or test.name.startswith(f"{one}::") for one in ids)
    )
