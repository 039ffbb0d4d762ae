"""Pythons of other versions that lie on this machine."""

from __future__ import annotations

import functools
import shutil
import sys
from pathlib import Path

from sandbox.types import SandboxError
from sandbox.workspaces import OLDEST, python_at

_VERSIONS = Path.home() / ".pyenv/versions"


@functools.cache
def others() -> dict[tuple[int, int], str]:
    """Version to path, the oldest first, of those that jobs may run on."""
    found = {}
    for minor in range(OLDEST[1], 20):
        if minor == sys.version_info[1]:
            continue
        name = f"python3.{minor}"
        for path in (*_VERSIONS.glob(f"3.{minor}.*/bin/{name}"), shutil.which(name)):
            try:
                if path is not None:
                    found.setdefault(python_at(str(path)).version, str(path))
            except SandboxError:
                continue  # a name that pyenv gives to what is not chosen
    return found
