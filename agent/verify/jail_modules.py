"""Bundles our own modules that are shipped into the jails.

Every job ships the same modules and one of few lists of folders, so that a backend serves all jobs
from the same preloaded interpreter. Jobs that need pytest also get the modules that import it, and
the folder of pytest.
"""

from __future__ import annotations

import ast
import asyncio
import importlib
import importlib.util
import re
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from agent.core import __name__ as _CORE
from agent.core.trees import nodes_or_empty
from sandbox.sandbox import Sandbox
from sandbox.types import PRELOADABLE, Job, SandboxError

if TYPE_CHECKING:
    from agent.core.domain import TestCase

_JAIL_FOLDER = re.compile(r"(?:/[\w.@+-]+)*/[0-9a-f]{16}/[ab]/(?!tmp/)\w+/")
_PROGRAMS = (
    "agent.verify.programs.examples.answer_calls", "agent.verify.programs.plain.plain_run",
    "agent.verify.programs.script", "agent.search.precheck.programs.screen",
    "agent.search.precheck.programs.trace", "agent.tools.programs.line_search",
    "agent.tools.programs.python_command", "agent.tools.programs.snippet",
)
"""Programs that run in a jail, shipped together with all that they import at their top."""
_WITH_PYTEST = (
    "agent.verify.programs.plain.plain_pytest", "agent.search.precheck.programs.pytest_items",
)
_OF_PROJECTS = (
    "agent.search.project.programs.suite_session", "agent.verify.programs.plain.plain_suite",
    "agent.tools.programs.python_command",
)
"""Programs that run on a project's own Python and pytest; they must work with Python 3.10."""
_PYTEST = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging")
_AGENT = _CORE.removesuffix(".core")
_IMPORTED = re.compile(rf"^from {re.escape(_AGENT)}\.([\w.]+) import", re.MULTILINE)
_OURS = re.compile(rf"\bfrom {re.escape(_AGENT)}\.([\w.]+) import")


def without_jail_paths(text: str) -> str:
    """Removes the jail's folder from the paths in a text, so that they are the user's paths."""
    return _JAIL_FOLDER.sub("", text)


def program(name: str) -> str:
    """The source of a job that runs one of our programs."""
    return f"from _judge.programs.{name} import main\n\nmain(jail)\n"


@cache
def modules(with_pytest: bool = False) -> Mapping[str, str]:
    """The modules for all jails except those of a project's suite."""
    return _bundled_sources((*_PROGRAMS, *(_WITH_PYTEST if with_pytest else ())))


@cache
def project_modules() -> Mapping[str, str]:
    """The modules that go into the jails of a project's suite."""
    return _bundled_sources(_OF_PROJECTS)


def _bundled_sources(programs: Iterable[str]) -> Mapping[str, str]:
    """Programs and their imports, in the package `_judge`.

    Under the name `agent` they would hide a user's module of that name.
    """
    sources = {"_judge": "", "_judge.programs": ""}
    pending = [name.removeprefix("agent.") for name in programs]
    while pending:
        name = pending.pop()
        if _jail_name(name) not in sources:
            *packages, last = name.split(".")
            text = files(_AGENT).joinpath(*packages, f"{last}.py").read_text("utf-8")
            sources[_jail_name(name)] = _OURS.sub(
                lambda match: f"from {_jail_name(match[1])} import", text
            )
            pending += _IMPORTED.findall(text)
    return sources


def _jail_name(name: str) -> str:
    package = "_judge.programs" if ".programs." in name else "_judge"
    return f"{package}.{name.rpartition('.')[2]}"


@cache
def pytest_site() -> str:
    """The folder of packages that holds our own pytest."""
    spec = importlib.util.find_spec("pytest")
    if spec is None or spec.origin is None:
        raise SandboxError("pytest is not installed; install this package's dependencies")
    return str(Path(spec.origin).parent.parent)


def needs_packages(test: TestCase, program_modules: Collection[str] = ()) -> bool:
    """Whether a test needs pytest, or imports packages outside of Python and the program."""
    return bool(getattr(test, "node", "")) or imports_packages(test.code, program_modules)


def imports_packages(code: str, program_modules: Collection[str] = ()) -> bool:
    """Whether a text imports modules outside of Python and of the program."""
    return not _third_party_roots(code) <= {*program_modules}


def preloads(texts: Iterable[str]) -> tuple[str, ...]:
    """The large packages that the texts import, for a backend to preload."""
    imported = frozenset[str]().union(*map(_third_party_roots, texts))
    return tuple(name for name in PRELOADABLE if name in imported)


def _third_party_roots(code: str) -> frozenset[str]:
    return imported(code) - sys.stdlib_module_names - {""}


def imported(code: str) -> frozenset[str]:
    """The packages and modules that a text imports, by the first part of their names."""
    return frozenset(name.partition(".")[0] for name in imports(code))


@lru_cache(maxsize=4096)
def imports(code: str) -> frozenset[str]:
    """Dotted names that a text imports, or may import; none where it does not parse."""
    named: list[str] = []
    for node in nodes_or_empty(code):
        if isinstance(node, ast.Import):
            named += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            named += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.ImportFrom):
            named += [f".{alias.name}" for alias in node.names]
    return frozenset(named)


@dataclass(frozen=True)
class Bundle:
    modules: Mapping[str, str]
    package_folders: tuple[str, ...]
    opens_files: bool = True


async def bundle(
    sandbox: Sandbox, package_folders: tuple[str, ...], *, with_pytest: bool
) -> Bundle:
    """The bundle for a job, in which the user's `package_folders` come first.

    Where no file can be opened, pytest is shipped as modules, from memory.
    """
    if not with_pytest:
        return Bundle(modules(), package_folders)
    job = Job("", modules=modules(), package_folders=package_folders)
    if (await sandbox.isolation(job)).level == "L2":
        texts = await asyncio.to_thread(pytest_in_memory)
        return Bundle({**texts, **modules(with_pytest=True)}, package_folders, opens_files=False)
    return pytest_bundle(package_folders)


def pytest_bundle(package_folders: tuple[str, ...]) -> Bundle:
    """The bundle with pytest where files can be opened.

    The user's own pytest is preferred: our folder of packages would add all its plugins.
    """
    if _has_pytest(package_folders):
        return Bundle(modules(with_pytest=True), package_folders)
    return Bundle(modules(with_pytest=True), (*package_folders, pytest_site()))


def _has_pytest(package_folders: tuple[str, ...]) -> bool:
    return all(any(Path(one, name).is_dir() for one in package_folders) for name in _PYTEST)


def base_suite_job(package_folders: tuple[str, ...], python: str, loopback: bool) -> Job:
    """The common part of all jobs over a project's suite, which share one fork server.

    Our own pytest is added where the project has none.
    """
    has_pytest = python or _has_pytest(package_folders)
    if not has_pytest:
        package_folders = tuple(dict.fromkeys((*package_folders, pytest_site())))
    return Job(
        "", modules=project_modules(), python=python, processes=True, loopback=loopback,
        package_folders=package_folders,
    )


@cache
def pytest_in_memory() -> Mapping[str, str]:
    """The sources of all modules that `import pytest` loads from its folder of packages."""
    importlib.import_module("pytest")
    folder = Path(pytest_site())
    roots = ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments")
    texts = {}
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if name.partition(".")[0] in roots and file.endswith(".py"):
            text = Path(file).read_text("utf-8")
            if Path(file).name == "__init__.py":
                # pytest reads the path of its packages, to hide itself in tracebacks.
                text += f"\n__file__ = {str(folder / name.replace('.', '/') / '__init__.py')!r}\n"
            texts[name] = text
    return texts
