"""How near a wrong answer is to the right one, and a short name for what a candidate did.

A test that still fails tells a search little; that it fails less tells it where to go on.
Nothing here may run a candidate's own code: only plain values are looked into.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

from agent.core.trees import literal_source

NUMBERS = (bool, int, float)
SEQUENCES = (str, bytes, list, tuple)
_ATOMS = (type(None), bool, int, float, complex, str, bytes)
LONGEST = 400
"""Elements, or characters, that are looked at."""
MOST = 20_000
"""Elements of a container that are shown."""
OTHER_TYPE, SAME_TYPE = 0.1, 0.2


def nearness(got: Any, expected: Any) -> float:
    """0.1 for a value of another type, up to 0.95 for one that hardly differs; 1 is never given,
    since the answer was wrong."""
    kind = type(expected)
    if type(got) in NUMBERS and kind in NUMBERS:
        if bool in (type(got), kind):
            return SAME_TYPE if type(got) is kind else OTHER_TYPE
        return _numbers(float_of(got), float_of(expected))
    if type(got) is not kind:
        return OTHER_TYPE
    if kind in SEQUENCES:
        return SAME_TYPE + 0.75 * _sequences(got[:LONGEST], expected[:LONGEST])
    if kind in (set, frozenset, dict):
        return SAME_TYPE + 0.75 * _members(got, expected)
    return SAME_TYPE


def float_of(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _numbers(got: float, expected: float) -> float:
    distance = abs(got - expected)
    if not math.isfinite(distance):
        return SAME_TYPE
    return SAME_TYPE + 0.6 / (1.0 + math.log1p(distance))


def _sequences(got: Any, expected: Any) -> float:
    """The share of equal elements at both ends, of the longer one."""
    most = max(len(got), len(expected))
    least = min(len(got), len(expected))
    if not most:
        return 0.0
    first = 0
    while first < least and alike(got[first], expected[first]):
        first += 1
    last = 0
    while last < least - first and alike(got[-1 - last], expected[-1 - last]):
        last += 1
    return (first + last) / (most + 1)


def _members(got: Any, expected: Any) -> float:
    if len(got) > LONGEST or len(expected) > LONGEST or not (
        all(type(one) in _ATOMS for one in got) and all(type(one) in _ATOMS for one in expected)
    ):
        return 0.0
    if isinstance(expected, dict):
        common = sum(key in got and alike(got[key], value) for key, value in expected.items())
    else:
        common = len(got & expected)
    return float(common / (max(len(got), len(expected)) + 1))


def alike(one: Any, other: Any) -> bool:
    """Equal plain values; whatever else they are, they are not known to be alike."""
    return is_plain(one) and is_plain(other) and bool(one == other)


def is_plain(value: Any, depth: int = 4, longest: int = LONGEST) -> bool:
    """Whether a value is built in through and through, so that comparing runs no foreign code."""
    kind = type(value)
    if kind in _ATOMS:
        return True
    if depth == 0 or kind not in (list, tuple, set, frozenset, dict) or len(value) > longest:
        return False
    inner = depth - 1, longest
    if kind is dict:
        return all(is_plain(k, *inner) and is_plain(v, *inner) for k, v in value.items())
    return all(is_plain(one, *inner) for one in value)


def described(value: Any) -> str:
    """A plain value in words that are the same in every process, else the name of its type.

    Sets are sorted; integers too long to be printed are shown by their length. What is too long to
    be shown whole ends in a digest of all of it, so other values differ.
    """
    if not is_plain(value, longest=MOST):
        return f"<{type(value).__name__}>"
    text = literal_source(value, _atom)
    if len(text) <= LONGEST:
        return text
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    return f"{text[:LONGEST]}... {digest}"


def _atom(value: Any) -> str:
    if type(value) is int and value.bit_length() > 2_000:
        return f"<an integer of {value.bit_length()} bits>"
    return repr(value)
