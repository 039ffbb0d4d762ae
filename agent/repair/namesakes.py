"""What Python itself has by the name of a function: `median`, `fact`, `is_leap`, `power`.

Whoever reads the name expects that function. Where it passes all tests as well and answers
otherwise, the repair is one of two.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agent.repair.program import Function, Program, Splice

KNOWN: dict[str, tuple[str, ...]] = {
    "builtins": ("abs", "max", "min", "pow", "round", "sorted", "sum"),
    "math": ("comb", "factorial", "gcd", "isqrt", "lcm", "perm", "prod"),
    "statistics": ("mean", "median", "mode"),
    "calendar": ("isleap",),
    "str": ("capitalize", "swapcase", "title"),
}
"""Functions that are the same whoever writes them, by their modules."""
LEAST = 3
"""Letters by which a shortened name is told: `fact`, `sort`."""


def namesakes(program: Program, function: Function) -> Iterator[Splice]:
    """A function of a module that does nothing but call its namesake."""
    own = function.args
    if own.vararg or own.kwarg or own.kwonlyargs or not isinstance(
        program.parents.get(function), ast.Module
    ):
        return
    names = [one.arg for one in (*own.posonlyargs, *own.args)]
    words = [*function.name.lower().split("_"), function.name.lower().replace("_", "")]
    start, end = program.start(function.body[0]), program.end(function.body[-1])
    for module, members in KNOWN.items():
        for member in members:
            if names and any(_is_meant(word, member) for word in words):
                called = f"__import__({module!r}).{member}({', '.join(names)})"
                if module == "str":
                    called = f"{names[0]}.{member}({', '.join(names[1:])})"
                yield Splice(start, end, f"return {called}", 3.0, function.lineno)


def _is_meant(word: str, member: str) -> bool:
    """Whether one is the other, or its beginning."""
    plain = member.removeprefix("is")
    return min(len(word), len(plain)) >= LEAST and (
        word in (member, plain) or member.startswith(word) or word.startswith(plain)
    )
