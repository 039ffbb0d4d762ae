"""The names that a type or module has, for an exception that reports a missing name.

The search itself imports nothing, so these names are its input. Those of the standard library come
from the running interpreter, those of the program's own modules from its files.
"""

from __future__ import annotations

import builtins
import collections
import datetime
import importlib
import re
from collections.abc import Mapping, Sequence

from agent.target.environment import installed_modules, modules_in
from agent.target.parsing import toplevel_names

_MODULES = frozenset("""
    bisect collections copy datetime functools heapq itertools json math operator os random re
    statistics string sys time
""".split())
_OF_TYPES = (builtins, collections, datetime)
_TYPE = re.compile(r"'(?:\w+\.)*(\w+)' object has no attribute")
_MODULE = re.compile(r"^module '(\w+)' has no attribute|cannot import name '\w+' from '(\w+)'")
_NO_MODULE = re.compile(r"^No module named '")
_FROM = re.compile(r"cannot import name '\w+' from '([\w.]+)'")


def importable(
    message: str, files: Mapping[str, str], package_folders: Sequence[str] = ()
) -> tuple[str, ...]:
    """What a failed import could have named: modules, or names of a module; else empty.

    Args:
        message: The exception's text.
        files: The path of each file of the program to its text.
        package_folders: Folders of installed packages.
    """
    if _NO_MODULE.search(message):
        return tuple(sorted(modules_in(files) | installed_modules(package_folders)))
    if found := _FROM.search(message):
        texts = [text for path, text in files.items() if found[1] in modules_in([path])]
        return tuple(sorted(frozenset().union(*map(toplevel_names, texts))))
    return ()


def members(message: str) -> tuple[str, ...]:
    """The public names of the built-in type or module that the message is about."""
    owner: object = None
    if found := _MODULE.search(message):
        name = found[1] or found[2]
        owner = importlib.import_module(name) if name in _MODULES else None
    elif found := _TYPE.search(message):
        named = [getattr(module, found[1], None) for module in _OF_TYPES]
        owner = next((one for one in named if isinstance(one, type)), None)
    return () if owner is None else tuple(one for one in dir(owner) if not one.startswith("_"))
