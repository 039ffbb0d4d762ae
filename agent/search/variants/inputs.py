"""Calls like those of the tests with other arguments, to see where candidates differ.

Arguments keep their types and stay near the values at the same place of other calls: a count stays
a count, a text has the characters of the other texts. Otherwise most calls would only show how
programs behave outside of their contract.
"""

from __future__ import annotations

import ast
import math
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import MAXYEAR
from typing import Any

from agent.core.trees import is_literal, literal_source, parse_or_empty
from agent.search.program import variable_names

PROBES = 128
MAX_SEEDS = 24
LONGEST = 300
"""Most characters of a call."""
MAX_ELEMENTS = 24
LARGER, LEAST_SCALE = 4, 150
"""A number is at most `LARGER` times the largest one at its place, or `LEAST_SCALE`."""
MIXED = 0.3
"""Probability that an argument is first taken from another call."""
SMALL = 0.3
"""Share of the calls that have an argument of minimal size."""
MAX_STEPS = 12
VALUE_TYPES = frozenset({
    "date", "datetime", "time", "timedelta", "Decimal", "decimal", "Fraction", "fractions",
})
"""Names of the standard library that make a value of literals."""
Call = tuple[ast.expr, tuple[ast.expr, ...]]
"""An expression and its literals that may be changed."""


def probes(
    names: Iterable[str], tests: Sequence[str], most: int = PROBES, *, stateful: bool = False
) -> tuple[str, ...]:
    """Generates calls that no test makes, the shortest first.

    Deterministic.

    Args:
        names: The functions and classes of the program that may be called.
        tests: The code of the tests.
        most: The maximum number of calls.
        stateful: Also varies sequences of calls on one object; if fewer than `most` calls are
            found, adds some with more distant numbers.
    """
    seeds = seeds_of(frozenset(names), tests, stateful)
    if not seeds:
        return ()
    pools = _pools(seeds)
    known = {ast.unparse(call) for call, _ in seeds}
    found: dict[str, None] = {}

    def add(texts: Iterable[str], limit: float) -> None:
        for text in texts:
            if len(found) >= limit:
                return
            if text not in known and len(text) <= LONGEST:
                found[text] = None

    add(_small_calls(seeds, pools), most * SMALL)
    add(_random_calls(seeds, pools, most * 8), most)
    if stateful:
        add(_distant_calls(seeds, pools, most), most)
    return tuple(sorted(found, key=lambda one: (len(one), one)))


def seeds_of(names: frozenset[str], tests: Sequence[str], stateful: bool) -> list[Call]:
    """The distinct calls of the tests whose arguments are all literals; with `stateful` also the
    sequences of calls."""
    found: dict[str, Call] = {}
    used: dict[str, Call] = {}
    for test in tests:
        tree = parse_or_empty(test)
        if stateful:
            for one in sequences(tree, names):
                used.setdefault(ast.unparse(one.call), (one.call, one.literals))
        inner: set[ast.AST] = set()
        for node in ast.walk(tree):
            if node in inner or not isinstance(node, ast.Call):
                continue
            literals = changeable(node, names)
            if literals is not None:
                inner.update(ast.walk(node))
                found.setdefault(ast.unparse(node), (node, literals))
    return [*used.values(), *found.values()][:MAX_SEEDS]


class Pool:
    """The values at one place of the calls of one function."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.letters: set[str] = set()
        self.numbers: list[float] = []

    def add(self, value: Any) -> None:
        self.values.append(value)
        for atom in _atoms(value):
            if isinstance(atom, str):
                self.letters.update(atom)
            elif isinstance(atom, int | float):
                self.numbers.append(atom)

    @property
    def scale(self) -> float:
        """The largest number to generate."""
        return max(LEAST_SCALE, max(map(abs, self.numbers), default=1.0) * LARGER)

    @property
    def least(self) -> float:
        """The smallest number of the calls; if it is not negative, no number becomes negative."""
        return min(self.numbers, default=0.0)


def _atoms(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _atoms(key)
            yield from _atoms(one)
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from _atoms(one)
    else:
        yield value


def _shape(call: ast.expr) -> str:
    """The structure of a call without its arguments; calls of the same shape share their pools."""
    match call:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=owner, attr=name):
            return f"{_shape(owner)}.{name}"
        case ast.Call(func=func, args=args, keywords=keywords):
            return f"{_shape(func)}({len(args) + len(keywords)})"
        case ast.Lambda(body=body):
            return f"lambda {_shape(body)}"
        case ast.Subscript(value=ast.Tuple(elts=steps)):
            return ", ".join(map(_shape, steps))
    return ""


Pools = Mapping[tuple[str, int], Pool]


def _pools(seeds: Sequence[Call]) -> Pools:
    """The values of the seeds by the shape of the call and the place in it."""
    pools: defaultdict[tuple[str, int], Pool] = defaultdict(Pool)
    for call, literals in seeds:
        for place, literal in enumerate(literals):
            pools[_shape(call), place].add(ast.literal_eval(literal))
    return pools


def with_literals(call: ast.expr, literals: Sequence[ast.expr], texts: dict[int, str]) -> str:
    """The text of a call with other literals at some places."""
    replaced = {id(literals[place]): text for place, text in texts.items()}

    def shown(node: ast.expr) -> str:
        if id(node) in replaced:
            return replaced[id(node)]
        match node:
            case ast.Attribute(value=owner, attr=name):
                return f"{shown(owner)}.{name}"
            case ast.Call(func=func, args=args, keywords=keywords):
                given = [shown(one) for one in args]
                given += [f"{one.arg}={shown(one.value)}" for one in keywords]
                return f"{shown(func)}({', '.join(given)})"
            case ast.Lambda(args=parameters, body=body):
                return f"(lambda {ast.unparse(parameters)}: {shown(body)})"
            case ast.Subscript(value=ast.Tuple(elts=steps), slice=place):
                return f"({', '.join(map(shown, steps))})[{ast.unparse(place)}]"
        return ast.unparse(node)

    return shown(call)


def with_values(
    call: ast.expr, literals: Sequence[ast.expr], place: int, values: Iterable[Any]
) -> Iterator[str]:
    """The texts of a call with each of some values at one place."""
    for value in values:
        yield with_literals(call, literals, {place: as_argument(value)})


def as_argument(value: Any) -> str:
    """The source of a value; infinities become calls of `float`."""
    return literal_source(value, _atom)


def _atom(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    return repr(value)


def _small_calls(seeds: Sequence[Call], pools: Pools) -> Iterator[str]:
    """Calls with one argument of minimal size, or from another seed."""
    for call, literals in seeds:
        for place, literal in enumerate(literals):
            pool = pools[_shape(call), place]
            values = [*_small(ast.literal_eval(literal), pool), *pool.values[:4]]
            yield from with_values(call, literals, place, values)


def _distant_calls(seeds: Sequence[Call], pools: Pools, most: int) -> Iterator[str]:
    """Calls with one number changed by 1, then by 2, and so on."""
    for step in range(1, most + 1):
        for call, literals in seeds:
            for place, literal in enumerate(literals):
                value = ast.literal_eval(literal)
                if isinstance(value, bool) or not isinstance(value, int | float):
                    continue
                least = min(0, pools[_shape(call), place].least)
                values = [one for one in (value + step, value - step) if one >= least]
                yield from with_values(call, literals, place, values)


def _random_calls(seeds: Sequence[Call], pools: Pools, most: int) -> Iterator[str]:
    """Calls with one or two arguments changed at random."""
    rng = random.Random(0)
    for turn in range(most):
        call, literals = seeds[turn % len(seeds)]
        if not literals:
            return
        places = [rng.randrange(len(literals))]
        if len(literals) > 1 and rng.random() < 0.4:
            places.append(rng.randrange(len(literals)))
        texts = {}
        for place in places:
            pool = pools[_shape(call), place]
            value = ast.literal_eval(literals[place])
            if rng.random() < MIXED:
                value = rng.choice(pool.values)
            for _ in range(rng.choice((0, 1, 1, 2, 3))):
                value = _mutated(value, pool, rng)
            texts[place] = as_argument(value)
        yield with_literals(call, literals, texts)


def _small(value: Any, pool: Pool) -> Iterator[Any]:
    """Values of the same type of minimal size."""
    match value:
        case bool():
            yield not value
        case int():
            yield from (one for one in (0, 1, 2) if one >= pool.least - 1)
        case float():
            yield from (one for one in (0.0, 1.0, 0.5) if one >= pool.least - 1)
        case str() | bytes():
            yield from (value[:0], value[:1], value[:2])
        case list() | tuple():
            yield from (value[:0], value[:1], value[:2], value[-1:])
        case dict():
            yield {}
            yield dict(list(value.items())[:1])
        case set():
            yield set()


def _mutated(value: Any, pool: Pool, rng: random.Random) -> Any:
    """A similar value of the same type."""
    match value:
        case bool():
            return not value
        case int():
            return _number(value, pool, rng)
        case float():
            other = rng.choice(
                (value + 1.0, value - 1.0, value * 2, value / 2, value + 0.1, round(value), -value)
            )
            return float(other if other >= min(0.0, pool.least) else abs(other))
        case str():
            return "".join(_elements(list(value), pool, rng, text=True))
        case bytes():
            return bytes(_elements(list(value), pool, rng))
        case list():
            return _elements(list(value), pool, rng)
        case tuple():
            # A short tuple is likely a record and keeps its length.
            return tuple(_elements(list(value), pool, rng, fixed=len(value) <= 3))
        case set():
            return {*_elements(sorted(value, key=repr), pool, rng)}
        case dict():
            return _items(value, pool, rng)
    return value


def _number(value: int, pool: Pool, rng: random.Random) -> int:
    others = [int(one) for one in pool.numbers if isinstance(one, int)]
    other = rng.choice(
        (value + 1, value - 1, value + 2, value * 2, value // 2, value + 10, value - 10, -value,
         value * 10 + 1, rng.choice(others) if others else value + 3,
         rng.randint(0, int(pool.scale)))
    )
    if other < min(0, pool.least):
        other = abs(other)
    return other if abs(other) <= pool.scale else value - 1


def _elements(
    values: list[Any], pool: Pool, rng: random.Random, *, text: bool = False, fixed: bool = False,
) -> list[Any]:
    """A sequence with one element changed, added, dropped, repeated or swapped, or as a whole
    reversed, sorted or cut."""
    if not values:
        return [_new(pool, rng, text)] if not fixed else values
    place = rng.randrange(len(values))
    kinds = ["change", "change", "swap"]
    if not fixed:
        kinds += ["drop", "repeat", "add", "reverse", "cut", "sort"]
    kind = rng.choice(kinds)
    if kind == "drop":
        return values[:place] + values[place + 1 :]
    if kind == "repeat" and len(values) < MAX_ELEMENTS:
        return [*values[:place], values[place], *values[place:]]
    if kind == "add" and len(values) < MAX_ELEMENTS:
        return [*values[:place], _like(values[place], pool, rng, text), *values[place:]]
    if kind == "reverse":
        return values[::-1]
    if kind == "cut":
        return values[: max(1, len(values) // 2)]
    if kind == "sort":
        try:
            return sorted(values)
        except TypeError:
            return values[::-1]
    if kind == "swap":
        other = rng.randrange(len(values))
        if not fixed or type(values[place]) is type(values[other]):
            values[place], values[other] = values[other], values[place]
        return values
    values[place] = _like(values[place], pool, rng, text)
    return values


def _like(value: Any, pool: Pool, rng: random.Random, text: bool) -> Any:
    if text:
        if value.isalpha() and rng.random() < 0.3:
            return value.swapcase()
        return rng.choice(sorted(pool.letters)) if pool.letters else value
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 255:
        # An element of bytes, or a small count, stays in this range.
        return min(255, _number(value, pool, rng)) if value else rng.choice((0, 1))
    return _mutated(value, pool, rng)


def _new(pool: Pool, rng: random.Random, text: bool) -> Any:
    if text:
        return rng.choice(sorted(pool.letters)) if pool.letters else "a"
    atoms = [one for value in pool.values for one in (value if isinstance(value, list) else ())]
    return rng.choice(atoms) if atoms else 1


def _items(value: dict[Any, Any], pool: Pool, rng: random.Random) -> dict[Any, Any]:
    items = list(value.items())
    if not items:
        return value
    place = rng.randrange(len(items))
    key, one = items[place]
    if rng.random() < 0.3:
        return dict(items[:place] + items[place + 1 :])
    items[place] = (key, _mutated(one, pool, rng))
    return dict(items)


def sequences(tree: ast.Module, names: frozenset[str]) -> Iterator[TestedCall]:
    """Yields, for each `assert` that compares with a literal, one call that makes all calls so far.

    Stops at any other statement or non-literal argument. A new object of the same name starts a
    new sequence.
    """
    made: dict[str, ast.Call] = {}
    steps: list[ast.expr] = []
    for statement in tree.body:
        expected: ast.expr | None = None
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as value) if (
                name not in names and bool(steps) == (name in made)
                and changeable(value, names) is not None
            ):
                made = {name: value} if steps else {**made, name: value}
                steps = []
                continue
            case ast.Expr(value=ast.Call() as step):
                pass
            case ast.Assert(test=ast.Compare(
                left=step, ops=[ast.Eq() | ast.Is()], comparators=[given]
            )) if is_literal(given):
                expected = given
            case _:
                break
        if changeable(step, frozenset(made)) is None or len(steps) == MAX_STEPS:
            break
        steps.append(step)
        if expected is not None:
            yield _sequence(made, steps, expected)


def changeable(node: ast.expr, names: frozenset[str]) -> tuple[ast.expr, ...] | None:
    """The literals in a chain of calls that begins with one of the names; `None` for any other
    expression, and if an argument is neither a literal nor a value made of literals, such as
    `date(2024, 5, 1)`."""
    match node:
        case ast.Name(id=name):
            return () if name in names else None
        case ast.Attribute(value=owner):
            return changeable(owner, names)
        case ast.Call(func=func, args=args, keywords=keywords):
            before = changeable(func, names)
            given = [*args, *(keyword.value for keyword in keywords)]
            if before is None or any(keyword.arg is None for keyword in keywords):
                return None
            inner: list[ast.expr] = []
            for one in given:
                parts = (one,) if is_literal(one) else _made_of(one, names)
                if parts is None:
                    return None
                inner += parts
            return (*before, *inner)
    return None


def _made_of(argument: ast.expr, names: frozenset[str]) -> tuple[ast.expr, ...] | None:
    """The changeable literals in a value that is made by a call; a year stays."""
    found = changeable(argument, names | VALUE_TYPES) if isinstance(argument, ast.Call) else None
    if found is None:
        return None
    return tuple(one for one in found if not _is_year(one))


def _is_year(literal: ast.expr) -> bool:
    value = ast.literal_eval(literal)
    return isinstance(value, int) and 1000 <= value <= MAXYEAR


def _sequence(made: dict[str, ast.Call], steps: list[ast.expr], expected: ast.expr) -> TestedCall:
    parameters = ast.arguments(
        posonlyargs=[], args=[ast.arg(arg=name) for name in made], kwonlyargs=[], kw_defaults=[],
        defaults=[],
    )
    body = steps[0]
    if len(steps) > 1:
        last = ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))
        values = ast.Tuple(elts=[*steps], ctx=ast.Load())
        body = ast.Subscript(value=values, slice=last, ctx=ast.Load())
    call = ast.Call(func=ast.Lambda(args=parameters, body=body), args=[*made.values()], keywords=[])
    literals = [
        one for node in (*made.values(), *steps)
        for one in changeable(node, frozenset(variable_names(node))) or ()
    ]
    return TestedCall(call, tuple(literals), expected)


@dataclass(frozen=True)
class TestedCall:
    """A call, the literals in it, and the literal that the test expects."""

    call: ast.Call
    literals: tuple[ast.expr, ...]
    expected: ast.expr
