"""Patches that answer without looking: the same value whatever the arguments are.

Such a patch passes every test that expects this one value, and repairs nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from agent.core.trees import is_literal, readable
from agent.search.program import BUILTINS, Function, names_in, parameters

Blindness = Literal["", "doubtful", "refused"]


def blindness(before: str, after: str, tests: Iterable[str]) -> Blindness:
    """Whether a changed function of `after` no longer depends on its parameters.

    It is refused where the tests of that function all expect one same value, doubtful where
    they say more, since a value that fits them all may be meant. To print one constant more than
    before is no repair either where a test looks for it in the output. A function that never looked
    at its parameters may go on so, but not by returning a bare constant. Where nothing is
    tested, less work is none: a call that crashes taken out.
    """
    old, worst = _functions(before), ""
    tests = tuple(tests)
    if not tests and _works(after) < _works(before):
        return "refused"
    sought = frozenset(word for test in tests for word in _sought(test))
    if sought and all(now > was for now, was in zip(
        _recited(after, sought), _recited(before, sought), strict=True
    )):
        return "refused"
    for name, (text, node) in _functions(after).items():
        if name not in old or old[name][0] == text:
            continue
        was, now = _answer(old[name][1]), _answer(node)
        if now.reads or not now.parameters:
            continue
        if was.reads or (now.is_constant and now.parameters - {"self", "cls"}):
            if len(_expected(tests, name.rpartition(".")[2])) == 1:
                return "refused"
            worst = "doubtful"
    return "doubtful" if worst else ""


def _works(text: str) -> int:
    """How many calls of a text can be come to that are made for what they do, and not for their
    answer."""
    return _works_of(readable(text))


def _works_of(node: ast.AST) -> int:
    made = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    return made + sum(
        _works_of(one) for _, part in ast.iter_fields(node)
        for one in _come_to(part if isinstance(part, list) else [part])
    )


def prints(text: str, reached: Collection[int] = ()) -> bool:
    """Whether the text of a program shows that it prints in any case, beyond lines `reached`."""
    waiting: list[ast.AST] = [*readable(text).body]
    while waiting:
        match waiting.pop():
            case ast.Expr(value=ast.Call(func=ast.Name(id="print"))) as line:
                if line.lineno not in reached:
                    return True
            case ast.FunctionDef() | ast.For() | ast.With() | ast.Try() as block:
                waiting += block.body
    return False


def _come_to(parts: list[object]) -> Iterator[ast.AST]:
    """The nodes up to a statement that leaves its block."""
    for one in parts:
        if isinstance(one, ast.AST):
            yield one
        if isinstance(one, ast.Return | ast.Raise | ast.Break | ast.Continue):
            return


@dataclass(frozen=True)
class _Answer:
    """What a function's answer is made from."""

    parameters: frozenset[str]
    reads: frozenset[str]
    """Parameters that the answer, or the way to it, depends on."""
    is_constant: bool


@lru_cache(maxsize=2)
def _functions(text: str) -> dict[str, tuple[str, Function]]:
    """The lines and the node of each function by its dotted name, none where nothing parses.

    One text is asked about together with many others, so two are kept.
    """
    tree = readable(text)
    lines = text.splitlines()
    return {
        name: ("\n".join(lines[node.lineno - 1 : node.end_lineno]), node)
        for name, node in _named(tree, "")
    }


@lru_cache(maxsize=2)
def _recited(text: str, sought: frozenset[str]) -> tuple[int, int]:
    """How many calls of `print` print constants alone, and how many of them what is sought; those
    that report an exception of a named class do not count."""
    printed = [
        " ".join(str(ast.literal_eval(one)) for one in node.args)
        for node in _unless_raised(readable(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        and node.func.id == "print" and node.args and all(map(is_literal, node.args))
    ]
    return len(printed), sum(any(word in one for word in sought) for one in printed)


def _unless_raised(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.ExceptHandler) and child.type is not None):
            yield from _unless_raised(child)


@lru_cache(maxsize=64)
def _sought(test: str) -> tuple[str, ...]:
    """The lines of the constants of a test that reads what is printed."""
    tree = readable(test)
    if not _called(tree) & {"output", "readouterr", "stdout"}:
        return ()
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return tuple(
        line for one in constants if isinstance(one, str | int | float)
        for line in str(one).split("\n") if line.strip()
    )


def _named(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from _named(child, f"{prefix}{child.name}.")
        elif isinstance(child, Function):
            yield f"{prefix}{child.name}", child
        elif isinstance(child, ast.stmt):
            yield from _named(child, prefix)


def _answer(function: Function) -> _Answer:
    further = filter(None, (function.args.vararg, function.args.kwarg))
    given = frozenset([*parameters(function), *(one.arg for one in further)])
    body = _living(function.body)
    needed = _names(_deciding(body))
    while True:
        more = needed | _names(
            node for node in _within(body) if _given(node) & needed
        )
        if more == needed:
            break
        needed = more
    answers = any(isinstance(one, ast.Return) and one.value for one in _within(body))
    return _Answer(
        given, needed & given, answers and needed <= BUILTINS - given
    )


def _living(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements up to the first `return` under no condition."""
    ends = [place for place, one in enumerate(body) if isinstance(one, ast.Return)]
    return body[: ends[0] + 1] if ends else body


def _within(body: list[ast.stmt]) -> Iterator[ast.AST]:
    return (node for statement in body for node in ast.walk(statement))


def _deciding(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Expressions that are the answer, or that choose the way to it."""
    for node in _within(body):
        match node:
            case ast.Return() | ast.Yield() | ast.YieldFrom() | ast.Raise() | ast.Global():
                yield node
            case ast.If(test=found) | ast.While(test=found) | ast.Assert(test=found):
                yield found
            case ast.For(iter=found) | ast.AsyncFor(iter=found) | ast.Match(subject=found):
                yield found
            case ast.With() | ast.AsyncWith():
                yield from node.items
            case ast.Try():
                yield from node.body


def _given(node: ast.AST) -> frozenset[str]:
    """Names that a statement or a method call may give a value to."""
    match node:
        case ast.Assign(targets=targets):
            places: list[ast.AST] = [*targets]
        case ast.AugAssign(target=target) | ast.AnnAssign(target=target):
            places = [target]
        case ast.NamedExpr(target=target):
            places = [target]
        case ast.Call(func=ast.Attribute(value=owner)):
            places = [owner]
        case ast.Call(args=arguments):
            places = [one for one in arguments if isinstance(one, ast.Name)]
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return frozenset({name})
        case _:
            return frozenset()
    return _names(places)


def _names(nodes: Iterable[ast.AST]) -> frozenset[str]:
    return frozenset(names_in(*nodes))


def _expected(tests: tuple[str, ...], name: str) -> frozenset[str]:
    """What asserts that name a function expect; one that says something else is itself."""
    found = set()
    for test in tests:
        tree = readable(test)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assert) and name in _called(node.test):
                found.add(_wanted(node.test))
    return frozenset(found)


def _called(node: ast.AST) -> frozenset[str]:
    """Last names of what an expression mentions."""
    return frozenset(
        one.id if isinstance(one, ast.Name) else one.attr
        for one in ast.walk(node) if isinstance(one, ast.Name | ast.Attribute)
    )


def _wanted(test: ast.expr) -> str:
    match test:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            values = [one for one in (left, right) if not _called(one)]
            return ast.unparse(values[0] if len(values) == 1 else test)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call()):
            return "False"
        case ast.Call():
            return "True"
    return ast.unparse(test)
