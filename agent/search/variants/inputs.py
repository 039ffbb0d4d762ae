"""Calls like the tests' own with other arguments, to see where candidates differ.

Arguments keep their types, and near the values seen at their place: a count stays a count, a
text keeps to the letters of its neighbours. Otherwise most calls would only show how programs
behave outside their contract.
"""

from __future__ import annotations

import ast
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agent.core.trees import is_literal, literal_source, readable
from agent.search.program import names_in

PROBES = 128
MAX_SEEDS = 24
LONGEST = 300
"""Characters of a call."""
MAX_ELEMENTS = 24
LARGER, LEAST_SCALE = 4, 150
"""A number is made at most so many times as large as any at its place, or so large."""
MIXED = 0.3
"""Share of the arguments that are first taken from another call."""
SMALL = 0.3
"""Share of the calls that come from making an argument as small as it can be."""
MAX_STEPS = 12
Call = tuple[ast.expr, tuple[ast.expr, ...]]
"""An expression and the literals in it that may be changed."""


def probes(
    names: Iterable[str], tests: Sequence[str], most: int = PROBES, *, counting: bool = False
) -> tuple[str, ...]:
    """Up to `most` calls of the program's `names`, none of them a test's own, the shortest first.

    For proof, which no person has to read: with `counting`, what a test does with an object is one
    call too, and numbers further and further from those seen make up what is missing. The same
    names and tests give the same calls.
    """
    seeds = seeds_of(frozenset(names), tests, counting)
    if not seeds:
        return ()
    chance = random.Random(0)
    pools = pools_of(seeds)
    known = {ast.unparse(call) for call, _ in seeds}
    found: dict[str, None] = {}
    for text in _smallest(seeds, pools):
        if len(found) < most * SMALL and text not in known and len(text) <= LONGEST:
            found[text] = None
    for turn in range(most * 8):
        call, literals = seeds[turn % len(seeds)]
        if len(found) >= most or not literals:
            break
        text = _changed(call, literals, pools, chance)
        if text not in known and len(text) <= LONGEST:
            found[text] = None
    if counting:
        for text in _counted(seeds, pools, most):
            if len(found) >= most:
                break
            if text not in known and len(text) <= LONGEST:
                found[text] = None
    return tuple(sorted(found, key=lambda one: (len(one), one)))


def seeds_of(names: frozenset[str], tests: Sequence[str], counting: bool) -> list[Call]:
    """The tests' calls whose arguments are all literals, each once."""
    found: dict[str, Call] = {}
    used: dict[str, Call] = {}
    for test in tests:
        tree = readable(test)
        if counting:
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
    """What was seen at one place of one function's calls."""

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
        """How large a number may be made here."""
        return max(LEAST_SCALE, max(map(abs, self.numbers), default=1.0) * LARGER)

    @property
    def least(self) -> float:
        """Numbers below this were never seen: none is made negative that was not."""
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


def key_of(call: ast.expr, place: int) -> tuple[str, int]:
    """Calls of the same shape share what was seen at a place."""
    return _shape(call), place


def _shape(call: ast.expr) -> str:
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


def pools_of(seeds: Sequence[Call]) -> dict[tuple[str, int], Pool]:
    pools: dict[tuple[str, int], Pool] = {}
    for call, literals in seeds:
        for place, literal in enumerate(literals):
            pools.setdefault(key_of(call, place), Pool()).add(ast.literal_eval(literal))
    return pools


def with_literals(call: ast.expr, literals: Sequence[ast.expr], texts: dict[int, str]) -> str:
    """The call's text with other literals at some places."""
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


def as_argument(value: Any) -> str:
    """A value as an argument: infinities too, which have no literal of their own."""
    return literal_source(value, _atom)


def _atom(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    return repr(value)


def _smallest(seeds: Sequence[Call], pools: dict[tuple[str, int], Pool]) -> Iterator[str]:
    """Calls with one argument as small as it can be, and with two seeds' arguments mixed."""
    for call, literals in seeds:
        for place, literal in enumerate(literals):
            pool = pools[key_of(call, place)]
            for value in _small(ast.literal_eval(literal), pool):
                yield with_literals(call, literals, {place: as_argument(value)})
            for other in pool.values[:4]:
                yield with_literals(call, literals, {place: as_argument(other)})


def _counted(
    seeds: Sequence[Call], pools: dict[tuple[str, int], Pool], most: int
) -> Iterator[str]:
    """Calls with one number moved by one more each time."""
    for step in range(1, most + 1):
        for call, literals in seeds:
            for place, literal in enumerate(literals):
                value = ast.literal_eval(literal)
                if isinstance(value, bool) or not isinstance(value, int | float):
                    continue
                least = min(0, pools[key_of(call, place)].least)
                for other in (value + step, value - step):
                    if other >= least:
                        yield with_literals(call, literals, {place: as_argument(other)})


def _small(value: Any, pool: Pool) -> Iterator[Any]:
    match value:
        case bool():
            yield not value
        case int():
            yield from (one for one in (0, 1, 2) if one >= pool.least - 1)
        case float():
            yield from (one for one in (0.0, 1.0, 0.5) if one >= pool.least - 1)
        case str() | bytes():
            yield value[:0]
            yield value[:1]
            yield value[:2]
        case list() | tuple():
            yield value[:0]
            yield value[:1]
            yield value[:2]
            yield value[-1:]
        case dict():
            yield {}
            yield dict(list(value.items())[:1])
        case set():
            yield set()


def _changed(
    call: ast.expr, literals: Sequence[ast.expr], pools: dict[tuple[str, int], Pool],
    chance: random.Random,
) -> str:
    places = [chance.randrange(len(literals))]
    if len(literals) > 1 and chance.random() < 0.4:
        places.append(chance.randrange(len(literals)))
    texts = {}
    for place in places:
        pool = pools[key_of(call, place)]
        value = ast.literal_eval(literals[place])
        if chance.random() < MIXED:
            value = chance.choice(pool.values)
        for _ in range(chance.choice((0, 1, 1, 2, 3))):
            value = _mutated(value, pool, chance)
        texts[place] = as_argument(value)
    return with_literals(call, literals, texts)


def _mutated(value: Any, pool: Pool, chance: random.Random) -> Any:
    """A value of the same type, a step away."""
    match value:
        case bool():
            return not value
        case int():
            return _number(value, pool, chance)
        case float():
            other = chance.choice(
                (value + 1.0, value - 1.0, value * 2, value / 2, value + 0.1, round(value), -value)
            )
            return float(other if other >= min(0.0, pool.least) else abs(other))
        case str():
            return "".join(_elements(list(value), pool, chance, text=True))
        case bytes():
            return bytes(_elements(list(value), pool, chance))
        case list():
            return _elements(list(value), pool, chance)
        case tuple():
            # A pair or a record keeps its length; a longer one may be a sequence.
            return tuple(_elements(list(value), pool, chance, fixed=len(value) <= 3))
        case set():
            return {*_elements(sorted(value, key=repr), pool, chance)}
        case dict():
            return _items(value, pool, chance)
    return value


def _number(value: int, pool: Pool, chance: random.Random) -> int:
    seen = [int(one) for one in pool.numbers if isinstance(one, int)]
    other = chance.choice(
        (value + 1, value - 1, value + 2, value * 2, value // 2, value + 10, value - 10, -value,
         value * 10 + 1, chance.choice(seen) if seen else value + 3,
         chance.randint(0, int(pool.scale)))
    )
    if other < min(0, pool.least):
        other = abs(other)
    return other if abs(other) <= pool.scale else value - 1


def _elements(
    values: list[Any], pool: Pool, chance: random.Random, *, text: bool = False,
    fixed: bool = False,
) -> list[Any]:
    """A sequence with one element changed, added, dropped, repeated or moved."""
    if not values:
        return [_new(pool, chance, text)] if not fixed else values
    place = chance.randrange(len(values))
    kinds = ["change", "change", "swap"]
    if not fixed:
        kinds += ["drop", "repeat", "add", "reverse", "cut", "sort"]
    kind = chance.choice(kinds)
    if kind == "drop":
        return values[:place] + values[place + 1 :]
    if kind == "repeat" and len(values) < MAX_ELEMENTS:
        return [*values[:place], values[place], *values[place:]]
    if kind == "add" and len(values) < MAX_ELEMENTS:
        return [*values[:place], _like(values[place], pool, chance, text), *values[place:]]
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
        other = chance.randrange(len(values))
        if not fixed or type(values[place]) is type(values[other]):
            values[place], values[other] = values[other], values[place]
        return values
    values[place] = _like(values[place], pool, chance, text)
    return values


def _like(value: Any, pool: Pool, chance: random.Random, text: bool) -> Any:
    if text:
        if value.isalpha() and chance.random() < 0.3:
            return value.swapcase()
        return chance.choice(sorted(pool.letters)) if pool.letters else value
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 255:
        # An element of bytes or a small count: stays what it is.
        return min(255, _number(value, pool, chance)) if value else chance.choice((0, 1))
    return _mutated(value, pool, chance)


def _new(pool: Pool, chance: random.Random, text: bool) -> Any:
    if text:
        return chance.choice(sorted(pool.letters)) if pool.letters else "a"
    atoms = [one for value in pool.values for one in (value if isinstance(value, list) else ())]
    return chance.choice(atoms) if atoms else 1


def _items(value: dict[Any, Any], pool: Pool, chance: random.Random) -> dict[Any, Any]:
    items = list(value.items())
    if not items:
        return value
    place = chance.randrange(len(items))
    key, one = items[place]
    if chance.random() < 0.3:
        return dict(items[:place] + items[place + 1 :])
    items[place] = (key, _mutated(one, pool, chance))
    return dict(items)


def sequences(tree: ast.Module, names: frozenset[str]) -> Iterator[TestedCall]:
    """One for each `assert` of a straight line of statements that is an equation with a literal;
    none where a statement is of another kind, or an argument is no literal. An object that is made
    again under its name begins another sequence."""
    made: dict[str, ast.Call] = {}
    steps: list[ast.expr] = []
    found: list[TestedCall] = []
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
            found.append(_sequence(made, steps, expected))
    yield from found


def changeable(node: ast.expr, names: frozenset[str]) -> tuple[ast.expr, ...] | None:
    """The literals of a chain of calls that begins at one of the names, or `None`."""
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
            return (*before, *given) if all(map(is_literal, given)) else None
    return None


def _sequence(
    made: dict[str, ast.Call], steps: list[ast.expr], expected: ast.expr
) -> TestedCall:
    parameters = ast.arguments(
        posonlyargs=[], args=[ast.arg(arg=name) for name in made], kwonlyargs=[], kw_defaults=[],
        defaults=[],
    )
    body = steps[0]
    if len(steps) > 1:
        last = ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1))
        values = ast.Tuple(elts=[*steps], ctx=ast.Load())
        body = ast.Subscript(value=values, slice=last, ctx=ast.Load())
    call = ast.Call(
        func=ast.Lambda(args=parameters, body=body), args=[*made.values()], keywords=[]
    )
    literals = [one for node in (*made.values(), *steps) for one in _given(node)]
    return TestedCall(call, tuple(literals), expected)


def _given(node: ast.expr) -> tuple[ast.expr, ...]:
    return changeable(node, frozenset(names_in(node))) or ()


@dataclass(frozen=True)
class TestedCall:
    """The expression, the literals in its calls, and the literal that the test expects."""

    call: ast.Call
    literals: tuple[ast.expr, ...]
    expected: ast.expr
