"""What of ours goes into the jails: one package of definitions for all programs.

Every job ships the same modules, and one of few lists of folders, so that a backend which keeps
them loaded serves all jobs from the same preloaded interpreter. Where pytest is needed, the
modules that import it come along with the folder it lies in.
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
from agent.core.trees import readable_nodes
from sandbox.sandbox import Sandbox
from sandbox.types import PRELOADABLE, Job, SandboxError

if TYPE_CHECKING:
    from agent.core.domain import TestCase

_LAID = re.compile(r"(?:/[\w.@+-]+)*/[0-9a-f]{16}/[ab]/(?!tmp/)\w+/")
"""Where a jail lays a program's files."""
_PROGRAMS = (
    "agent.verify.programs.examples.answer_calls", "agent.verify.programs.plain.plain_run",
    "agent.verify.programs.script", "agent.search.precheck.programs.screen",
    "agent.search.precheck.programs.trace", "agent.tools.programs.line_search",
    "agent.tools.programs.python_command", "agent.tools.programs.snippet",
)
"""What runs in a jail. All that these import at their top goes there with them."""
_WITH_PYTEST = (
    "agent.verify.programs.plain.plain_pytest", "agent.search.precheck.programs.pytest_items",
)
_OF_PROJECTS = (
    "agent.search.project.programs.suite_session", "agent.verify.programs.plain.plain_suite",
    "agent.tools.programs.python_command",
)
"""What runs on a project's own Python and with its own pytest: in the syntax of Python 3.10, and
without what the library has had only since."""
_PYTEST = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging")
"""Without one of these pytest does not start."""
_AGENT = _CORE.removesuffix(".core")
_IMPORTED = re.compile(rf"^from {re.escape(_AGENT)}\.([\w.]+) import", re.MULTILINE)
_OURS = re.compile(rf"\bfrom {re.escape(_AGENT)}\.([\w.]+) import")


def without_jail_paths(text: str) -> str:
    """A text that names the program's files as its user does, not by where a jail has laid them."""
    return _LAID.sub("", text)


def program(name: str) -> str:
    """The text of a job that runs one of our programs."""
    return f"from _judge.programs.{name} import main\n\nmain(jail)\n"


@cache
def modules(with_pytest: bool = False) -> Mapping[str, str]:
    """The modules that go into every jail but a project's."""
    return _shipped((*_PROGRAMS, *(_WITH_PYTEST if with_pytest else ())))


@cache
def project_modules() -> Mapping[str, str]:
    """The modules that go into the jails of a project's suite."""
    return _shipped(_OF_PROJECTS)


def _shipped(programs: Iterable[str]) -> Mapping[str, str]:
    """Programs and what they import, in a package whose name no program has.

    Under their own name they would hide a user's module called `agent`.
    """
    sources = {"_judge": "", "_judge.programs": ""}
    waiting = [name.removeprefix("agent.") for name in programs]
    while waiting:
        name = waiting.pop()
        if _inside(name) not in sources:
            *rooms, last = name.split(".")
            text = files(_AGENT).joinpath(*rooms, f"{last}.py").read_text("utf-8")
            sources[_inside(name)] = _OURS.sub(lambda at: f"from {_inside(at[1])} import", text)
            waiting += _IMPORTED.findall(text)
    return sources


def _inside(name: str) -> str:
    """What a module of ours is called in a jail."""
    room = "_judge.programs" if ".programs." in name else "_judge"
    return f"{room}.{name.rpartition('.')[2]}"


@cache
def pytest_site() -> str:
    """The folder of packages in which our own pytest lies."""
    spec = importlib.util.find_spec("pytest")
    if spec is None or spec.origin is None:
        raise SandboxError("pytest is not installed; install this package's dependencies")
    return str(Path(spec.origin).parent.parent)


def needs_packages(test: TestCase, own: Collection[str] = ()) -> bool:
    """Whether a test is pytest's, or imports what is neither Python's nor the program's own."""
    return bool(getattr(test, "node", "")) or imports_packages(test.code, own)


def imports_packages(code: str, own: Collection[str] = ()) -> bool:
    """Whether a text imports what is neither Python's nor one of `own`, names of modules."""
    return not _roots(code) <= {*own}


def preloads(texts: Iterable[str]) -> tuple[str, ...]:
    """The large packages that the texts import, for a backend to have loaded beforehand."""
    imported = frozenset[str]().union(*map(_roots, texts))
    return tuple(name for name in PRELOADABLE if name in imported)


def _roots(code: str) -> frozenset[str]:
    """The packages outside Python that a text imports."""
    return imported(code) - sys.stdlib_module_names - {""}


def imported(code: str) -> frozenset[str]:
    """The packages and modules that a text imports, by the first part of their names."""
    return frozenset(name.partition(".")[0] for name in imports(code))


@lru_cache(maxsize=4096)
def imports(code: str) -> frozenset[str]:
    """Dotted names that a text imports, or may, from a module; none where it does not parse."""
    nodes = readable_nodes(code)
    named: list[str] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            named += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            named += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.ImportFrom):
            named += [f".{alias.name}" for alias in node.names]
    return frozenset(named)


@dataclass(frozen=True)
class Bundle:
    """What of ours goes into one job."""

    modules: Mapping[str, str]
    sites: tuple[str, ...]
    opens_files: bool = True
    """Whether what runs there may open files."""


async def bundle(sandbox: Sandbox, own: tuple[str, ...], with_pytest: bool) -> Bundle:
    """What to ship where the user's folders of packages are `own`; the user's come first.

    Where no file can be opened, pytest is shipped as modules, from memory.
    """
    if not with_pytest:
        return Bundle(modules(), own)
    coming = Job("", modules=modules(), sites=own)
    if (await sandbox.isolation(coming)).level == "L2":
        texts = await asyncio.to_thread(pytest_in_memory)
        return Bundle({**texts, **modules(with_pytest=True)}, own, opens_files=False)
    return beside_pytest(own)


def beside_pytest(own: tuple[str, ...]) -> Bundle:
    """What to ship with pytest where files can be opened: the user's own, where there is one, since
    beside it every plugin would be loaded that lies in our folder."""
    if _has_pytest(own):
        return Bundle(modules(with_pytest=True), own)
    return Bundle(modules(with_pytest=True), (*own, pytest_site()))


def _has_pytest(sites: tuple[str, ...]) -> bool:
    return all(any(Path(one, name).is_dir() for one in sites) for name in _PYTEST)


def suite_surroundings(sites: tuple[str, ...], python: str, loopback: bool) -> Job:
    """What all jobs over a project's suite have in common before its files: a fork server that is
    begun for this one serves them. Our own pytest is at hand where there is no other."""
    has_it = python or _has_pytest(sites)
    return Job(
        "", modules=project_modules(), python=python, processes=True, loopback=loopback,
        sites=sites if has_it else tuple(dict.fromkeys((*sites, pytest_site()))),
    )


@cache
def pytest_in_memory() -> Mapping[str, str]:
    """The texts of all modules that `import pytest` loads from its folder of packages."""
    importlib.import_module("pytest")
    folder = Path(pytest_site())
    roots = ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments")
    texts = {}
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if name.partition(".")[0] in roots and file.endswith(".py"):
            text = Path(file).read_text("utf-8")
            if Path(file).name == "__init__.py":
                # pytest asks where its packages lie, to leave itself out of tracebacks.
                text += f"\n__file__ = {str(folder / name.replace('.', '/') / '__init__.py')!r}\n"
            texts[name] = text
    return texts
