"""The similarity of a wrong result to the expected one, and short descriptions of values.

It shows a search which failing candidates make progress. No code of a candidate may run here, so
only values of built-in types are inspected.
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
"""Elements, or characters, that are compared."""
MOST = 20_000
"""The maximum number of elements of a container that is described."""
OTHER_TYPE, SAME_TYPE = 0.1, 0.2


def nearness(got: Any, expected: Any) -> float:
    """The similarity of a wrong result: 0.1 for another type, to 0.95 for nearly equal values."""
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
    """The number of equal elements at both ends by the length of the longer sequence."""
    least, most = sorted((len(got), len(expected)))
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
    """Whether both values are plain and equal."""
    return is_plain(one) and is_plain(other) and bool(one == other)


def is_plain(value: Any, depth: int = 4, longest: int = LONGEST) -> bool:
    """Whether a value and its parts have built-in types, so that comparing runs no foreign code."""
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
    """A description of a plain value that is the same in every process; else its type's name.

    Sets are sorted; integers too long to be printed are described by their length. A long
    description is cut and ends in a digest of all of it.
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
