"""What a program may import: its own files before Python's, and no package that is only ours.

A program's own `queue.py` comes before Python's, also where this process has loaded Python's
already. Only what runs every jail stays: be the program called json.py, it is not imported by
that name.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

_STANDING = """
    __future__ _abc _ast _codecs _collections _collections_abc _ctypes _frozen_importlib
    _frozen_importlib_external _functools _imp _io _json _operator _signal _sitebuiltins _sre _stat
    _thread _warnings _weakref _weakrefset abc ast builtins codecs collections contextlib copyreg
    encodings enum errno functools genericpath importlib io itertools json keyword marshal math
    operator os posix posixpath re reprlib resource signal stat sys threading time types warnings
    zipimport
"""
STANDING = sys.stdlib_module_names & {*_STANDING.split()}
"""Modules of Python that no program of a jail runs without."""


def give_way(paths: Iterable[str]) -> None:
    """Forgets loaded modules of Python whose names the program's files, by path, have."""
    for path in paths:
        root = path.partition("/")[0].removesuffix(".py")
        if root in sys.modules and root in sys.stdlib_module_names and root not in STANDING:
            for name in [*sys.modules]:
                if name == root or name.startswith(f"{root}."):
                    del sys.modules[name]


def forget_runners() -> None:
    """Forgets pytest where the interpreter has loaded it: a program must not tell by it that it is
    tested. One that imports it loads its own."""
    for name in [*sys.modules]:
        if name.partition(".")[0] in ("pytest", "_pytest", "pluggy", "iniconfig"):
            del sys.modules[name]


def hide_last_site() -> None:
    """Takes away the last folder of packages, which the program was not given, and what was
    loaded from it."""
    if not sys.path:
        return  # nothing is imported from folders here
    inside = f"{sys.path.pop()}/"
    for name, module in [*sys.modules.items()]:
        if str(getattr(module, "__file__", None)).startswith(inside):
            del sys.modules[name]
