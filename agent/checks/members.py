"""What built-in types and modules of the standard library have, by the words of an exception.

The search decides what to try and looks at nothing itself: of what it would have to import, it is
told the names. They are those of the interpreter that runs here, whichever version it is.
"""

from __future__ import annotations

import bisect
import collections
import copy
import datetime
import functools
import heapq
import itertools
import json
import math
import operator
import os
import random
import re
import statistics
import string
import sys
import time

_MODULES = {
    module.__name__: module
    for module in (
        bisect, collections, copy, datetime, functools, heapq, itertools, json, math, operator, os,
        random, re, statistics, string, sys, time,
    )
}
_TYPES = {
    kind.__name__: kind
    for kind in (
        list, dict, set, str, int, float, tuple, bytes, bool, frozenset, collections.deque,
        collections.Counter, collections.defaultdict, datetime.datetime, datetime.date,
    )
}
_TYPE = re.compile(r"'(?:\w+\.)*(\w+)' object has no attribute")
_MODULE = re.compile(r"^module '(\w+)' has no attribute|cannot import name '\w+' from '(\w+)'")


def members(message: str) -> tuple[str, ...]:
    """Public names of the type or module in which an exception missed one; none of any other."""
    owner: object = None
    if found := _MODULE.search(message):
        owner = _MODULES.get(found[1] or found[2])
    elif found := _TYPE.search(message):
        owner = _TYPES.get(found[1])
    return () if owner is None else tuple(one for one in dir(owner) if not one.startswith("_"))
