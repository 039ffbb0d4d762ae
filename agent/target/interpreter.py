"""Which Python's packages a program or a project's suite uses, and with which pytest.

No program of the repository's own is started for that: of an environment in its tree its settings
are read, and asked is the interpreter that it was made from, which lies elsewhere.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import site
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from agent.target.errors import BadInput
from sandbox.types import SandboxError
from sandbox.workspaces import python_at

OLDEST_PYTEST = (6, 0)
"""The first that reads its settings from pyproject.toml; the oldest that ours was tried with."""
OURS = "this one"
ENVIRONMENTS = (".venv", "venv", "env")
"""Folders of a project that hold its environment."""
ASKED_S = 20.0
_PYTHON = re.compile(r"python[\d.]*(exe)?$")
_ASK = """
import json, site, sysconfig
paths = sysconfig.get_paths()
print(json.dumps([paths["purelib"], paths["platlib"], *(
    [site.getusersitepackages()] if site.ENABLE_USER_SITE else []), *site.getsitepackages()]))
"""


@dataclass(frozen=True)
class Interpreter:
    """The Python whose packages a project uses."""

    executable: Path
    version: tuple[int, int]
    sites: tuple[str, ...]
    """Its folders of packages."""
    how: str
    """How it was found, in words."""
    python: str = ""
    """What jobs are told to run on: the file that belongs to no environment; empty is ours."""

    @property
    def words(self) -> str:
        """For people."""
        return f"Python {self.version[0]}.{self.version[1]} ({self.how})"


def find_interpreter(root: Path, asked: str = "") -> Interpreter:
    """The Python of the project: the one that was asked for, that of the active environment, of
    the project's own, or else the one that runs this.

    Raises `BadInput` for one that does not answer or is too old.
    """
    executable, how = _executable(root, asked)
    if executable is None:
        return Interpreter(Path(sys.executable), sys.version_info[:2], own_sites(), OURS)
    trusted = bool(asked) or not executable.is_relative_to(root)
    try:
        return _interpreter(root, executable, how, trusted)
    except (OSError, subprocess.SubprocessError, ValueError, SandboxError) as error:
        raise BadInput(f"the Python of {how} cannot be used: {error}. {_OTHER}") from error


_OTHER = "Name another with --python PATH"


def _interpreter(root: Path, executable: Path, how: str, trusted: bool) -> Interpreter:
    folder = executable.parent.parent
    settings = _environment(folder)
    base = _base(executable, settings)
    if not trusted and (base.is_relative_to(os.path.realpath(root)) or not _is_python(base)):
        raise ValueError(f"{executable} is a program of the repository itself, and none is started")
    version, python = sys.version_info[:2], ""
    if str(base) != _our_base():
        seen = python_at(str(base))
        version, python = seen.version, seen.executable
    if not settings:
        return Interpreter(executable, version, _asked_sites(executable), how, python)
    own = [
        str(folder / lib / f"python{version[0]}.{version[1]}" / "site-packages")
        for lib in ("lib", "lib64")
    ]
    sites = _present(own)
    if not sites:
        raise ValueError(
            f"{folder} holds no packages for Python {version[0]}.{version[1]}, which it now leads "
            "to; make the environment anew"
        )
    if settings.get("include-system-site-packages", "").lower() == "true":
        sites = _present([*sites, *_asked_sites(base)])
    return Interpreter(executable, version, sites, how, python)


def refuse_without_pytest(found: Interpreter) -> None:
    """Raises `BadInput` where it has no pytest that will do. Ours stands in for one only where the
    interpreter is our own."""
    if found.how == OURS:
        return
    version = _pytest_version(found.sites)
    if version is None:
        raise BadInput(
            f"there is no pytest among the packages of {found.words}, {found.executable}: install "
            f"what the project's tests need there. {_OTHER}"
        )
    numbers = tuple(int(one) for one in re.findall(r"\d+", version)[:2])
    if numbers and numbers < OLDEST_PYTEST:
        least = ".".join(map(str, OLDEST_PYTEST))
        raise BadInput(
            f"{found.words} has pytest {version}, and {least} or newer is needed. {_OTHER}"
        )


def _pytest_version(sites: tuple[str, ...]) -> str | None:
    """What the installed pytest calls itself; empty where it does not say, `None` for none."""
    for folder in sites:
        if os.path.isdir(os.path.join(folder, "pytest")):
            names = [one for one in os.listdir(folder) if re.match(r"pytest-\d.*-info$", one)]
            return names[0].split("-")[1].removesuffix(".dist") if names else ""
    return None


def _executable(root: Path, asked: str) -> tuple[Path | None, str]:
    if asked:
        return _named(asked), "--python"
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        active = os.environ.get(variable, "")
        if active and (found := _python_in(Path(active))):
            return found, f"the active environment {active}"
    for name in ENVIRONMENTS:
        if found := _python_in(root / name):
            return found, name
    return None, ""


def _named(asked: str) -> Path:
    """What `--python` means: a file, a folder of an environment, or a command."""
    path = Path(os.path.abspath(asked))
    if path.is_dir() and (found := _python_in(path)):
        return found
    command = shutil.which(asked) if os.sep not in asked and not path.exists() else None
    return Path(command) if command else path


def _python_in(folder: Path) -> Path | None:
    found = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    return found if found.exists() else None


def _environment(folder: Path) -> dict[str, str]:
    """The settings of a virtual environment; none where a folder is no such."""
    try:
        text = (folder / "pyvenv.cfg").read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    pairs = (line.partition("=") for line in text.splitlines())
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _base(executable: Path, settings: dict[str, str]) -> Path:
    """The interpreter that an environment was made from; one without an environment itself."""
    base = Path(os.path.realpath(executable))
    home = settings.get("home", "")
    if home and base.is_relative_to(os.path.realpath(executable.parent.parent)):
        copied = base.name  # the environment holds a copy
        base = Path(os.path.realpath(Path(home, copied)))
    return base


def _is_python(base: Path) -> bool:
    return _PYTHON.match(base.name) is not None


@functools.cache
def _our_base() -> str:
    return os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)


def _asked_sites(executable: Path) -> tuple[str, ...]:
    said = subprocess.run(
        [executable, "-c", _ASK], capture_output=True, text=True, timeout=ASKED_S, check=True,
        cwd=os.sep,
    ).stdout
    return _present(json.loads(said))


def own_sites() -> tuple[str, ...]:
    """The folders of packages of the Python that runs this."""
    paths = sysconfig.get_paths()
    user = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    return _present([paths["purelib"], paths["platlib"], *user])


def _present(folders: list[str]) -> tuple[str, ...]:
    """Those that are there, each once."""
    found: dict[str, str] = {}
    for one in folders:
        if os.path.isdir(one):
            found.setdefault(os.path.realpath(one), one)
    return tuple(found.values())
