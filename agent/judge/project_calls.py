"""The plain calls of a project's tests, made once more in a process that holds none of its tests.

It is `compared.repeated` for each file of tests and each module of the program that it imports. The
files are laid as that module's import root has them, so that a call names the module as its tests
do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from agent.core.domain import File, Project, Script, Solution, Task
from agent.judge.compared.repeated import repeated
from agent.judge.groups import Group
from agent.judge.jail_modules import imports
from agent.judge.subject import Subject, module_name
from sandbox.sandbox import Sandbox

MOST_PAIRS = 12
"""Files of tests, each with one module that it imports, whose calls are repeated."""
CALL_S = 5.0
"""The longest that a call may take."""


async def repeated_calls(
    files: Mapping[str, str], project: Project, task: Task, sandbox: Sandbox,
    passing: Sequence[str], failing: Collection[str] = (),
) -> tuple[frozenset[str], dict[str, str]]:
    """Which passes of a project rest on checks that hold outside of their process, and which do
    not hold there.

    Args:
        files: The project as it is judged, path to text.
        passing: Node ids of tests that pass and are looked at.
        failing: Node ids of those that do not.

    Returns:
        As `repeated` does, by node id; nothing where the tests need what only their own process
        has: another interpreter, variables, folders beside the project.
    """
    isolated: set[str] = set()
    against: dict[str, str] = {}
    if project.python or project.environment or project.readable or project.loopback:
        return frozenset(), against
    by_file: dict[str, list[str]] = {}
    for node in passing:
        by_file.setdefault(node.partition("::")[0], []).append(node)
    pairs = [
        (path, root, module) for path in by_file if path in files
        for root, module in _imported(files[path], files, project)
    ]
    for path, root, module in pairs[:MOST_PAIRS]:
        subject = Subject(*_laid(files, project, task, root, module), sandbox, CALL_S)
        keys = [node.partition("::")[2] for node in by_file[path]]
        tests = [
            Script(name=key, origin="user", code=files[path], node=key, file=path) for key in keys
        ]
        fail = [node.partition("::")[2] for node in failing if node.startswith(f"{path}::")]
        held, denied = await repeated(Group(subject, tests, files[path]), keys, fail)
        isolated |= {f"{path}::{key}" for key in held}
        against |= {f"{path}::{key}": said for key, said in denied.items()}
    return frozenset(isolated - against.keys()), against


def _imported(
    text: str, files: Mapping[str, str], project: Project
) -> Iterator[tuple[str, str]]:
    """The modules of the program that a test file imports, each with its import root."""
    names = imports(text)
    for path in project.editable:
        for root in project.import_roots:
            prefix = f"{root}/" if root else ""
            if path in files and path.startswith(prefix) and (
                module_name(path.removeprefix(prefix)) in names
            ):
                yield root, path
                break


def _laid(
    files: Mapping[str, str], project: Project, task: Task, root: str, module: str
) -> tuple[Solution, Task]:
    """The project as a program whose entry is one of its modules, and what lies beside it."""
    prefix = f"{root}/" if root else ""
    own = {path: File(path=path.removeprefix(prefix), text=text) for path, text in files.items()}
    program = [file for path, file in own.items() if path in project.editable]
    support = [file for path, file in own.items() if path not in project.editable]
    return (
        Solution(files=tuple(program), entry=module.removeprefix(prefix)),
        Task(support=tuple(support), sites=task.sites),
    )
