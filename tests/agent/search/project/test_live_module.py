"""A loaded module is switched to other texts; existing references see the change."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.search.project.programs.live_module import CannotSwitch, LiveModule

PROGRAM = '''\
"""A shop."""
import dataclasses
import enum
import functools

LIMIT = 3
PRICES = {"tea": 4, "milk": 2}
_HANDLERS = {}


def handler(name):
    def register(function):
        _HANDLERS[name] = function
        return function
    return register


def traced(function):
    @functools.wraps(function)
    def inner(*args):
        return ("traced", function(*args))
    return inner


@handler("double")
def double(value):
    return value + value


@traced
def triple(value, times=3):
    return value * times


@functools.lru_cache
def cached(value):
    return value + LIMIT


def counter(start):
    def step(by):
        return start + by
    return step


class Shelf:
    depth = 2

    def __init__(self, items):
        self.items = items

    def total(self):
        return sum(PRICES[one] for one in self.items)

    @property
    def count(self):
        return len(self.items)

    @classmethod
    def empty(cls):
        return cls([])

    @staticmethod
    def name():
        return "shelf"


class Wide(Shelf):
    def total(self):
        return super().total() * 2


@dataclasses.dataclass
class Point:
    x: int = 0

    def moved(self, by):
        return Point(self.x + by)


class Side(enum.Enum):
    LEFT = 1


class Broken(Exception):
    pass


class Unknown(KeyError):
    pass


if LIMIT:
    def under(value):
        return value < LIMIT
'''


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[types.ModuleType]:
    (tmp_path / "shop_to_change.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("shop_to_change")
    del sys.modules["shop_to_change"]


@pytest.fixture
def live(shop: types.ModuleType) -> LiveModule:
    assert shop.__file__
    return LiveModule(shop.__file__, PROGRAM, shop, str(Path(shop.__file__).parent))


def test_classes_of_other_objects_are_not_read(shop: types.ModuleType) -> None:
    class Deprecated:
        def __getattribute__(self, name: str) -> object:
            raise FutureWarning(f"{name} is deprecated")

    kept = Deprecated()
    live = LiveModule(str(shop.__file__), PROGRAM, shop, str(Path(str(shop.__file__)).parent))
    live.switch_to(PROGRAM.replace("return value + value", "return value * 5"))
    assert shop._HANDLERS["double"](2) == 10
    assert type(kept) is Deprecated


CHANGES = {
    "a function that is registered": (
        "return value + value", "return value * 5", "module._HANDLERS['double'](2)", 4, 10
    ),
    "a function under a decorator": (
        "return value * times", "return value - times", "module.triple(2)",
        ("traced", 6), ("traced", -1),
    ),
    "a default below a decorator": (
        "times=3", "times=4", "module.triple(2)", ("traced", 6), ("traced", 8)
    ),
    "a cached function": ("return value + LIMIT", "return value", "module.cached(1)", 4, 1),
    "a function that was made by another": (
        "return start + by", "return start - by", "held['step'](1)", 11, 9
    ),
    "a method of an object that is there": (
        "return sum(", "return -sum(", "held['shelf'].total()", 4, -4
    ),
    "a method that calls super": (
        "super().total() * 2", "super().total() * 3", "held['wide'].total()", 8, 12
    ),
    "a property": ("return len(self.items)", "return -1", "held['shelf'].count", 1, -1),
    "a class method": (
        "return cls([])", "return cls(['tea'])", "module.Shelf.empty().items", [], ["tea"]
    ),
    "a static method": (
        'return "shelf"', 'return "board"', "module.Shelf.name()", "shelf", "board"
    ),
    "an attribute of a class": ("depth = 2", "depth = 5", "held['shelf'].depth", 2, 5),
    "a table that others hold": ('"tea": 4', '"tea": 9', "held['prices']['tea']", 4, 9),
    "an entry more": ('"milk": 2}', '"milk": 2, "jam": 7}', "held['prices'].get('jam')", None, 7),
    "a number at the top": ("LIMIT = 3", "LIMIT = 8", "module.under(5)", False, True),
    "a method of a dataclass": (
        "Point(self.x + by)", "Point(self.x - by)", "held['point'].moved(1).x", 3, 1
    ),
    "a function below an if": ("value < LIMIT", "value > LIMIT", "module.under(1)", True, False),
    "a new method": (
        "    @staticmethod\n", "    def half(self):\n        return 0.5\n\n    @staticmethod\n",
        "getattr(held['wide'], 'half', lambda: None)()", None, 0.5,
    ),
}


def test_existing_references_see_each_change_and_its_undoing(shop: types.ModuleType) -> None:
    names = {"module": shop, "held": {
        "step": shop.counter(10), "shelf": shop.Shelf(["tea"]), "wide": shop.Wide(["tea"]),
        "prices": shop.PRICES, "point": shop.Point(2),
    }}
    assert shop.__file__
    live = LiveModule(shop.__file__, PROGRAM, shop, str(Path(shop.__file__).parent))
    for name, (before, after, expression, old, new) in CHANGES.items():
        assert PROGRAM.count(before) == 1, name
        assert eval(expression, names) == old, name
        live.switch_to(PROGRAM.replace(before, after))
        assert eval(expression, names) == new, name
        live.switch_to(PROGRAM)
        assert eval(expression, names) == old, name


def test_a_text_that_fails_is_undone(shop: types.ModuleType, live: LiveModule) -> None:
    with pytest.raises(ZeroDivisionError):
        live.switch_to(PROGRAM.replace('PRICES = {"tea": 4', 'PRICES = {"tea": 1 / 0'))
    with pytest.raises(SyntaxError):
        live.switch_to(PROGRAM.replace("return value + value", "return value +"))
    live.switch_to(PROGRAM)
    assert (shop.PRICES, shop.double(2)) == ({"tea": 4, "milk": 2}, 4)


def test_traceback_lines_are_those_of_the_file(shop: types.ModuleType, live: LiveModule) -> None:
    live.switch_to(PROGRAM.replace("return sum(", "assert 0; return sum("))
    with pytest.raises(AssertionError) as raised:
        shop.Shelf([]).total()
    line = PROGRAM[: PROGRAM.index("return sum(")].count("\n") + 1
    assert raised.traceback[-1].lineno + 1 == line


def test_members_of_an_enumeration_cannot_be_switched(live: LiveModule) -> None:
    with pytest.raises(CannotSwitch):
        live.switch_to(PROGRAM.replace("LEFT = 1", "LEFT = 4"))


def test_a_class_with_new_bases_is_replaced(shop: types.ModuleType, live: LiveModule) -> None:
    live.switch_to(PROGRAM.replace("class Unknown(KeyError)", "class Unknown(Broken, KeyError)"))
    assert issubclass(shop.Unknown, shop.Broken)
    live.switch_to(PROGRAM)
    assert not issubclass(shop.Unknown, shop.Broken)
