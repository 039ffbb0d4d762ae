"""Calls whose arguments are recombined from those of the tests.

Arguments become longer, shorter, empty, swapped, repeated or reversed, or come near the numbers
that the program compares with. Further calls read more of the objects of the tests.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from agent.core.trees import is_literal, literal_source, parse_or_empty
from agent.search.program import Function
from agent.search.variants.inputs import LONGEST, as_argument, seeds_of, with_literals, with_values

MOST = 120
LARGEST_LENGTH = 24
"""Length up to which a sequence is repeated."""
MUTABLE = (list, dict, set)


def recombined_calls(text: str, names: Iterable[str], tests: Sequence[str]) -> tuple[str, ...]:
    """Up to `MOST` calls of the program's `names` that no test makes, alternating between kinds.

    Deterministic.
    """
    seeds = seeds_of(frozenset(names), tests, stateful=True)
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
            with_values(call, literals, place, _others(value, pools[place], constants))
            for place, value in enumerate(values)
        ]
        kinds += [_swapped(call, literals, values), _changed_sequences(call)]
    found: dict[str, None] = {}
    while kinds and len(found) < MOST:
        for kind in list(kinds):
            one = next(kind, None)
            if one is None:
                kinds.remove(kind)
            elif one not in known and len(one) <= LONGEST and len(found) < MOST:
                found[one] = None
    return tuple(found)


def _swapped(call: ast.expr, literals: Sequence[ast.expr], values: Sequence[Any]) -> Iterator[str]:
    """Calls with two arguments of the same type swapped."""
    for first, one in enumerate(values):
        for second in range(first + 1, len(values)):
            other = values[second]
            if type(one) is type(other) and one != other:
                yield with_literals(
                    call, literals, {first: as_argument(other), second: as_argument(one)}
                )


def _changed_sequences(call: ast.expr) -> Iterator[str]:
    """Sequences of calls on an object with one step dropped or repeated."""
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
    """Values of the same type, combined from those at the same place."""
    kind = type(value)
    others = [one for one in pool if type(one) is kind and one != value]
    if kind is str:
        for other in others:
            if value and other:
                yield from (f"{value} {other}", value + other)
        yield from (value[::-1], value[:-1], value.swapcase(), value + value)
    elif kind in (list, tuple):
        yield from (value + other for other in others)
        yield from (value[::-1], value[:-1], value[1:], value + value, value[:1] * 3)
    elif kind is bool:
        yield not value
    elif kind is int:
        for constant in constants:
            yield from (constant, constant + 1, constant - 1)
    elif kind is float:
        for constant in constants:
            yield from (float(constant), constant + 0.5, constant - 0.5)
    elif kind in (dict, set):
        yield from (value | other for other in others)
    if kind in (str, list, tuple) and value:
        for constant in constants:
            for length in (constant, constant + 1, constant - 1):
                if 0 < length <= LARGEST_LENGTH:
                    yield (value * length)[:length]


def _numbers(text: str) -> tuple[int, ...]:
    """The integers that a program compares with."""
    tree = parse_or_empty(text)
    return tuple(dict.fromkeys(
        side.value
        for node in ast.walk(tree) if isinstance(node, ast.Compare)
        for side in (node.left, *node.comparators)
        if isinstance(side, ast.Constant) and type(side.value) is int
    ))


def observing_calls(text: str, names: Iterable[str], tests: Sequence[str]) -> tuple[str, ...]:
    """Calls that observe more than the tests do: the arguments after the tests' own calls, and all
    attributes and methods without arguments of their objects."""
    functions, members = _defined(text)
    found: dict[str, None] = {}
    for call, literals in seeds_of(frozenset(names), tests, stateful=False):
        match call:
            case ast.Call(func=ast.Name(id=name)) if name in functions:
                if observing := _with_arguments(call, name, literals):
                    found[observing] = None
            case ast.Call(func=ast.Name(id=name)) if name in members:
                found.update((f"{ast.unparse(call)}.{one}", None) for one in members[name])
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id=name)) as made)):
                found.update((f"{ast.unparse(made)}.{one}", None) for one in members.get(name, ()))
    return tuple(found)[:MOST]


def _with_arguments(call: ast.Call, name: str, literals: Sequence[ast.expr]) -> str:
    """A call that returns its result and its arguments; empty if no argument is mutable."""
    if call.keywords or not any(isinstance(ast.literal_eval(one), MUTABLE) for one in literals):
        return ""
    given = [f"given_{place}" for place in range(len(call.args))]
    values = ", ".join(
        literal_source(ast.literal_eval(one)) for one in call.args if is_literal(one)
    )
    inner = f"(lambda {', '.join(given)}: ({name}({', '.join(given)}), {', '.join(given)}))"
    return f"(lambda {name}: {inner}({values}))({name})"


def _defined(text: str) -> tuple[frozenset[str], dict[str, tuple[str, ...]]]:
    """The functions of a program, and for each class the attributes and methods to read."""
    tree = parse_or_empty(text)
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
