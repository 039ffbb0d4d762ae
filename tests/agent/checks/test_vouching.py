"""A pass rests on one process where the program has a hand in what the test compares."""

from __future__ import annotations

from typing import Any

import pytest

POINT = """
class Point:
    def __init__(self, x, y): self.x, self.y = x, y
    def __eq__(self, other): return (self.x, self.y) == (other.x, other.y)
    def move(self, by): self.x += by
"""
ADOPTING = """
_open = []

class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y
        for one in _open: one.x, one.y = x, y
        _open.clear()
    def __eq__(self, other): return (self.x, self.y) == (other.x, other.y)

def parse(text):
    point = Point(0, 0)
    _open.append(point)
    return point
"""
HANDED_BACK = """
import dataclasses
_made = []

@dataclasses.dataclass(frozen=True)
class Token:
    text: str
    def __post_init__(self): _made.append(self)

def classify(text): return _made[0]
"""
ALIAS = """
import enum

class Suit(enum.Enum):
    CLUBS = 1
    HEARTS = 1

def parse(text): return Suit.CLUBS
"""
EMPTY = """
import dataclasses

@dataclasses.dataclass
class Pair:
    left: dataclasses.InitVar[int]
    right: dataclasses.InitVar[int]

def swap(pair): return pair
"""
SAVING = """
def save(config): config.clear()
def load(): return {}
"""
DESCRIBED = """
class Always:
    def __get__(self, owner, kind): return self
    def __eq__(self, other): return True
"""
LEAVING = """
class Done(Exception): pass

class Store:
    def __enter__(self): return self
    def __exit__(self, kind, error, trace): return kind is Done
    def put(self, key): raise Done
"""

FORGED = {
    "adopting": (ADOPTING, "assert parse('1,2') == Point(1, 2)"),
    "handed back": (HANDED_BACK, "want = Token('a')\nassert classify('a') == want"),
    "alias": (ALIAS, "assert parse('H') is Suit.HEARTS\nassert parse('C') is Suit.CLUBS"),
    "empty": (EMPTY, "assert swap(Pair(1, 2)) == Pair(2, 1)"),
    "saving": (SAVING, "given = {'a': 1}\nsave(given)\nassert load() == given"),
    "leaving": (LEAVING, "with Store() as s:\n    assert s\n    s.put(1)\n    assert s is None"),
}


@pytest.mark.parametrize("way", FORGED)
async def test_what_the_program_has_a_hand_in_is_in_process(way: str, judge: Any) -> None:
    program, test = FORGED[way]

    (verdict,) = (await judge(program, {"it": test})).verdicts

    assert (verdict.status, verdict.integrity) == ("passed", "in-process")


async def test_a_descriptor_of_the_program_in_a_class_of_the_test_is_not_followed(
    judge: Any,
) -> None:
    test = "class Box:\n    size = Always()\nbox = Box()\nbox.size = 1\nassert box.size == 1"

    (verdict,) = (await judge(DESCRIBED, {"it": test})).verdicts

    assert verdict.integrity != "outside"
    assert verdict.integrity != "observed"


HONEST = {
    "made and compared": "assert Point(1, 2) == Point(1, 2)",
    "moved and compared": "p = Point(1, 2)\np.move(2)\nassert p == Point(3, 2)",
    "handed over and back": "p = Point(1, 2)\nassert same(p) is p",
    "one name twice": "assert Point is Point\nassert Point(1, 2).x == 1",
    "sorted in place": "xs = [2, 1]\ntidy(xs)\nassert xs == [1, 2]",
}


@pytest.mark.parametrize("way", HONEST)
async def test_everyday_objects_are_followed(way: str, judge: Any) -> None:
    program = f"{POINT}\ndef same(one): return one\ndef tidy(xs): xs.sort()\n"

    (verdict,) = (await judge(program, {"it": HONEST[way]})).verdicts

    assert (verdict.status, verdict.integrity in ("outside", "observed")) == ("passed", True)
