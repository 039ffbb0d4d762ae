"""Honest tests in the styles people write, each with a program that passes and one that fails."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True)
class Case:
    """A piece of a program, an edit that breaks it, and a test that must tell them apart."""

    name: str
    code: str
    right: str
    wrong: str
    test: str

    @property
    def good(self) -> str:
        return dedent(self.code).strip() + "\n"

    @property
    def bad(self) -> str:
        assert self.good.count(self.right) >= 1, self.name
        return self.good.replace(self.right, self.wrong)

    @property
    def test_code(self) -> str:
        return dedent(self.test).strip() + "\n"


HEADER = """\
import abc
import asyncio
import collections
import contextlib
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import itertools
import json
import math
import os
import pathlib
import random
import re
import sys
import threading
import time
import typing
import uuid
"""

CASES: tuple[Case, ...] = (
    Case("equal", "def plus(a, b):\n    return a + b", "a + b", "a - b", "assert plus(2, 3) == 5"),
    Case(
        "not_equal_and_membership",
        "def evens(n):\n    return [x for x in range(n) if x % 2 == 0]", "== 0", "== 1",
        "assert evens(5) != [] and 4 in evens(5)\nassert 3 not in evens(9)",
    ),
    Case(
        "isinstance_and_length",
        "def words(text):\n    return text.split()", "text.split()", "tuple(text)",
        "r = words('a b c')\nassert isinstance(r, list) and len(r) == 3",
    ),
    Case(
        "all_in_a_generator", "def doubled(n):\n    return n * 2", "n * 2", "n ** 2",
        "assert all(doubled(i) == i + i for i in range(6))",
    ),
    Case(
        "closeness", "def ratio(a, b):\n    return a / b", "a / b", "a // b",
        """
        import math
        assert abs(ratio(1, 3) - 0.333333) < 1e-5
        assert math.isclose(ratio(2, 3), 2 / 3)
        """,
    ),
    Case(
        "approx", "def mean(xs):\n    return sum(xs) / len(xs)", "len(xs)", "(len(xs) + 1)",
        """
        import pytest
        assert mean([0.1, 0.2]) == pytest.approx(0.15)
        assert [mean([1, 2])] == pytest.approx([1.5])
        """,
    ),
    Case(
        "sorted_of_a_set", "def uniques(xs):\n    return set(xs)", "set(xs)", "list(xs)",
        "assert sorted(uniques([3, 1, 3])) == [1, 3]\nassert uniques('aba') == {'a', 'b'}",
    ),
    Case(
        "raises_with_match",
        """
        def inverse(x):
            if x == 0:
                raise ZeroDivisionError("zero has no inverse")
            return 1 / x
        """,
        "ZeroDivisionError(", "KeyError(",
        """
        import pytest
        with pytest.raises(ZeroDivisionError, match="no inverse"):
            inverse(0)
        """,
    ),
    Case(
        "raises_with_try",
        """
        def positive(x):
            if x < 0:
                raise ValueError("negative: %d" % x)
            return x
        """,
        "negative: %d", "bad: %d",
        """
        try:
            positive(-4)
            assert False, "no error"
        except ValueError as e:
            assert "negative" in str(e) and "-4" in str(e)
        """,
    ),
    Case(
        "exception_of_the_program",
        """
        class BankError(ValueError):
            def __init__(self, message, amount):
                super().__init__(message, amount)
                self.amount = amount

        def take(balance, amount):
            if amount > balance:
                raise BankError("no funds", amount - balance)
            return balance - amount
        """,
        "amount - balance)", "amount)",
        """
        import pytest
        with pytest.raises(BankError) as caught:
            take(5, 8)
        assert caught.value.args == ("no funds", 3)
        assert caught.value.amount == 3
        assert isinstance(caught.value, ValueError)
        """,
    ),
    Case(
        "base_of_an_exception",
        """
        class Missing(LookupError):
            pass

        def find(d, k):
            if k not in d:
                raise Missing(k)
            return d[k]
        """,
        "raise Missing(k)", "return None",
        """
        caught = None
        try:
            find({}, 'x')
        except LookupError as e:
            caught = e
        assert caught is not None and caught.args[0] == 'x'
        """,
    ),
    Case(
        "table_in_a_loop", "def sign(n):\n    return (n > 0) - (n < 0)", "(n > 0)", "(n > 1)",
        "for n, e in [(5, 1), (1, 1), (0, 0), (-3, -1)]:\n    assert sign(n) == e, f'sign({n})'",
    ),
    Case(
        "checking_helper", "def clamp(x, a, b):\n    return max(a, min(x, b))", "max(a,", "max(b,",
        """
        def check(args, expected):
            got = clamp(*args)
            assert got == expected, (args, got)
        check((5, 0, 3), 3)
        check((-1, 0, 3), 0)
        """,
    ),
    Case(
        "reference_oracle",
        """
        def fact(n):
            return 1 if n < 2 else n * fact(n - 1)
        """,
        "n < 2", "n < 3",
        """
        def reference(n):
            r = 1
            for i in range(2, n + 1):
                r *= i
            return r
        for n in range(25):
            assert fact(n) == reference(n)
        """,
    ),
    Case(
        "state_in_a_chain",
        """
        class Account:
            def __init__(self, balance=0):
                self.balance = balance
                self.log = []

            def deposit(self, x):
                self.balance += x
                self.log.append(("d", x))
                return self

            def withdraw(self, x):
                self.balance -= x
                self.log.append(("w", x))
                return self

            def __len__(self):
                return len(self.log)
        """,
        "self.balance -= x", "self.balance = x",
        """
        acc = Account()
        acc.deposit(5).deposit(7)
        acc.withdraw(2)
        assert acc.balance == 10
        assert acc.log == [('d', 5), ('d', 7), ('w', 2)]
        assert len(acc) == 3
        """,
    ),
    Case(
        "dataclass",
        """
        @dataclasses.dataclass
        class Point:
            x: int
            y: int = 0

            def moved(self, dx, dy):
                return Point(self.x + dx, self.y + dy)
        """,
        "self.y + dy", "self.y - dy",
        """
        import dataclasses
        p = Point(1, 2).moved(3, 4)
        assert p == Point(4, 6)
        assert (p.x, p.y) == (4, 6)
        assert dataclasses.asdict(p) == {'x': 4, 'y': 6}
        assert dataclasses.replace(p, x=0) == Point(0, 6)
        """,
    ),
    Case(
        "frozen_dataclass",
        """
        @dataclasses.dataclass(frozen=True)
        class Size:
            width: int
        """,
        "(frozen=True)", "()",
        """
        import dataclasses, pytest
        with pytest.raises(dataclasses.FrozenInstanceError):
            Size(3).width = 4
        assert len({Size(1), Size(1)}) == 1
        """,
    ),
    Case(
        "namedtuple",
        """
        Triple = collections.namedtuple("Triple", "x y z")

        def triple():
            return Triple(1, 2, 3)
        """,
        "Triple(1, 2, 3)", "Triple(1, 9, 3)",
        """
        r = triple()
        assert r == (1, 2, 3)
        assert r.y == 2 and r._fields == ('x', 'y', 'z')
        x, y, z = r
        assert x + y + z == 6 and isinstance(r, tuple)
        assert r._replace(x=7).x == 7
        """,
    ),
    Case(
        "enumeration",
        """
        class Color(enum.Enum):
            RED = 1
            BLUE = 2

        def favourite():
            return Color.RED
        """,
        "return Color.RED", "return Color.BLUE",
        """
        assert favourite() is Color.RED
        assert favourite().name == 'RED' and favourite().value == 1
        assert [c.name for c in Color] == ['RED', 'BLUE']
        assert Color(2) is Color.BLUE and Color['RED'] == Color.RED
        """,
    ),
    Case(
        "integer_enumeration",
        """
        class Level(enum.IntEnum):
            LOW = 1
            HIGH = 3

        def level(n):
            return Level.HIGH if n > 10 else Level.LOW
        """,
        "n > 10", "n > 100",
        "assert level(11) == 3 and level(11) > level(1)\nassert level(5) is Level.LOW",
    ),
    Case(
        "generator",
        """
        def squares(n):
            for i in range(n):
                yield i * i
        """,
        "yield i * i", "yield i",
        """
        assert list(squares(4)) == [0, 1, 4, 9]
        g = squares(3)
        assert next(g) == 0
        assert next(g) == 1
        assert sum(squares(4)) == 14
        assert iter(g) is g
        """,
    ),
    Case(
        "generator_is_lazy",
        """
        def forever(start):
            while True:
                yield start
                start += 1
        """,
        "start += 1", "start += 2",
        "import itertools\nassert list(itertools.islice(forever(3), 4)) == [3, 4, 5, 6]",
    ),
    Case(
        "generator_send",
        """
        def running():
            total = 0
            while True:
                got = yield total
                total += got
        """,
        "total += got", "total = got",
        "r = running()\nnext(r)\nr.send(3)\nassert r.send(4) == 7\nr.close()",
    ),
    Case(
        "mutation_in_place", "def order(xs):\n    xs.sort()", "xs.sort()", "xs.reverse()",
        "a = [3, 1, 2]\nb = sorted(a)\nresult = order(a)\nassert a == b and result is None",
    ),
    Case(
        "mutation_of_nested",
        "def mark(grid, r, c):\n    grid[r][c] = 'x'", "grid[r][c]", "grid[c][r]",
        """
        grid = [['.'] * 2 for _ in range(2)]
        row = grid[0]
        mark(grid, 0, 1)
        assert row == ['.', 'x'] and grid == [['.', 'x'], ['.', '.']]
        """,
    ),
    Case(
        "argument_is_left_alone",
        "def largest(xs):\n    return sorted(xs)[-1]", "sorted(xs)[-1]", "(xs.sort(), xs[-1])[1]",
        "a = [3, 9, 2]\nassert largest(a) == 9\nassert a == [3, 9, 2]",
    ),
    Case(
        "same_list_comes_back",
        "def same(xs):\n    xs.append(0)\n    return xs", "return xs", "return list(xs)",
        "a = [1]\nassert same(a) is a and a == [1, 0]",
    ),
    Case(
        "shared_list_is_kept",
        """
        class Bag:
            def __init__(self, items):
                self.items = items
        """,
        "self.items = items", "self.items = list(items)",
        """
        mine = [1]
        bag = Bag(mine)
        mine.append(2)
        assert bag.items == [1, 2]
        bag.items.append(3)
        assert mine == [1, 2, 3]
        """,
    ),
    Case(
        "default_argument_is_fresh",
        """
        def gather(x, into=None):
            into = [] if into is None else into
            into.append(x)
            return into
        """,
        "def gather(x, into=None):", "def gather(x, into=[]):",
        "assert gather(1) == [1]\nassert gather(2) == [2]",
    ),
    Case(
        "not_a_number", "def missing():\n    return float('nan')", "'nan'", "'0'",
        "import math\nx = missing()\nassert math.isnan(x)\nassert x != x",
    ),
    Case(
        "negative_zero", "def minus_zero():\n    return -0.0", "-0.0", "0.0",
        "import math\nassert minus_zero() == 0 and math.copysign(1, minus_zero()) == -1",
    ),
    Case(
        "infinity", "def worst():\n    return math.inf", "math.inf", "10 ** 9",
        "assert worst() == float('inf') and worst() > 10 ** 100",
    ),
    Case(
        "bytes_and_big_numbers", "def pack(s):\n    return s.encode()", "encode()",
        "encode('utf-16')", "assert pack('é') == b'\\xc3\\xa9' and len(pack('a')) == 1",
    ),
    Case(
        "big_power", "def power(a, b):\n    return a ** b", "a ** b", "a ** b + 1",
        "assert power(2, 300) == 1 << 300\nassert power(7, 80) % 10 == 1",
    ),
    Case(
        "decimal_and_fraction",
        """
        def money(a, b):
            return decimal.Decimal(a) + decimal.Decimal(b)

        def half(n):
            return fractions.Fraction(n, 2)
        """,
        "decimal.Decimal(a) +", "decimal.Decimal(a) -",
        """
        from decimal import Decimal
        from fractions import Fraction
        assert money('0.1', '0.2') == Decimal('0.3')
        assert half(3) == Fraction(3, 2) and half(3) > 1
        """,
    ),
    Case(
        "dates", "def tomorrow(d):\n    return d + datetime.timedelta(days=1)", "days=1", "days=2",
        """
        from datetime import date, datetime, timezone
        assert tomorrow(date(2024, 2, 28)) == date(2024, 2, 29)
        late = datetime(2024, 1, 1, tzinfo=timezone.utc)
        assert tomorrow(late).isoformat() == '2024-01-02T00:00:00+00:00'
        """,
    ),
    Case(
        "paths", "def text_of(p):\n    return pathlib.Path(p).with_suffix('.txt')", ".txt", ".md",
        """
        from pathlib import Path
        assert text_of('a/b.py') == Path('a/b.txt')
        assert text_of('x.py').suffix == '.txt'
        """,
    ),
    Case(
        "callback_lambda", "def apply(f, *xs):\n    return [f(x) for x in xs]", "in xs]",
        "in xs[1:]]",
        """
        calls = []
        assert apply(lambda x: x * 2, 1, 2) == [2, 4]
        apply(calls.append, 1, 2)
        assert calls == [1, 2]
        def note(v):
            calls.append(-v)
        apply(note, 9)
        assert calls[-1] == -9
        assert apply(str.upper, 'a', 'b') == ['A', 'B']
        """,
    ),
    Case(
        "callback_raises",
        """
        def attempt(f, times):
            for n in range(times):
                try:
                    return f()
                except ValueError:
                    continue
            return None
        """,
        "except ValueError:", "except KeyError:",
        """
        seen = []
        def flaky():
            seen.append(1)
            if len(seen) < 3:
                raise ValueError('not yet')
            return 'done'
        assert attempt(flaky, 5) == 'done' and len(seen) == 3
        """,
    ),
    Case(
        "exception_of_the_test_passes_through",
        "def call(f):\n    return f()", "return f()", "return None",
        """
        class Mine(Exception):
            pass
        def bad():
            raise Mine('here')
        try:
            call(bad)
        except Mine as e:
            assert str(e) == 'here'
        else:
            assert False, 'nothing raised'
        """,
    ),
    Case(
        "sort_key", "def ranked(xs, key):\n    return sorted(xs, key=key)", "key=key)",
        "key=key, reverse=True)",
        "assert ranked(['bb', 'a', 'ccc'], key=len) == ['a', 'bb', 'ccc']",
    ),
    Case(
        "context_manager",
        """
        @contextlib.contextmanager
        def switched():
            state = {"on": True}
            yield state
            state["on"] = False
        """,
        'state["on"] = False', "pass",
        "with switched() as s:\n    assert s['on']\nassert not s['on']",
    ),
    Case(
        "context_manager_class",
        """
        class Guard:
            def __init__(self):
                self.error = None

            def __enter__(self):
                return self

            def __exit__(self, kind, error, trace):
                self.error = kind
                return kind is KeyError
        """,
        "kind is KeyError", "False",
        """
        with Guard() as g:
            raise KeyError('x')
        assert g.error is KeyError
        """,
    ),
    Case(
        "own_iterator",
        """
        class Countdown:
            def __init__(self, n):
                self.n = n

            def __iter__(self):
                return self

            def __next__(self):
                if self.n == 0:
                    raise StopIteration
                self.n -= 1
                return self.n + 1
        """,
        "return self.n + 1", "return self.n",
        "assert list(Countdown(3)) == [3, 2, 1]\nassert 2 in Countdown(4)",
    ),
    Case(
        "while_loop_over_state",
        """
        class Queue:
            def __init__(self, xs):
                self.xs = list(xs)

            def has_next(self):
                return bool(self.xs)

            def next(self):
                return self.xs.pop(0)
        """,
        "pop(0)", "pop()",
        """
        q = Queue([1, 2, 3])
        out = []
        while q.has_next():
            out.append(q.next())
        assert out == [1, 2, 3]
        """,
    ),
    Case(
        "linked_list",
        """
        class Node:
            def __init__(self, v, next=None):
                self.v = v
                self.next = next

        def turned(node):
            before = None
            while node:
                node.next, before, node = before, node, node.next
            return before
        """,
        "return before", "return node",
        """
        a = Node(1, Node(2, Node(3)))
        r = turned(a)
        values = []
        while r:
            values.append(r.v)
            r = r.next
        assert values == [3, 2, 1]
        assert a.next is None
        """,
    ),
    Case(
        "stack_in_a_loop",
        """
        class Stack:
            def __init__(self):
                self.a = []

            def push(self, x):
                self.a.append(x)

            def pop(self):
                return self.a.pop()

            @property
            def empty(self):
                return not self.a
        """,
        "self.a.pop()", "self.a.pop(0)",
        """
        s = Stack()
        for i in range(5):
            s.push(i)
        for i in reversed(range(5)):
            assert s.pop() == i
        assert s.empty
        """,
    ),
    Case(
        "counter_and_defaultdict",
        """
        def frequencies(s):
            return collections.Counter(s)

        def grouped(xs, key):
            d = collections.defaultdict(list)
            for x in xs:
                d[key(x)].append(x)
            return d
        """,
        "Counter(s)", "Counter(s[1:])",
        """
        from collections import Counter
        assert frequencies('aab') == Counter('aab') == {'a': 2, 'b': 1}
        assert frequencies('aab').most_common(1) == [('a', 2)]
        assert grouped([1, 2, 3], key=lambda x: x % 2) == {1: [1, 3], 0: [2]}
        assert max(frequencies('aab').items(), key=lambda kv: kv[1])[0] == 'a'
        """,
    ),
    Case(
        "redirected_output", "def greet(name):\n    print('hello', name)", "'hello'", "'hullo'",
        """
        import io, contextlib
        buffer = io.StringIO()
        with contextlib.redirect_stdout(buffer):
            greet('bob')
        assert buffer.getvalue() == 'hello bob\\n'
        """,
    ),
    Case(
        "mock_argument", "def each(f, xs):\n    for x in xs:\n        f(x)", "in xs:", "in xs[1:]:",
        """
        from unittest.mock import Mock, call
        m = Mock(return_value=7)
        each(m, [1, 2])
        m.assert_called_with(2)
        assert m.call_args_list == [call(1), call(2)]
        """,
    ),
    Case(
        "mock_object",
        """
        def notify(mailer, users):
            for user in users:
                mailer.send(user, subject="hi")
            return mailer.count()
        """,
        'subject="hi"', 'subject="ho"',
        """
        from unittest.mock import MagicMock
        mailer = MagicMock()
        mailer.count.return_value = 2
        assert notify(mailer, ['a', 'b']) == 2
        mailer.send.assert_called_with('b', subject='hi')
        """,
    ),
    Case(
        "fake_object_of_the_test",
        "def total_of(shop):\n    return sum(shop.price(i) for i in shop.items)",
        "sum(", "max(", "class Shop:\n    items = ['a', 'bb']\n"
        "    def price(self, i):\n        return len(i) * 10\nassert total_of(Shop()) == 30",
    ),
    Case(
        "monkeypatched_function",
        "def rate():\n    return 2\n\ndef priced(x):\n    return x * rate()", "x * rate()", "x * 2",
        """
        import program
        old = program.rate
        program.rate = lambda: 10
        try:
            assert program.priced(3) == 30
        finally:
            program.rate = old
        assert program.priced(3) == 6
        """,
    ),
    Case(
        "subclass_in_the_test",
        """
        class Shape:
            def __init__(self, size):
                self.size = size

            def area(self):
                raise NotImplementedError

            def describe(self):
                return f"area {self.area()}"
        """,
        "self.size = size", "self.size = 0",
        """
        class Square(Shape):
            def __init__(self, size):
                super().__init__(size)
                self.extra = 1
            def area(self):
                return self.size ** 2
        s = Square(4)
        assert s.describe() == 'area 16'
        assert isinstance(s, Shape) and s.extra == 1
        """,
    ),
    Case(
        "abstract_class",
        """
        class Base(abc.ABC):
            @abc.abstractmethod
            def go(self): ...

        class Concrete(Base):
            def go(self):
                return "went"
        """,
        "@abc.abstractmethod", "@staticmethod",
        """
        import pytest
        with pytest.raises(TypeError):
            Base()
        assert Concrete().go() == 'went' and issubclass(Concrete, Base)
        """,
    ),
    Case(
        "file_of_the_test", "def read(path):\n    with open(path) as f:\n        return f.read()",
        "f.read()", "f.readline()",
        """
        import contextlib, io
        from unittest.mock import mock_open, patch
        with patch('builtins.open', mock_open(read_data='a\\nb\\n')):
            assert read('x.txt') == 'a\\nb\\n'
        """,
    ),
    Case(
        "assignment_expression", "def third(x):\n    return x // 3", "x // 3", "x % 3",
        "assert (n := third(9)) == 3 and n > 2",
    ),
    Case(
        "chains_and_formats", "def quotient(a, b):\n    return a / b", "a / b", "a * b + 9",
        """
        assert 0 < quotient(1, 2) < 1
        assert f'{quotient(1, 2):.2f}' == '0.50'
        assert str(quotient(4, 2)) + '!' == '2.0!'
        """,
    ),
    Case(
        "dictionary_walk", "def parity(xs):\n    d = {}\n    for x in xs:\n"
        "        d.setdefault(x % 2, []).append(x)\n    return d", "append(x)", "append(x + 1)",
        """
        r = parity([1, 2, 3, 4])
        for k, v in r.items():
            assert all(x % 2 == k for x in v)
            assert v == sorted(v)
        assert list(r) == [1, 0] and sum(len(v) for v in r.values()) == 4
        """,
    ),
    Case(
        "operators_of_the_program",
        """
        class Vector:
            def __init__(self, x, y):
                self.x, self.y = x, y

            def __add__(self, other):
                return Vector(self.x + other.x, self.y + other.y)

            def __mul__(self, k):
                return Vector(self.x * k, self.y * k)

            def __eq__(self, other):
                return isinstance(other, Vector) and (self.x, self.y) == (other.x, other.y)

            def __repr__(self):
                return f"Vector({self.x}, {self.y})"
        """,
        "self.y + other.y", "self.y",
        """
        v = Vector(1, 2) + Vector(3, 4) * 2
        assert v == Vector(7, 10)
        assert repr(v) == 'Vector(7, 10)'
        """,
    ),
    Case(
        "ordering_of_the_program",
        """
        @functools.total_ordering
        class Version:
            def __init__(self, text):
                self.parts = tuple(map(int, text.split(".")))

            def __eq__(self, other):
                return self.parts == other.parts

            def __lt__(self, other):
                return self.parts < other.parts
        """,
        "tuple(map(int, text.split(\".\")))", "text",
        """
        assert Version('1.10') > Version('1.9')
        assert max([Version('2.0'), Version('10.0')]).parts == (10, 0)
        """,
    ),
    Case(
        "indexing_of_the_program",
        """
        class Grid:
            def __init__(self):
                self.cells = {}

            def __setitem__(self, key, value):
                self.cells[key] = value

            def __getitem__(self, key):
                return self.cells.get(key, ".")

            def __contains__(self, key):
                return key in self.cells
        """,
        'get(key, ".")', 'get(key, "?")',
        "g = Grid()\ng[1, 2] = 'x'\nassert g[1, 2] == 'x' and g[0, 0] == '.'\nassert (1, 2) in g",
    ),
    Case(
        "class_methods_and_attributes",
        """
        class Item:
            made = 0

            def __init__(self, name):
                self.name = name
                Item.made += 1

            @classmethod
            def parse(cls, text):
                return cls(text.strip())

            @staticmethod
            def valid(text):
                return bool(text.strip())
        """,
        "Item.made += 1", "self.made += 1",
        """
        assert Item.parse(' a ').name == 'a'
        assert Item.valid(' ') is False
        assert Item.made == 1
        """,
    ),
    Case(
        "property_with_setter",
        """
        class Celsius:
            def __init__(self):
                self._t = 0

            @property
            def fahrenheit(self):
                return self._t * 9 / 5 + 32

            @fahrenheit.setter
            def fahrenheit(self, value):
                self._t = (value - 32) * 5 / 9
        """,
        "(value - 32)", "value",
        "c = Celsius()\nc.fahrenheit = 212\nassert c._t == 100\nassert c.fahrenheit == 212",
    ),
    Case(
        "closure_with_state",
        """
        def counter():
            n = 0
            def step():
                nonlocal n
                n += 1
                return n
            return step
        """,
        "n += 1", "n = 1",
        "a, b = counter(), counter()\nassert (a(), a(), b()) == (1, 2, 1)",
    ),
    Case(
        "decorator_of_the_program",
        """
        def counted(f):
            @functools.wraps(f)
            def wrapper(*args):
                wrapper.calls += 1
                return f(*args)
            wrapper.calls = 0
            return wrapper
        """,
        "wrapper.calls += 1", "wrapper.calls = 1",
        """
        @counted
        def double(x):
            return 2 * x
        assert double(3) == 6 and double(4) == 8
        assert double.calls == 2 and double.__name__ == 'double'
        """,
    ),
    Case(
        "cache_information",
        """
        @functools.lru_cache(maxsize=None)
        def fib(n):
            return n if n < 2 else fib(n - 1) + fib(n - 2)
        """,
        "maxsize=None", "maxsize=0",
        "assert fib(12) == 144\nassert fib.cache_info().hits > 0",
    ),
    Case(
        "rebound_global",
        """
        visits = 0

        def visit():
            global visits
            visits += 1
        """,
        "visits += 1", "visits = 1",
        "import program\nprogram.visit()\nvisit()\nassert program.visits == 2",
    ),
    Case(
        "private_name", "def _inner(x):\n    return -x", "-x", "x", "assert _inner(3) == -3",
    ),
    Case(
        "import_from_the_program", "def exported():\n    return ['a', 1]", "'a', 1", "'a', 2",
        "from program import exported as e\nimport solution\nassert e() == ['a', 1]\n"
        "assert solution.exported() == e()",
    ),
    Case(
        "nested_values",
        "def nested():\n    return {'a': [(1, {2}), None], 'b': {'c': (1.5, b'x')}}", "None]", "0]",
        "assert nested() == {'a': [(1, {2}), None], 'b': {'c': (1.5, b'x')}}",
    ),
    Case(
        "views_and_ranges", "def table():\n    return {'x': 1, 'y': 2}", "'y': 2", "'z': 2",
        "assert table().keys() == {'x', 'y'}\nassert list(table().values()) == [1, 2]",
    ),
    Case(
        "returned_lambda", "def adder(n):\n    return lambda x: x + n", "x + n", "x",
        "assert adder(3)(4) == 7\nassert callable(adder(1)) and list(map(adder(1), [1])) == [2]",
    ),
    Case(
        "truth_of_a_call", "def is_even(n):\n    return n % 2 == 0", "== 0", "== 1",
        "assert is_even(4)\nassert not is_even(3)",
    ),
    Case(
        "none_is_none", "def lookup(d, k):\n    return d.get(k)", "d.get(k)", "d.get(k, 0)",
        "assert lookup({}, 'a') is None",
    ),
    Case(
        "unicode_and_surrogates", "def flip(s):\n    return s[::-1]", "[::-1]", "[:]",
        "assert flip('añ\\ud800b') == 'b\\ud800ña'",
    ),
    Case(
        "coroutine",
        """
        async def fetch(x):
            await asyncio.sleep(0)
            return x * 2

        async def fetch_all(xs):
            return await asyncio.gather(*(fetch(x) for x in xs))
        """,
        "x * 2", "x * 3",
        """
        import asyncio
        assert asyncio.run(fetch(4)) == 8
        assert asyncio.run(fetch_all([1, 2])) == [2, 4]
        async def both():
            return await fetch(1), await fetch(2)
        assert asyncio.run(both()) == (2, 4)
        """,
    ),
    Case(
        "threads_of_the_program",
        """
        def parallel(f, xs):
            found = []
            def work(x):
                found.append(f(x))
            threads = [threading.Thread(target=work, args=(x,)) for x in xs]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            return sorted(found)
        """,
        "sorted(found)", "found[:1]",
        "assert parallel(lambda x: x * x, [3, 1, 2]) == [1, 4, 9]",
    ),
    Case(
        "seeded_random", "def pick(xs):\n    return random.choice(xs)", "random.choice(xs)",
        "xs[0]",
        """
        import random
        random.seed(7)
        expected = [random.choice(range(1000)) for _ in range(3)]
        random.seed(7)
        assert [pick(range(1000)) for _ in range(3)] == expected
        """,
    ),
    Case(
        "patched_input", "def ask():\n    return int(input('n? ')) + 1", "+ 1", "- 1",
        """
        from unittest.mock import patch
        with patch('builtins.input', side_effect=['4', '9']) as prompt:
            assert ask() == 5
            assert ask() == 10
        assert prompt.call_count == 2
        """,
    ),
    Case(
        "environment", "def home():\n    return os.environ.get('APP_HOME', '-')", "APP_HOME",
        "APPHOME", "import os\nos.environ['APP_HOME'] = '/here'\nassert home() == '/here'\n"
        "del os.environ['APP_HOME']\nassert home() == '-'",
    ),
    Case(
        "deep_recursion", "def depth(n):\n    return 0 if n == 0 else 1 + depth(n - 1)",
        "1 + depth", "2 + depth",
        "import pytest\nassert depth(300) == 300\nwith pytest.raises(RecursionError):\n"
        "    depth(10 ** 6)",
    ),
    Case(
        "set_of_objects",
        """
        @dataclasses.dataclass(frozen=True)
        class Tag:
            name: str

        def tags(names):
            return {Tag(n) for n in names}
        """,
        "{Tag(n) for n in names}", "{Tag(n) for n in names[1:]}",
        "assert tags(['a', 'b', 'a']) == {Tag('a'), Tag('b')}\n"
        "assert sorted(t.name for t in tags(['b', 'c'])) == ['b', 'c']",
    ),
    Case(
        "subclass_of_dict",
        """
        class Registry(dict):
            def add(self, name, value):
                self[name] = value
                return self

            def __missing__(self, key):
                return "none"
        """,
        "self[name] = value", "self[name] = name",
        """
        r = Registry()
        r.add('a', 1).add('b', 2)
        assert r == {'a': 1, 'b': 2} and len(r) == 2
        assert r['zzz'] == 'none' and isinstance(r, dict)
        r['c'] = 3
        assert sorted(r.items()) == [('a', 1), ('b', 2), ('c', 3)]
        """,
    ),
    Case(
        "subclass_of_float",
        """
        class Metres(float):
            def feet(self):
                return Metres(self * 3.25)
        """,
        "3.25", "3", "assert Metres(2).feet() == 6.5\nassert Metres(1) + 1 == 2.0",
    ),
    Case(
        "json_errors",
        """
        def parse(text):
            return json.loads(text)
        """,
        "return json.loads(text)", "return eval(text, {}, {'null': None})",
        "import json, pytest\nassert parse('[1, null]') == [1, None]\n"
        "with pytest.raises(json.JSONDecodeError):\n    parse('{')",
    ),
    Case(
        "file_errors", "def size(path):\n    return os.stat(path).st_size", "os.stat(path)",
        "os.stat('.')",
        "import pytest\nwith pytest.raises(FileNotFoundError) as e:\n    size('no/such')\n"
        "assert e.value.filename == 'no/such' and e.value.errno == 2",
    ),
    Case(
        "regular_expression", "def match(s):\n    return re.match(r'(\\d+)-(\\d+)', s)", "(\\d+)-",
        "(\\d)-", "m = match('12-34')\nassert m is not None and m.group(1) == '12'\n"
        "assert m.groups() == ('12', '34')\nassert match('x') is None",
    ),
)

GOOD = HEADER + "\n\n".join(case.good for case in CASES)
BAD = HEADER + "\n\n".join(case.bad for case in CASES)
