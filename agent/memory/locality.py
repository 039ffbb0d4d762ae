"""Whether one program is the other with a small edit, counted in words, so that it works for
programs that do not parse."""

from __future__ import annotations

import keyword
import re
from collections import Counter

LEAST_KEPT = 0.6
MOST_BROUGHT = 16
MOST_VALUES = 3

COMPUTING = frozenset({
    "abs", "all", "any", "bool", "dict", "divmod", "enumerate", "float", "frozenset", "int", "len",
    "list", "max", "min", "pow", "range", "reversed", "round", "set", "sorted", "str", "sum",
    "tuple", "zip",
})
_REACHING_OUT = frozenset({"import", "global", "nonlocal", "async", "await"})
_NAME = re.compile(r"\b[^\W\d]\w*")
_WORD = re.compile(r"\w+")
_VALUE = re.compile(r"\b\d[\w.]*|'[^'\n]+'|\"[^\"\n]+\"")


def is_local(before: str, after: str) -> bool:
    """Whether `after` is `before` with a small edit."""
    words, others = Counter(_WORD.findall(before)), Counter(_WORD.findall(after))
    kept = (words & others).total()
    if kept < LEAST_KEPT * words.total() or (others - words).total() > MOST_BROUGHT:
        return False
    values = Counter(_VALUE.findall(after)) - Counter(_VALUE.findall(before))
    return values.total() <= MOST_VALUES


def brings_no_names(before: str, after: str) -> bool:
    """Whether an edit uses only the program's own names, keywords and computing builtins."""
    brought = {*_NAME.findall(after)} - {*_NAME.findall(before)}
    return brought <= COMPUTING | {*keyword.kwlist} - _REACHING_OUT
