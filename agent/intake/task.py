"""What users bring becomes a task, or a clear refusal.

`make_task` is pure; `bring` reads the files of a command line and calls it, `paste` takes
the fields of a page.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Literal

from agent.domain import REST, File, Script, Solution, Task, TestCase
from agent.intake.borrowing import borrowed
from agent.intake.contradictions import contradiction
from agent.intake.doctests import has_prompts, tests_from_doctests, tests_from_prompts
from agent.intake.environment import (
    imports_in,
    installed_modules,
    missing_packages,
    nearest_module,
    site_folders,
    standard_modules,
    without_cookie,
)
from agent.intake.errors import BadInput, NotFixable
from agent.intake.parsing import (
    TOO_DEEP,
    checking_helpers,
    checks,
    is_definition,
    parsed,
    shortened,
    too_deep,
    unique,
    visible_names,
    where,
)
from agent.intake.program import line_of_end, lines_of_asserts, tests_from_program
from agent.intake.project import laid_out, module_stem
from agent.intake.pytest_files import collected, makes_tests, notices_of_file, tests_from_file
from agent.intake.snippets import is_bare_check, located_tests
from agent.intake.source import LARGEST, LARGEST_BYTES, SourceFile, read_source, refuse_empty
from agent.intake.vacuity import vacuous
from agent.intake.words import tests_from_words
from agent.pytest_settings import CONFIGURATIONS

PASTED = "solution.py"
_UNREADABLE = f"{TOO_DEEP}. Split its longest expression into several statements."


@dataclass(frozen=True)
class Intake:
    """A task, what a reader must know about it, and the file to write back to, if any."""

    task: Task
    notices: tuple[str, ...] = ()
    source: SourceFile | None = None


_Located = tuple[int | None, TestCase]
"""A test, and the line of its check in the text it was taken from, where it is a snippet's."""


@dataclass(frozen=True)
class TestText:
    """Tests as text, and what to call them when they are wrong."""

    __test__ = False

    text: str
    name: str = "the tests"
    path: str = ""
    """Where the file lies in its project; empty for what was pasted."""

    def fails_to(self, verb: str) -> str:
        """`The tests do not parse`, `test_sum.py does not parse`."""
        if self.name == "the tests":
            return f"The tests do not {verb}"
        return f"{self.name} does not {verb}"

    @property
    def does_not_import(self) -> str:
        """`The tests do not import the program`."""
        return self.fails_to("import the program")


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
) -> Intake:
    """A task from program text, words or both, with all tests that can be found in them, but for
    those to `deselect`, by their ids. `doctests` has failing ones count beside other tests.

    Raises `BadInput` where there is nothing to work on, and `NotFixable` for tests that do
    not parse or test nothing, for packages that are not installed, and for code that is nested
    too deeply to be read.
    """
    try:
        return _made(
            code, entry, words, tests, support=support, stdin=stdin, argv=argv, sites=sites,
            deselect=deselect, doctests=doctests,
        )
    except RecursionError:
        # Some readers go deeper than others: what one of them cannot read is not judged.
        raise NotFixable("too_deep", f"The tests, or the program: {_UNREADABLE}") from None


def _made(
    code: str | None,
    entry: str,
    words: str,
    tests: Sequence[TestText],
    *,
    support: Sequence[File],
    stdin: str,
    argv: Sequence[str],
    sites: Sequence[str],
    deselect: Sequence[str],
    doctests: bool,
) -> Intake:
    program = _plain_lines(code or "")
    tests = [replace(test, text=_plain_lines(test.text)) for test in tests]
    if code is None and not words.strip():
        raise BadInput("There is nothing to heal: bring code, or a task in words.")
    for text in (program, words, *(test.text for test in tests)):
        _refuse_unusable(text)
    if code is not None:
        refuse_empty(program, entry if entry != PASTED else "The code")
        if too_deep(program):
            raise NotFixable("too_deep", f"The program: {_UNREADABLE}")
    notices: list[str] = []
    stem = module_stem(entry)
    around = [file.text for file in support if _configures(file.path)]
    brought = _brought(tests, program if code is not None else "", entry, around, notices)
    found = _found(program, words, entry, code is not None, files=any(map(_of_file, brought)))
    kept = _selected(_without_vacuous(
        _distinct([*brought, *found]), len(_distinct(brought)), program, stem, notices
    ), deselect)
    if code is not None:
        _refuse_contradictions(kept, program, stem, notices)
        _refuse_foreign(tests, program, stem, support, sites)
        _refuse_missing([program, *(test.text for test in tests)], entry, support, sites, notices)
    end = line_of_end(program) if tests else None
    if end is not None:
        notices.append(
            f"The program ends itself at line {end} whenever it is imported. Where that is a good "
            "end, it is tested by what it has defined until then; pytest alone would stop there. "
            'Put that line under `if __name__ == "__main__":`.'
        )
    solution = None
    if code is not None:
        solution = Solution(files=(File(path=entry, text=program),), entry=entry)
    task = Task(
        text=words, solution=solution, tests=kept, support=tuple(support), stdin=stdin,
        argv=tuple(argv), sites=tuple(sites), doctests=doctests,
    )
    return Intake(task, tuple(dict.fromkeys(notices)))


def bring(
    path: Path | Literal["-"] | None = None,
    *,
    words: str = "",
    snippets: Sequence[str] = (),
    tests_file: Path | None = None,
    with_files: Sequence[Path] = (),
    python: str | None = None,
    stdin: str = "",
    argv: Sequence[str] = (),
    deselect: Sequence[str] = (),
    doctests: bool = False,
) -> Intake:
    """The task of a command line; reads the files it names. `stdin` may be `@FILE`.

    Raises `BadInput` and `NotFixable` with a message for people.
    """
    source = read_source(path) if path is not None else None
    tests = [
        TestText(snippet, "the tests" if len(snippets) == 1 else f"test {number}")
        for number, snippet in enumerate(snippets, start=1)
    ]
    test_source = read_source(tests_file) if tests_file is not None else None
    project = laid_out(
        source.path if source is not None else None, source.text if source is not None else "",
        tests_file, test_source.text if test_source is not None else "",
    )
    if test_source is not None:
        tests.append(TestText(test_source.text, test_source.name, project.tests))
    notices = [*project.notices]
    support = {file.path: file for file in project.support}
    for name in with_files:
        support[name.name] = File(path=name.name, text=_support_text(name))
    entry = project.entry or (source.name if source is not None else PASTED)
    support.pop(entry, None)
    interpreter = site_folders(python)
    if interpreter.note:
        notices.append(interpreter.note)
    intake = make_task(
        source.text if source is not None else None,
        entry=entry, words=words, tests=tests, support=tuple(support.values()),
        stdin=_stdin(stdin), argv=argv, sites=interpreter.sites, deselect=deselect,
        doctests=doctests,
    )
    return replace(intake, notices=(*notices, *intake.notices), source=source)


def paste(
    code: str = "", tests: str = "", words: str = "", deselect: Sequence[str] = (),
    doctests: bool = False,
) -> Intake:
    """The task of a page's three fields; empty ones count as not given.

    Pasted code has no file name. Where pasted tests import it by one, it is called that.
    """
    if len(code) > LARGEST_BYTES or len(tests) > LARGEST_BYTES or len(words) > LARGEST_BYTES:
        raise BadInput(f"What was pasted is larger than {LARGEST}. Bring the part that fails.")
    given = [TestText(_plain_lines(tests))] if tests.strip() else []
    program = _plain_lines(code) if code.strip() else None
    sites = site_folders().sites
    entry = PASTED
    if program is not None and given:
        entry = f"{_called(program, given[0].text, sites)}.py"
    return make_task(
        program, entry=entry, words=words.strip(), tests=given, sites=sites, deselect=deselect,
        doctests=doctests,
    )


def _plain_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _called(program: str, tests: str, sites: Sequence[str]) -> str:
    """The module name by which the tests import names that the program defines."""
    names = visible_names(program)
    for module, imported in _imported_names(tests):
        unknown = module not in standard_modules((3, 11)) | installed_modules(sites)
        if unknown and imported <= names:
            return module
    return PurePosixPath(PASTED).stem


def _imported_names(text: str) -> Iterable[tuple[str, frozenset[str]]]:
    """(module, names) of every plain `from module import names` and `import module`."""
    try:
        tree = parsed(text)
    except SyntaxError:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if "." not in node.module:
                yield node.module, frozenset(alias.name for alias in node.names) - {"*"}
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if "." not in alias.name:
                    yield alias.name, frozenset()


def _support_text(path: Path) -> str:
    return without_cookie(read_source(path, allow_empty=True).text)


def _stdin(given: str) -> str:
    return read_source(Path(given[1:]), allow_empty=True).text if given.startswith("@") else given


def _refuse_unusable(text: str) -> None:
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise BadInput(
            "The text holds half of a character pair (a lone surrogate), which no file can hold. "
            "Write it as an escape, \\ud800, and try again."
        )
    if "\0" in text:
        raise BadInput("The text holds a zero character, which Python does not accept.")


def _configures(path: str) -> bool:
    return PurePosixPath(path).name in ("conftest.py", *CONFIGURATIONS)


def _of_file(located: _Located) -> bool:
    """Whether a test is one of a pytest file."""
    return isinstance(located[1], Script) and bool(located[1].node)


def _brought(
    tests: Sequence[TestText], program: str, entry: str, around: Sequence[str],
    notices: list[str],
) -> list[_Located]:
    """Tests that the user gave as such."""
    found: list[_Located] = []
    for test in tests:
        if has_prompts(test.text) and not _parses(test.text):
            found += [(None, one) for one in tests_from_prompts(test.text, program)]
            continue
        try:
            body = parsed(test.text).body
        except SyntaxError as error:
            raise NotFixable(
                "invalid_tests", f"{test.fails_to('parse')}: {where(error)}. Correct that first."
            ) from None
        if collected(body) or makes_tests(body) or (
            test.name.endswith(".py") and not _checks_at_top(body)
        ):
            text, line = borrowed(test.text, program, entry)
            if line:
                notices.append(
                    f"{test.does_not_import}: the program's names are there, as if by `{line}`."
                )
            found += [
                (None, one.model_copy(update={"file": test.path})
                 if test.path and one.kind == "script" and one.node else one)
                for one in tests_from_file(text, test.name, "user", around)
            ]
            notices += notices_of_file(text, test.name)
        else:
            found += located_tests(test.text, "user", program)
    if tests and not found:
        raise NotFixable(
            "invalid_tests",
            "The tests hold no code. Write an assert, such as: assert f(2) == 4",
        )
    return found


def _checks_at_top(body: Sequence[ast.stmt]) -> bool:
    helpers = checking_helpers(body)
    return any(
        not is_definition(node) and (checks(node, helpers) or is_bare_check(node))
        for node in body
    )


def _parses(text: str) -> bool:
    try:
        parsed(text)
    except SyntaxError:
        return False
    return True


def _found(
    program: str, words: str, entry: str, has_code: bool, *, files: bool
) -> list[_Located]:
    """Tests that stand in the program and in the words. Beside `files` of tests the program's own
    asserts are a part of its import and no tests of their own, as pytest has it."""
    names = visible_names(program) if has_code else None
    lines = lines_of_asserts(program) if has_code else {}
    return [
        *(
            (lines.get(test.name), test)
            for test in (tests_from_program(program, entry) if has_code else ())
            if not files or test.name not in lines
        ),
        *((None, test) for test in (tests_from_doctests(program) if has_code else ())),
        *((None, test) for test in (tests_from_words(words, names) if words else ())),
    ]


def _distinct(tests: Iterable[_Located]) -> list[_Located]:
    """The tests without repetitions, each by a name of its own."""
    taken: set[str] = set()
    seen: set[tuple[str, str]] = set()
    distinct: list[_Located] = []
    for line, test in tests:
        key = (test.code, test.node if isinstance(test, Script) else "")
        if key not in seen:
            seen.add(key)
            named = test.model_copy(update={"name": unique(test.name, taken)})
            distinct.append((line, named))
    return distinct


def _selected(tests: Sequence[TestCase], deselect: Sequence[str]) -> tuple[TestCase, ...]:
    """The tests without those to deselect, by name or by a pytest node id. Raises `BadInput` for
    an id that can belong to none of them."""
    if not deselect:
        return tuple(tests)
    ids = [one.partition("::")[2] if one.partition("::")[0].endswith(".py") else one
           for one in deselect]
    known = {test.name for test in tests}
    files = any(isinstance(test, Script) and test.node == REST for test in tests)
    for one in ids:
        if one not in known and not files:
            raise BadInput(f"deselect {one}: no test has that id.")
    return tuple(
        test.model_copy(update={"without": (*test.without, *ids)})
        if isinstance(test, Script) and test.node else test
        for test in tests
        if not any(test.name == one or test.name.startswith(f"{one}::") for one in ids)
    )


def _without_vacuous(
    tests: list[_Located], brought: int, program: str, stem: str, notices: list[str]
) -> tuple[TestCase, ...]:
    """The tests that test something; the first `brought` were given by the user as tests."""
    lines = {test.name: line for line, test in tests if line is not None}
    every = [test for _, test in tests]
    reasons = vacuous(every, program, stem, lines)
    given = every[:brought]
    if given and all(test.name in reasons for test in given):
        sentences = list(dict.fromkeys(reasons[test.name] for test in given))
        more = f" (and {len(sentences) - 3} more)" if len(sentences) > 3 else ""
        raise NotFixable(
            "invalid_tests",
            f"The tests test nothing: {'; '.join(sentences[:3])}{more}. Write an assert that "
            "calls the program, such as: assert f(2) == 4",
        )
    notices += [
        f"The test {test.name!r} is left out, for it tests nothing: {reasons[test.name]}"
        for test in every if test.name in reasons
    ]
    return tuple(test for test in every if test.name not in reasons)


def _refuse_contradictions(
    tests: Sequence[TestCase], program: str, stem: str, notices: list[str]
) -> None:
    pair = contradiction(tests, program, stem)
    if pair is None:
        pair = contradiction(tests, program, stem, with_defaults=True)
        if pair is not None:
            notices.append(
                f"`{shortened(pair[0], 200)}` and `{shortened(pair[1], 200)}` can both hold only "
                "where a default of the program changes."
            )
    else:
        raise NotFixable(
            "invalid_tests",
            f"Two tests contradict each other: `{shortened(pair[0], 200)}` and "
            f"`{shortened(pair[1], 200)}`. No program that answers alike each time passes both: "
            "correct one of them. Where the first call is meant to change what the second "
            "answers, write both into one test.",
        )


def _refuse_foreign(
    tests: Sequence[TestText], program: str, stem: str, support: Sequence[File],
    sites: Sequence[str],
) -> None:
    """Refuses tests that import a module which is not there, by a name near the program's or for
    names that the program defines."""
    here = _modules_of(support)
    here |= {stem, "solution"} | standard_modules((3, 11))
    names = visible_names(program)
    for test in tests:
        wanted = dict(_imported_names(test.text))
        for module, _, lazy in imports_in(test.text):
            meant = bool(wanted.get(module)) and wanted[module] <= names
            if lazy or module in here or not (meant or nearest_module(module, [stem])):
                continue
            if module in installed_modules(sites):
                continue
            raise NotFixable(
                "invalid_tests",
                f"{test.name} import {module}, but the program is called {stem}. Write: "
                f"from {stem} import …",
            )


def _refuse_missing(
    texts: Sequence[str],
    entry: str,
    support: Sequence[File],
    sites: Sequence[str],
    notices: list[str],
) -> None:
    beside = _modules_of(support)
    # Tests run under our own pytest, whatever the program's interpreter has.
    stems = {PurePosixPath(entry).parts[0].removesuffix(".py"), "solution", "pytest"}
    missing = missing_packages(
        [*texts, *(file.text for file in support if file.path.endswith(".py"))],
        sites, beside | stems,
    )
    at_import = [one for one in missing if not one.lazy]
    if at_import:
        raise NotFixable("missing_package", " ".join(one.sentence for one in at_import[:3]))
    notices += [f"{one.sentence} Only a part needs it; the rest is healed." for one in missing]


def _modules_of(support: Sequence[File]) -> frozenset[str]:
    """Names that lead to these files: from the top, or from the folder a test lies in."""
    parts = [PurePosixPath(file.path).parts for file in support]
    return frozenset(name.removesuffix(".py") for path in parts for name in (path[0], path[-1]))
