"""Reads additional sandbox permissions of a project's tests from `[tool.heal]` in pyproject.toml.

A repository is not trusted: access to environment variables and folders of this machine is granted
only if the user who starts the run allows it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from agent.target.errors import BadInput

GRANTS: dict[str, str] = {
    "loopback": "true: a private loopback network for the tests",
    "timeout": "seconds that one test may take (120)",
    "environment": "names of environment variables that the tests may read",
    "read": "folders outside the project that the tests may read and import from",
}
MAX_TIMEOUT_S = 3_600.0
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NO_SOCKET = re.compile(r"PermissionError: \[Errno 13\] Permission denied(?!: ').*no network", re.S)
_NO_FILE = re.compile(r"Error: \[Errno \d+\] [\w ]+: '(/(?!jail/)[^']+)/[^'/]+'.*opens only ", re.S)
_NOT_FOUND = re.compile(r"KeyError: '([A-Za-z_][A-Za-z0-9_]*)'")


@dataclass(frozen=True)
class Grants:
    loopback: bool = False
    timeout_s: float = 0.0
    """0 for the default."""
    environment: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    """Absolute paths of folders."""

    @property
    def risky_words(self) -> str:
        """The granted access to variables and folders of this machine; empty if there is none."""
        variables = f"the variables {', '.join(self.environment)}" if self.environment else ""
        folders = f"the folders {', '.join(self.read)}" if self.read else ""
        return " and ".join(filter(None, (variables, folders)))

    @property
    def safe(self) -> Grants:
        """The permissions that need no consent: those without access to this machine."""
        return replace(self, environment=(), read=())


def grants_of(table: Mapping[str, object], root: Path) -> Grants:
    """The permissions in a project's table; raises `BadInput` for invalid ones."""
    unknown = sorted({*table} - {*GRANTS})
    if unknown:
        known = "; ".join(f"{name} ({words})" for name, words in GRANTS.items())
        raise BadInput(f"[tool.heal] has unknown settings: {', '.join(unknown)}. Known: {known}")
    loopback, timeout_s = table.get("loopback", False), table.get("timeout", 0)
    if not isinstance(loopback, bool):
        raise _bad("loopback", "true or false")
    seconds = isinstance(timeout_s, int | float) and not isinstance(timeout_s, bool)
    if not seconds or ("timeout" in table and not 0 < float(timeout_s) <= MAX_TIMEOUT_S):  # type: ignore[arg-type]
        raise _bad("timeout", f"seconds, at most {MAX_TIMEOUT_S:g}")
    names = _words(table, "environment", "names of variables")
    if not all(map(_NAME.fullmatch, names)):
        raise _bad("environment", "names of variables")
    folders = [_folder(one, root) for one in _words(table, "read", "folders")]
    return Grants(loopback, float(timeout_s), tuple(names), tuple(folders))  # type: ignore[arg-type]


def _words(table: Mapping[str, object], name: str, what: str) -> list[str]:
    found = table.get(name, [])
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise _bad(name, f"a list of {what}")
    return [str(one) for one in found]


def _folder(named: str, root: Path) -> str:
    folder = Path(os.path.realpath(root / Path(named).expanduser()))
    if not folder.is_dir():
        raise BadInput(f"[tool.heal] read: the folder {folder} does not exist")
    if Path(os.path.realpath(Path.home())).is_relative_to(folder):
        raise BadInput(
            f"[tool.heal] read: {folder} contains your whole home folder. Name a subfolder."
        )
    path = (folder, *folder.parents)
    closed = next((one for one in path if not one.stat().st_mode & 0o001), None)
    if os.geteuid() == 0 and closed is not None:
        raise BadInput(
            f"[tool.heal] read: other users cannot access {closed}, and as root the tests run as "
            "another user. Allow access (chmod o+rx), or do not run as root."
        )
    return str(folder)


def _bad(name: str, what: str) -> BadInput:
    return BadInput(f"[tool.heal] {name} must be {what}")


def hints(
    failures: Iterable[tuple[str, str]], given: Grants, here: Mapping[str, str]
) -> Iterator[str]:
    """Suggests settings for failing tests that lack a permission, each setting once.

    Args:
        failures: Name and message of each failing test.
        given: The permissions already granted.
        here: The environment variables of this machine.
    """
    suggested: set[str] = set()
    for name, message in failures:
        for setting, words in _missing(message, given, here):
            if setting not in suggested:
                suggested.add(setting)
                yield f"{name} {words}. Set `{setting}` in [tool.heal] of pyproject.toml."


def _missing(message: str, given: Grants, here: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    variable = _NOT_FOUND.search(message)
    if variable and variable[1] in here and variable[1] not in given.environment:
        yield f'environment = ["{variable[1]}"]', f"needs the variable {variable[1]}"
    if _NO_SOCKET.search(message) and not given.loopback:
        yield "loopback = true", "has no network, but can have a private one"
    outside = _NO_FILE.search(message)
    if outside and not any(f"{outside[1]}/".startswith(f"{one}/") for one in given.read):
        yield f'read = ["{outside[1]}"]', f"has no access to {outside[1]}"
