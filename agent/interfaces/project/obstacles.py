"""Why a project's suite does not run, in sentences that say what would help."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import PurePosixPath

from agent.target.environment import modules_in, nearest_module, standard_modules
from agent.target.errors import NotFixable
from agent.target.interpreter import Interpreter
from agent.target.repository.tree import ProjectTree
from agent.verify.project.suite_run import TEST_S, SuiteRun

_MISSING = re.compile(
    r"^(.*?)(?:: | does not start: ).*No module named '([\w.]+)'(?:.* at (\S+:\d+)$)?", re.DOTALL
)
_ENDED = re.compile(r"^(\S+?\.py(?:::.*)?) (ends its process .*|did not end within .*)$", re.DOTALL)

LONGER = ", or give it longer: --test-timeout SECONDS"


def refuse_what_does_not_run(
    run: SuiteRun, tree: ProjectTree, python: str, command: str = ""
) -> None:
    """Raises `NotFixable` where no test is collected, or not all of the suite runs."""
    if command and not run.rows:
        raise NotFixable(
            "invalid_tests", f"`{command}` ran no test, which is no pass: name where its tests "
            "lie, as in `python -m unittest discover -s FOLDER`, or leave --test-cmd out",
        )
    if not run.problems and not run.rows:
        raise NotFixable(
            "invalid_tests", f"pytest collects no test in {tree.layout.root}: write one that fails "
            "now and passes once the program is right",
        )
    for problem in run.problems:
        missing = _MISSING.match(problem)
        if missing is not None:
            where, module, place = missing.groups()
            raise NotFixable(
                "missing_package", _missing(where, module, place or "", tree, python)
            )
        ended = _ENDED.match(problem)
        if ended is not None:
            raise NotFixable("invalid_tests", _unending(*ended.groups()))
    if run.problems:
        raise NotFixable(
            "invalid_tests", f"not all of the suite runs: {first_few(run.problems)}. Mend that first, "
            "or leave the file out (-- --ignore=FILE): a repair is judged by the whole suite",
        )


def unreadable(tree: ProjectTree) -> list[str]:
    """Files that may be edited and do not compile on the Python that runs this."""
    # Not where nothing fails: what mends texts takes a while to import.
    from agent.search.syntax import compiles

    return [path for path in sorted(tree.editable) if not compiles(tree.files[path])]


def broken_by(
    unreadable_files: Sequence[str], problems: Sequence[str], interpreter: Interpreter
) -> list[str]:
    """Which of these keep the suite from running."""
    named = [path for path in unreadable_files if any(f" at {path}:" in one for one in problems)]
    return named or ([*unreadable_files] if problems and not interpreter.python else [])


def unreadable_words(path: str, interpreter: Interpreter) -> str:
    """Why a file is left as it is."""
    ours = ".".join(map(str, sys.version_info[:2]))
    if interpreter.version > sys.version_info[:2]:
        return (
            f"{path} is no Python {ours}, on which this runs, and is left as it is: install this "
            f"package under {'.'.join(map(str, interpreter.version))} to have it searched"
        )
    return f"{path} does not compile, no test needs it, and it is left as it is"


def waiting_words(what: str, seconds: float, most: float = TEST_S) -> str:
    """What is said of a test, or a file, that does not end."""
    return (
        f"{what} has been running for {seconds:g} s; a test that does not end within {most:g} s "
        "ends the suite"
    )


def left_out_words(options: Sequence[str]) -> str:
    """Which of the project's options for pytest do not count, and why."""
    return (
        f"without {', '.join(options)} of pytest's options: a repair is judged by the whole suite, "
        "in one process"
    )


def first_few(problems: Sequence[str]) -> str:
    """The first few of them."""
    more = f"; and {len(problems) - 3} more" if len(problems) > 3 else ""
    return "; ".join(problems[:3]) + more


def _missing(where: str, module: str, place: str, tree: ProjectTree, python: str) -> str:
    name = module.partition(".")[0]
    by = "a conftest or a plugin, with which pytest starts," if where == "pytest" else where
    own, dotted = _own_modules(tree), modules_in(tree.files)
    if name in own and module not in dotted and (meant := nearest_module(module, dotted)):
        return f"{by} imports {module}{f' at {place}' if place else ''}: did you mean {meant}?"
    if name in own:
        roots = ", ".join(one or "the top" for one in tree.layout.import_roots)
        return (
            f"{by} imports {module}, a module of the project itself that is not found from "
            f"{roots}. Say where it lies with `pythonpath` in pytest's settings"
        )
    at = f" (imported at {place})" if place else ""
    meant = nearest_module(name, own | standard_modules())
    return (
        f"{by} needs the module {module}{at}, which is not among the packages of {python}"
        f"{f': did you mean {meant}? Else install' if meant else '. Install'} "
        "what the project says it depends on there, or name the environment that has it "
        "(--python PATH)"
    )


def _own_modules(tree: ProjectTree) -> set[str]:
    own = {tree.layout.name.replace("-", "_").lower(), tree.layout.name}
    for path in tree.files:
        if path.endswith(".py"):
            own |= {*PurePosixPath(path).parts[:-1], PurePosixPath(path).stem}
    return own


def _unending(test: str, how: str) -> str:
    if "::" in test:
        return (
            f"{test} {how}, and no test after it is seen. Mend it, or leave it out with "
            f"--deselect {test!r}{LONGER if 'within' in how else ''}"
        )
    return (
        f"{test} {how} while it is imported, and no test is seen. Mend it, or leave it out with "
        f"-- --ignore={test}"
    )
