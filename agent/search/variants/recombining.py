"""Inputs that anybody would try: the tests' own, recombined.

Longer, shorter, empty, uneven, swapped, repeated, turned round; near the numbers that the program
itself compares with; and further calls of the tests' objects. No person has
to read them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from agent.core.trees import is_literal, literal_source, readable
from agent.search.program import Function
from agent.search.variants.inputs import LONGEST, as_argument, seeds_of, with_literals

MOST = 120
LARGEST_LENGTH = 24
"""A sequence is made at most so long."""
MUTABLE = (list, dict, set)


def recombined_calls(text: str, names: Iterable[str], tests: Sequence[str]) -> tuple[str, ...]:
    """Up to `MOST` calls of the program's `names`, none of them a test's own, in turns by kind.

    The same program and tests give the same calls.
    """
    seeds = seeds_of(frozenset(names), tests, counting=True)
    known = {ast.unparse(call) for call, _ in seeds}
    constants = _numbers(text)
    kinds: list[Iterator[str]] = []
    for call, literals in seeds:
        values = [ast.literal_eval(one) for one in literals]
        pools = [
            [ast.literal_eval(other[place]) for _, other in seeds if len(other) == len(literals)]
            for place in range(len(literals))
        ]
        kinds += [
            _changed(call, literals, place, _others(value, pools[place], constants))
            for place, value in enumerate(values)
        ]
        kinds += [_swapped(call, literals, values), _steps(call)]
    found: dict[str, None] = {}
    while kinds and len(found) < MOST:
        for kind in list(kinds):
            one = next(kind, None)
            if one is None:
                kinds.remove(kind)
            elif one not in known and len(one) <= LONGEST and len(found) < MOST:
                found[one] = None
    return tuple(found)


def _changed(
    call: ast.expr, literals: Sequence[ast.expr], place: int, values: Iterator[Any]
) -> Iterator[str]:
    for value in values:
        yield with_literals(call, literals, {place: as_argument(value)})


def _swapped(
    call: ast.expr, literals: Sequence[ast.expr], values: Sequence[Any]
) -> Iterator[str]:
    """Two arguments of one type exchanged."""
    for first, one in enumerate(values):
        for second in range(first + 1, len(values)):
            other = values[second]
            if type(one) is type(other) and one != other:
                yield with_literals(
                    call, literals, {first: as_argument(other), second: as_argument(one)}
                )


def _steps(call: ast.expr) -> Iterator[str]:
    """What is done with an object, without one of its steps, and with one of them done twice."""
    match call:
        case ast.Call(func=ast.Lambda(
            args=parameters, body=ast.Subscript(value=ast.Tuple(elts=steps), slice=last)
        ), args=made):
            for place in range(len(steps) - 1):
                for changed in (
                    steps[:place] + steps[place + 1 :], steps[: place + 1] + steps[place:]
                ):
                    body = f"({', '.join(map(ast.unparse, changed))},)[{ast.unparse(last)}]"
                    given = ", ".join(map(ast.unparse, made))
                    yield f"(lambda {ast.unparse(parameters)}: {body})({given})"


def _others(value: Any, pool: Sequence[Any], constants: Sequence[int]) -> Iterator[Any]:
    """Values of the same type, put together from those at the same place."""
    match value:
        case str():
            for other in pool:
                if isinstance(other, str) and other != value and value and other:
                    yield f"{value} {other}"
                    yield value + other
            yield from (value[::-1], value[:-1], value.swapcase(), value + value)
            for length in _lengths(constants):
                if value:
                    yield (value * length)[:length]
        case list() | tuple():
            for made in _sequences([*value], [[*one] for one in pool if type(one) is type(value)]):
                yield made if isinstance(value, list) else tuple(made)
            for length in _lengths(constants):
                if value:
                    yield (value * length)[:length]
        case bool():
            yield not value
        case int():
            for constant in constants:
                yield from (constant, constant + 1, constant - 1)
        case float():
            for constant in constants:
                yield from (float(constant), constant + 0.5, constant - 0.5)
        case dict():
            for other in pool:
                if isinstance(other, dict) and other != value:
                    yield {**value, **other}
        case set():
            for other in pool:
                if isinstance(other, set) and other != value:
                    yield value | other


def _sequences(value: list[Any], pool: Sequence[list[Any]]) -> Iterator[list[Any]]:
    """Longer with others and by itself, turned round, shorter at either end, one element thrice."""
    yield from (value + other for other in pool if other != value)
    yield from (value[::-1], value[:-1], value[1:], value + value, value[:1] * 3)


def _lengths(constants: Sequence[int]) -> Iterator[int]:
    for constant in constants:
        for length in (constant, constant + 1, constant - 1):
            if 0 < length <= LARGEST_LENGTH:
                yield length


def _numbers(text: str) -> tuple[int, ...]:
    """The whole numbers that a program compares with."""
    tree = readable(text)
    return tuple(dict.fromkeys(
        side.value
        for node in ast.walk(tree) if isinstance(node, ast.Compare)
        for side in (node.left, *node.comparators)
        if isinstance(side, ast.Constant) and type(side.value) is int
    ))


def observing_calls(text: str, names: Iterable[str], tests: Sequence[str]) -> tuple[str, ...]:
    """Calls that look at more than the tests do: an argument after the call, in the tests' own
    calls, and the other attributes and methods without arguments of an object they make."""
    functions, members = _defined(text)
    found: dict[str, None] = {}
    for call, literals in seeds_of(frozenset(names), tests, counting=False):
        match call:
            case ast.Call(func=ast.Name(id=name)) if name in functions:
                look = _with_arguments(call, name, literals)
                if look:
                    found[look] = None
            case ast.Call(func=ast.Name(id=name)) if name in members:
                made = ast.unparse(call)
                found.update(dict.fromkeys(f"{made}.{member}" for member in members[name]))
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id=name)) as made)):
                found.update(dict.fromkeys(
                    f"{ast.unparse(made)}.{member}" for member in members.get(name, ())
                ))
    return tuple(found)[:MOST]


def _with_arguments(call: ast.Call, name: str, literals: Sequence[ast.expr]) -> str:
    """A call together with its arguments as it leaves them, where it could change one."""
    if call.keywords or not any(isinstance(ast.literal_eval(one), MUTABLE) for one in literals):
        return ""
    given = [f"given_{place}" for place in range(len(call.args))]
    values = ", ".join(
        literal_source(ast.literal_eval(one)) for one in call.args if is_literal(one)
    )
    inner = f"(lambda {', '.join(given)}: ({name}({', '.join(given)}), {', '.join(given)}))"
    return f"(lambda {name}: {inner}({values}))({name})"


def _defined(text: str) -> tuple[frozenset[str], dict[str, tuple[str, ...]]]:
    """The functions of a program, and of each class what can be read of an object of it."""
    tree = readable(text)
    functions = frozenset(node.name for node in tree.body if isinstance(node, Function))
    members = {
        node.name: tuple(dict.fromkeys(_members(node)))
        for node in tree.body if isinstance(node, ast.ClassDef)
    }
    return functions, members


def _members(node: ast.ClassDef) -> Iterator[str]:
    for one in node.body:
        if isinstance(one, Function) and not one.name.startswith("_") and len(one.args.args) == 1:
            yield f"{one.name}()"
    for inner in ast.walk(node):
        match inner:
            case ast.Attribute(value=ast.Name(id="self"), attr=attr, ctx=ast.Store()):
                if not attr.startswith("_"):
                    yield attr
