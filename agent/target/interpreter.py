"""Finds the Python interpreter, packages and pytest of a program or project.

No executable of the repository itself is started: for an environment in its tree, its settings are
read, and the interpreter that created it, which is outside the tree, is run instead.
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
"""The first version that reads pyproject.toml, and the oldest that was tried."""
OURS = "this one"
ENVIRONMENTS = (".venv", "venv", "env")
"""Folders of a project that may contain its environment."""
SITES_S = 20.0
_PYTHON = re.compile(r"python[\d.]*(exe)?$")
_PRINT_SITES = """
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
    package_folders: tuple[str, ...]
    how: str
    python: str = ""
    """The path of its base interpreter, on which jobs run; empty for the current one."""

    @property
    def words(self) -> str:
        return f"Python {self.version[0]}.{self.version[1]} ({self.how})"


def find_interpreter(root: Path, asked: str = "") -> Interpreter:
    """The Python of a project.

    It is the requested one, that of the active environment, that of the project's environment, or
    the current one, in this order.

    Raises:
        BadInput: It does not run or is too old.
    """
    executable, how = _executable(root, asked)
    if executable is None:
        return Interpreter(Path(sys.executable), sys.version_info[:2], site_folders(), OURS)
    trusted = bool(asked) or not executable.is_relative_to(root)
    try:
        return _interpreter(root, executable, how, trusted)
    except (OSError, subprocess.SubprocessError, ValueError, SandboxError) as error:
        raise BadInput(f"The Python of {how} cannot be used: {error}. {_OTHER}") from error


_OTHER = "Choose another one with --python PATH."


def _interpreter(root: Path, executable: Path, how: str, trusted: bool) -> Interpreter:
    folder = executable.parent.parent
    settings = _environment(folder)
    base = _base(executable, settings)
    if not trusted and (base.is_relative_to(os.path.realpath(root)) or not _is_python(base)):
        raise ValueError(f"{executable} belongs to the repository itself and is not started")
    version, python = sys.version_info[:2], ""
    if str(base) != _our_base():
        found = python_at(str(base))
        version, python = found.version, found.executable
    if not settings:
        return Interpreter(executable, version, _sites_of(executable), how, python)
    own = [
        str(folder / lib / f"python{version[0]}.{version[1]}" / "site-packages")
        for lib in ("lib", "lib64")
    ]
    package_folders = _present(own)
    if not package_folders:
        raise ValueError(
            f"{folder} has no packages for Python {version[0]}.{version[1]}, which it now refers "
            "to; create the environment again"
        )
    if settings.get("include-system-site-packages", "").lower() == "true":
        package_folders = _present([*package_folders, *_sites_of(base)])
    return Interpreter(executable, version, package_folders, how, python)


def refuse_without_pytest(found: Interpreter, instead: str = "") -> None:
    """Raises `BadInput` if an interpreter other than the current one has no usable pytest.

    Args:
        instead: A command that runs the tests without pytest.
    """
    if found.how == OURS:
        return
    version = _pytest_version(found.package_folders)
    if version is None:
        raise BadInput(
            f"{found.words}, {found.executable}, has no pytest. Install the requirements of the "
            f"project's tests there. {_OTHER}"
            f"{f' To run the tests without it: --test-cmd {instead!r}.' if instead else ''}"
        )
    numbers = tuple(int(one) for one in re.findall(r"\d+", version)[:2])
    if numbers and numbers < OLDEST_PYTEST:
        least = ".".join(map(str, OLDEST_PYTEST))
        raise BadInput(
            f"{found.words} has pytest {version}, but {least} or newer is needed. {_OTHER}"
        )


def _pytest_version(package_folders: tuple[str, ...]) -> str | None:
    """The version of the installed pytest; empty if unknown, `None` if there is none."""
    for folder in package_folders:
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
    """The interpreter of `--python`: a file, the folder of an environment, or a command."""
    path = Path(os.path.abspath(asked))
    if path.is_dir() and (found := _python_in(path)):
        return found
    command = shutil.which(asked) if os.sep not in asked and not path.exists() else None
    return Path(command) if command else path


def _python_in(folder: Path) -> Path | None:
    found = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    return found if found.exists() else None


def _environment(folder: Path) -> dict[str, str]:
    """The settings of a virtual environment; empty for other folders."""
    try:
        text = (folder / "pyvenv.cfg").read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    pairs = (line.partition("=") for line in text.splitlines())
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _base(executable: Path, settings: dict[str, str]) -> Path:
    """The interpreter from which an environment was created, or the interpreter itself."""
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


def _sites_of(executable: Path) -> tuple[str, ...]:
    output = subprocess.run(
        [executable, "-c", _PRINT_SITES], capture_output=True, text=True, timeout=SITES_S,
        check=True, cwd=os.sep,
    ).stdout
    return _present(json.loads(output))


def site_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    user = [site.getusersitepackages()] if site.ENABLE_USER_SITE else []
    return _present([paths["purelib"], paths["platlib"], *user])


def _present(folders: list[str]) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for one in folders:
        if os.path.isdir(one):
            found.setdefault(os.path.realpath(one), one)
    return tuple(found.values())
