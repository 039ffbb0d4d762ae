"""The names that a type or module has, for an exception that reports a missing name.

The search itself imports nothing, so it is given these names. Those of the standard library are of
the running interpreter, those of the program's own modules are read from its files.
"""

from __future__ import annotations

import builtins
import collections
import datetime
import importlib
import re

from agent.core.domain import Solution, Task
from agent.target.environment import modules_in, modules_of
from agent.target.parsing import visible_names

_MODULES = frozenset("""
    bisect collections copy datetime functools heapq itertools json math operator os random re
    statistics string sys time
""".split())
_OF_TYPES = (builtins, collections, datetime)
_TYPE = re.compile(r"'(?:\w+\.)*(\w+)' object has no attribute")
_MODULE = re.compile(r"^module '(\w+)' has no attribute|cannot import name '\w+' from '(\w+)'")
_NO_MODULE = re.compile(r"^No module named '")
_FROM = re.compile(r"cannot import name '\w+' from '([\w.]+)'")


def importable(message: str, task: Task, solution: Solution) -> tuple[str, ...]:
    """The modules, or the names in a module of the program, among which one was not found."""
    if _NO_MODULE.search(message):
        return tuple(sorted(modules_of(task)))
    if found := _FROM.search(message):
        files = (*task.support, *solution.files)
        texts = [one.text for one in files if found[1] in modules_in([one.path])]
        return tuple(sorted(frozenset().union(*map(visible_names, texts))))
    return ()


def members(message: str) -> tuple[str, ...]:
    """The public names of the built-in type or module in which one was not found."""
    owner: object = None
    if found := _MODULE.search(message):
        name = found[1] or found[2]
        owner = importlib.import_module(name) if name in _MODULES else None
    elif found := _TYPE.search(message):
        named = [getattr(module, found[1], None) for module in _OF_TYPES]
        owner = next((one for one in named if isinstance(one, type)), None)
    return () if owner is None else tuple(one for one in dir(owner) if not one.startswith("_"))
