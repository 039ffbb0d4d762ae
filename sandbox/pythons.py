"""Other interpreters than the host's own: what one says of itself, asked once."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from dataclasses import dataclass

from sandbox.types import SandboxError

OLDEST = (3, 10)
"""The first with all that runs inside: `os.pidfd_open`, `str.removeprefix`, `ast.unparse`."""
_ASKED_S = 20.0
_ASK = """
import json, os, sys
print(json.dumps([
    list(sys.version_info[:2]), sys.executable, sys.base_prefix, os.path.dirname(os.__file__),
    getattr(sys, "platlibdir", "lib"),
]))
"""


@dataclass(frozen=True)
class Python:
    """An interpreter that jobs may run on."""

    executable: str
    """The file itself, which belongs to no virtual environment."""
    version: tuple[int, int]
    library: str
    """The folder of its standard library."""
    shared: str
    """The folder in which its own shared libraries lie, if it has any."""


@functools.cache
def python_at(path: str) -> Python:
    """What the interpreter at a path says of itself; raises `SandboxError` where it does not
    answer, or is too old."""
    try:
        said = subprocess.run(
            [path, "-I", "-S", "-c", _ASK], capture_output=True, text=True, timeout=_ASKED_S,
            check=True,
        ).stdout
        (major, minor), executable, prefix, library, platform = json.loads(said)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise SandboxError(f"the Python at {path} does not answer: {error}") from error
    if (major, minor) < OLDEST:
        raise SandboxError(
            f"the Python at {path} is {major}.{minor}; {OLDEST[0]}.{OLDEST[1]} or newer is needed"
        )
    # In an environment that was made with copies the file is no link to the one it came from.
    own = os.path.join(prefix, "bin", f"python{major}.{minor}")
    real = os.path.realpath(own if os.path.isfile(own) else executable)
    return Python(
        real, (major, minor), os.path.realpath(library), os.path.join(prefix, platform),
    )
