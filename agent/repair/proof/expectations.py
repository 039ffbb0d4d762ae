"""What nobody wrote down and everybody expects: relations between a call and its answer.

A relation counts where the tests themselves show it, each of them, and more than once. What the
repair then answers to other inputs may break it: that is a doubt, with the input, and never a
veto, since a relation may hold in the tests by chance.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from agent.core.trees import parse_expression

LEAST_SHOWN = 3
"""Tests that show a relation before it counts."""
MOST_DOUBTS = 3

Relation = Callable[[tuple[Any, ...], Any], bool | None]
"""Whether arguments and answer stand in it; `None` where they say nothing of it. `Any`: plain
values of whatever types the tests have."""


@dataclass(frozen=True)
class Known:
    """A call, its arguments, and what it gives."""

    call: str
    arguments: tuple[Any, ...]
    answer: Any

    @property
    def function(self) -> str:
        return self.call.partition("(")[0]


def known(call: str, answer: object) -> Known | None:
    """A call of a name with literals alone, told apart; `None` for any other."""
    try:
        node = parse_expression(call)
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.keywords:
            return None
        return Known(call, tuple(ast.literal_eval(one) for one in node.args), answer)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None


def doubts(tests: Sequence[Known], answers: Sequence[Known]) -> tuple[str, ...]:
    """Inputs whose answers break what the tests show of the same function, each with the relation
    that it breaks, in words."""
    found: dict[str, str] = {}
    for name, relation in RELATIONS.items():
        for function in dict.fromkeys(one.function for one in tests):
            own = [one for one in tests if one.function == function]
            if not _shown(own, relation):
                continue
            for other in answers:
                if other.function == function and _holds(other, relation) is False:
                    found.setdefault(name, f"`{other.call}` gives {other.answer!r}: {name}")
    found.update(_unsymmetric(tests, answers))
    return tuple(found.values())[:MOST_DOUBTS]


def _shown(tests: Sequence[Known], relation: Relation) -> bool:
    seen = [_holds(one, relation) for one in tests]
    return seen.count(True) >= LEAST_SHOWN and False not in seen


def _holds(one: Known, relation: Relation) -> bool | None:
    try:
        return relation(one.arguments, one.answer)
    except (TypeError, ValueError, IndexError):
        return None


def _length(place: int) -> Relation:
    def relation(arguments: tuple[Any, ...], answer: Any) -> bool | None:
        given = arguments[place]
        if not isinstance(given, list | tuple | str) or not isinstance(answer, list | tuple | str):
            return None
        return len(given) == len(answer) if given or answer else None
    return relation


def _elements(place: int) -> Relation:
    def relation(arguments: tuple[Any, ...], answer: Any) -> bool | None:
        given = arguments[place]
        if not isinstance(given, list | tuple | str) or type(given) is not type(answer):
            return None
        if len(given) < 2 and len(answer) < 2:
            return None
        return Counter(map(repr, given)) == Counter(map(repr, answer))
    return relation


def _all_elements(arguments: tuple[Any, ...], answer: Any) -> bool | None:
    """What several sequences hold together, no more and no less."""
    given = [one for one in arguments if isinstance(one, list | tuple)]
    if len(given) < 2 or len(given) < len(arguments) or not isinstance(answer, list | tuple):
        return None
    return Counter(repr(one) for part in given for one in part) == Counter(map(repr, answer))


def _ascending(arguments: tuple[Any, ...], answer: Any) -> bool | None:
    if not isinstance(answer, list) or len(answer) < 2 or not _in_order(arguments):
        return None
    return all(one <= other for one, other in pairwise(answer))


def _in_order(arguments: tuple[Any, ...]) -> bool:
    """Whether all lists among several arguments are in order; one list alone may be in any."""
    given = [one for one in arguments if isinstance(one, list)]
    return len(given) < 2 or all(one == sorted(one) for one in given)


def _one_of_them(arguments: tuple[Any, ...], answer: Any) -> bool | None:
    given = arguments[0]
    if len(arguments) != 1 or not isinstance(given, list | tuple) or len(given) < 2:
        return None
    return answer in given


RELATIONS: dict[str, Relation] = {
    "the tests' answers are as long as the first argument": _length(0),
    "the tests' answers have the elements of the first argument": _elements(0),
    "the tests' answers have the elements of all arguments": _all_elements,
    "the tests' answers are in ascending order": _ascending,
    "the tests' answers are one of the elements": _one_of_them,
}
"""What the tests may show, in the words of a doubt."""


def _unsymmetric(tests: Sequence[Known], answers: Sequence[Known]) -> Iterator[tuple[str, str]]:
    """Where the tests say the same of two arguments in both orders, and never otherwise."""
    told = {(one.function, repr(one.arguments)): one.answer for one in tests}
    pairs = [
        told[function, repr(turned)] == one.answer
        for one in tests if len(one.arguments) == 2 and one.arguments[0] != one.arguments[1]
        for function, turned in [(one.function, one.arguments[::-1])]
        if (function, repr(turned)) in told
    ]
    if not pairs or not all(pairs):
        return
    every = {(one.function, repr(one.arguments)): one for one in (*tests, *answers)}
    for one in answers:
        other = every.get((one.function, repr(one.arguments[::-1])))
        if len(one.arguments) == 2 and other is not None and other.answer != one.answer:
            name = "the tests' answers are the same in both orders"
            both = f"`{one.call}` gives {one.answer!r}, `{other.call}` {other.answer!r}"
            yield name, f"{both}: {name}"
            return
