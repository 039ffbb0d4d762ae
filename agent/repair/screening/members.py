"""What built-in types and modules of the standard library have, by the words of an exception.

The search decides what to try and looks at nothing itself: of what it would have to import, it is
told the names. They are those of the interpreter that runs here, whichever version it is.
"""

from __future__ import annotations

import builtins
import collections
import datetime
import importlib
import re

_MODULES = frozenset("""
    bisect collections copy datetime functools heapq itertools json math operator os random re
    statistics string sys time
""".split())
_OF_TYPES = (builtins, collections, datetime)
_TYPE = re.compile(r"'(?:\w+\.)*(\w+)' object has no attribute")
_MODULE = re.compile(r"^module '(\w+)' has no attribute|cannot import name '\w+' from '(\w+)'")


def members(message: str) -> tuple[str, ...]:
    """Public names of the type or module in which an exception missed one; none of any other."""
    owner: object = None
    if found := _MODULE.search(message):
        name = found[1] or found[2]
        owner = importlib.import_module(name) if name in _MODULES else None
    elif found := _TYPE.search(message):
        named = [getattr(module, found[1], None) for module in _OF_TYPES]
        owner = next((one for one in named if isinstance(one, type)), None)
    return () if owner is None else tuple(one for one in dir(owner) if not one.startswith("_"))
