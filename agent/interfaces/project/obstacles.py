"""Explains why the suite of a project does not run, and what to do."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from agent.interfaces.project.selection import command_without_pytest, django_settings
from agent.target.environment import modules_in, nearest_module, standard_modules
from agent.target.errors import NotFixable, TimeIsUp
from agent.target.interpreter import Interpreter
from agent.target.repository.tree import ProjectTree
from agent.verify.project.suite_run import TEST_S, SuiteRun

_MISSING = re.compile(
    r"^(.*?)(?:: | does not start: ).*No module named '([\w.]+)'(?:.* at (\S+:\d+)$)?", re.DOTALL
)
_CRASH = re.compile(r"^\S+?: ((\w+)\b.*) at (\S+):(\d+)$", re.DOTALL)
_CODE_ERRORS = frozenset({
    "AttributeError", "ImportError", "IndexError", "ModuleNotFoundError", "NameError", "TypeError",
    "UnboundLocalError", "ZeroDivisionError",
})
"""Exceptions at import that are usually a mistake in the code. Others are mostly raised on purpose,
or because an environment variable or a file is missing."""
_ENDED = re.compile(r"^(\S+?\.py(?:::.*)?) (ends its process .*|did not end within .*)$", re.DOTALL)

_MORE_TIME_HINT = ", or allow more time: --test-timeout SECONDS"


def check_suite_runs(run: SuiteRun, tree: ProjectTree, python: str, command: str = "") -> None:
    """Raises `NotFixable` if no test is collected, or if some of the suite does not run."""
    if command and not run.outcomes:
        raise NotFixable(
            "invalid_tests", f"`{command}` ran no test. Name the folder of the tests, for example "
            "`python -m unittest discover -s FOLDER`, or leave --test-cmd out",
        )
    if not run.problems and not run.outcomes:
        raise NotFixable(
            "invalid_tests", f"pytest collects no test in {tree.layout.root}. Write one that fails "
            "now and passes once the program is right" + (
                f"; or, if its tests run without pytest, name their command: --test-cmd {other!r}"
                if (other := command_without_pytest(tree.files)) else ""
            ),
        )
    for problem in run.problems:
        missing = _MISSING.match(problem)
        if missing is not None:
            where, module, source = missing.groups()
            raise NotFixable("missing_package", _missing(where, module, source or "", tree, python))
        ended = _ENDED.match(problem)
        if ended is not None:
            raise NotFixable("invalid_tests", _never_ending_words(*ended.groups()))
    if run.problems:
        raise NotFixable(
            "invalid_tests", f"some of the suite does not run: {join_first(run.problems)}. Repair "
            "that first, or leave the file out (-- --ignore=FILE), because a repair is judged by "
            "the whole suite",
        )


def django_hints(messages: Iterable[str], tree: ProjectTree) -> Iterator[str]:
    """Suggests how to name the settings of Django, if tests failed for lack of them."""
    if any("ImproperlyConfigured: " in one and "not configured" in one for one in messages):
        module = django_settings(tree.files) or "MODULE"
        command = command_without_pytest(tree.files)
        instead = f", or their own command: --test-cmd {command!r}" if command else ""
        yield f"the tests need Django's settings. Name them for pytest: -- --ds={module}{instead}"


def unrun_tests(run: SuiteRun) -> set[str]:
    """Returns the tests that did not run before the deadline."""
    return {*run.collected} - run.outcomes.keys()


def note_on_partial_run(run: SuiteRun, seconds: float) -> str:
    """Returns the note on a suite that was stopped when its share of the time limit was used up.
    Raises `TimeIsUp` if no test had failed by then."""
    ran = f"{len(run.outcomes):,} of {len(run.outcomes) + len(unrun_tests(run)):,} tests ran"
    if not run.failing:
        raise TimeIsUp(
            "environment", f"In {seconds:.0f} seconds, the share of the given time for the first "
            f"run and its start, {ran}, and none failed. Name the failing test (FILE::TEST), or "
            "give more --timeout.",
        )
    return (
        f"{ran} in {seconds:.0f} seconds, the share of the given time for the first run; the "
        "others do not judge the repair"
    )


def uncollected_files(run: SuiteRun, tree: ProjectTree) -> list[str]:
    """Returns the test files that pytest cannot collect, such as those of a package that is not
    installed; empty if the project's own code may be the cause."""
    files = set()
    for problem in run.problems:
        file, missing = problem.partition(":")[0], _MISSING.match(problem)
        if (
            run.outcomes or file not in tree.files
            or (missing is not None and missing[2].partition(".")[0] in _own_modules(tree))
            or any(path in problem for path in tree.editable)
        ):
            return []
        files.add(file)
    return sorted(files)


def uncollected_message(problems: Sequence[str]) -> str:
    """Returns the message about test files that are left out."""
    return (
        f"pytest cannot collect some files: {join_first(problems)}. They are left out, and do not "
        "judge the repair"
    )


def unreadable(tree: ProjectTree) -> list[str]:
    """Returns the editable files that do not compile with the running Python."""
    from agent.search.syntax import compiles

    return [path for path in sorted(tree.editable) if not compiles(tree.files[path])]


def blocking_files(
    unreadable_files: Sequence[str], problems: Sequence[str], interpreter: Interpreter
) -> list[str]:
    """Returns the unreadable files that prevent the suite from running."""
    named = [path for path in unreadable_files if any(f" at {path}:" in one for one in problems)]
    return named or ([*unreadable_files] if problems and not interpreter.python else [])


def crashing_imports(problems: Sequence[str], tree: ProjectTree) -> dict[str, str]:
    """Returns the editable files that raise when the tests import them, each with the message;
    empty if another problem also prevents the suite from running."""
    found: dict[str, str] = {}
    for problem in problems:
        missing, crash = _MISSING.match(problem), _CRASH.match(problem)
        if not crash or crash[2] not in _CODE_ERRORS or crash[3] not in tree.editable or (
            missing and not _misspelled_module(missing[2], tree)
        ):
            return {}
        line = tree.files[crash[3]].split("\n")[int(crash[4]) - 1]
        if re.search(r"\b(?:environ|getenv|open|read_text)\b", line):
            return {}
        found.setdefault(crash[3], crash[1])
    return found


def _misspelled_module(module: str, tree: ProjectTree) -> str:
    """Returns the project's module that a misspelled import probably means; empty if none."""
    dotted = modules_in(tree.files)
    is_own = module.partition(".")[0] in _own_modules(tree)
    return (nearest_module(module, dotted) or "") if is_own and module not in dotted else ""


def unreadable_message(path: str, interpreter: Interpreter) -> str:
    """Returns why a file is not edited."""
    running = ".".join(map(str, sys.version_info[:2]))
    if interpreter.version > sys.version_info[:2]:
        return (
            f"{path} is not edited, because it is not valid in Python {running}, which runs this "
            f"command. Install this package under {'.'.join(map(str, interpreter.version))}"
        )
    return f"{path} is not edited, because it does not compile and no test needs it"


def slow_test_message(what: str, seconds: float, most: float = TEST_S) -> str:
    """Returns the message about a test or file that does not end."""
    return f"{what} has been running for {seconds:g} s. It fails after {most:g} s at the latest"


def ignored_options_message(options: Sequence[str]) -> str:
    """Returns the message about ignored pytest options of the project."""
    return (
        f"the pytest options {', '.join(options)} are ignored, because a repair is judged by the "
        "whole suite in one process"
    )


def join_first(problems: Sequence[str]) -> str:
    """Joins the first three and counts the others."""
    more = f"; and {len(problems) - 3} more" if len(problems) > 3 else ""
    return "; ".join(problems[:3]) + more


def _missing(where: str, module: str, source: str, tree: ProjectTree, python: str) -> str:
    name = module.partition(".")[0]
    by = "a conftest.py or a plugin of pytest" if where == "pytest" else where
    own_modules = _own_modules(tree)
    if meant := _misspelled_module(module, tree):
        return f"{by} imports {module}{f' at {source}' if source else ''}: did you mean {meant}?"
    if name in own_modules:
        roots = ", ".join(one or "the top" for one in tree.layout.import_roots)
        return (
            f"{by} imports {module}, a module of this project that is not found from {roots}. Add "
            "its folder to `pythonpath` in the pytest settings"
        )
    at = f" (imported at {source})" if source else ""
    meant = nearest_module(name, own_modules | standard_modules()) or ""
    return (
        f"{by} needs the module {module}{at}, which is not installed in {python}"
        f"{f'. Did you mean {meant}? Otherwise install' if meant else '. Install'} "
        "the project's dependencies there, or name the environment that has them (--python PATH)"
    )


def _own_modules(tree: ProjectTree) -> set[str]:
    names = {tree.layout.name.replace("-", "_").lower(), tree.layout.name}
    for path in tree.files:
        if path.endswith(".py"):
            names |= {*PurePosixPath(path).parts[:-1], PurePosixPath(path).stem}
    return names


def _never_ending_words(test: str, how: str) -> str:
    if "::" in test:
        return (
            f"{test} {how}, so the tests after it cannot run. Repair it, or leave it out with "
            f"--deselect {test!r}{_MORE_TIME_HINT if 'within' in how else ''}"
        )
    return (
        f"{test} {how} while it is imported, so no test can run. Repair it, or leave it out with "
        f"-- --ignore={test}"
    )
