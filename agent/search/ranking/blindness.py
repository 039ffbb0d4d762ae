"""Detects blind patches: functions whose answer no longer depends on their arguments.

Such a patch passes every test that expects this one value, and repairs nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from agent.core.trees import is_literal, nodes_or_empty, parse_or_empty
from agent.search.inspection.dead_code import reachable_children
from agent.search.program import BUILTINS, Function, parameters, variable_names

Blindness = Literal["", "doubtful", "refused"]


def blindness(before: str, after: str, tests: Iterable[str]) -> Blindness:
    """Whether a changed function of `after` no longer depends on its parameters.

    A function that did not depend on them before either is blind only if it returns a constant.

    Returns:
        `refused` if all asserts of that function expect the same value, if a constant is printed
        that a test expects in the output, or if, without tests, statement calls were removed;
        `doubtful` if the asserts expect different values; otherwise empty.
    """
    old = _functions(before)
    tests = tuple(tests)
    counts = [_statement_calls(parse_or_empty(text)) for text in (before, after)]
    if not tests and counts[1] < counts[0]:
        return "refused"
    output = frozenset(line for test in tests for line in _expected_output(test))
    if output and all(now > was for now, was in zip(
        _constant_prints(after, output), _constant_prints(before, output), strict=True
    )):
        return "refused"
    found: Blindness = ""
    for name, (text, node) in _functions(after).items():
        if name not in old or old[name][0] == text:
            continue
        was, now = _dependence(old[name][1]), _dependence(node)
        if now.reads or not now.parameters:
            continue
        if was.reads or (now.is_constant and now.parameters - {"self", "cls"}):
            if len(_expected_values(tests, name.rpartition(".")[2])) == 1:
                return "refused"
            found = "doubtful"
    return found


def _statement_calls(node: ast.AST) -> int:
    """The number of reachable calls whose result is not used."""
    is_one = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    return is_one + sum(map(_statement_calls, reachable_children(node)))


def prints(text: str, reached: Collection[int] = ()) -> bool:
    """Whether a program always prints on a line that is not among those `reached`."""
    pending: list[ast.AST] = [*parse_or_empty(text).body]
    while pending:
        match pending.pop():
            case ast.Expr(value=ast.Call(func=ast.Name(id="print"))) as line:
                if line.lineno not in reached:
                    return True
            case ast.FunctionDef() | ast.For() | ast.With() | ast.Try() as block:
                pending += block.body
    return False


@dataclass(frozen=True)
class _Dependence:
    """What the answer of a function depends on."""

    parameters: frozenset[str]
    reads: frozenset[str]
    """Parameters that the answer, or the control flow, depends on."""
    is_constant: bool


@lru_cache(maxsize=2)  # the program's text, and that of one candidate after the other
def _functions(text: str) -> dict[str, tuple[str, Function]]:
    """The source and the node of each function by its dotted name; empty if it does not parse."""
    lines = text.splitlines()
    return {
        name: ("\n".join(lines[node.lineno - 1 : node.end_lineno]), node)
        for name, node in _named_functions(parse_or_empty(text), "")
    }


@lru_cache(maxsize=2)
def _constant_prints(text: str, output: frozenset[str]) -> tuple[int, int]:
    """The number of `print` calls with constants only, and how many print a line of `output`.

    Those that report an exception of a named class do not count.
    """
    printed = [
        " ".join(str(ast.literal_eval(one)) for one in node.args)
        for node in _outside_handlers(parse_or_empty(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        and node.func.id == "print" and node.args and all(map(is_literal, node.args))
    ]
    return len(printed), sum(any(line in one for line in output) for one in printed)


def _outside_handlers(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.ExceptHandler) and child.type is not None):
            yield from _outside_handlers(child)


@lru_cache(maxsize=64)
def _expected_output(test: str) -> tuple[str, ...]:
    """The lines of all constants of a test that reads the program's output."""
    tree = parse_or_empty(test)
    if not _mentioned(tree) & {"output", "readouterr", "stdout"}:
        return ()
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return tuple(
        line for one in constants if isinstance(one, str | int | float)
        for line in str(one).split("\n") if line.strip()
    )


def _named_functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield from _named_functions(child, f"{prefix}{child.name}.")
        elif isinstance(child, Function):
            yield f"{prefix}{child.name}", child
        elif isinstance(child, ast.stmt):
            yield from _named_functions(child, prefix)


def _dependence(function: Function) -> _Dependence:
    variadic = filter(None, (function.args.vararg, function.args.kwarg))
    given = frozenset([*parameters(function), *(one.arg for one in variadic)])
    ends = [place for place, one in enumerate(function.body) if isinstance(one, ast.Return)]
    reachable = function.body[: ends[0] + 1] if ends else function.body
    nodes = [node for statement in reachable for node in ast.walk(statement)]
    needed = _names(_deciding(nodes))
    while True:
        more = needed | _names(node for node in nodes if _assigned(node) & needed)
        if more == needed:
            break
        needed = more
    answers = any(isinstance(one, ast.Return) and one.value for one in nodes)
    return _Dependence(given, needed & given, answers and needed <= BUILTINS - given)


def _deciding(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes that the answer and the control flow directly depend on."""
    for node in nodes:
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


def _assigned(node: ast.AST) -> frozenset[str]:
    """Names to which a statement or a call may assign a value, or whose value it may change."""
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
    return frozenset(variable_names(*nodes))


def _expected_values(tests: tuple[str, ...], name: str) -> frozenset[str]:
    """The values expected by asserts that mention a function; for other asserts the condition."""
    return frozenset(
        _expected_value(node.test) for test in tests for node in nodes_or_empty(test)
        if isinstance(node, ast.Assert) and name in _mentioned(node.test)
    )


def _mentioned(node: ast.AST) -> frozenset[str]:
    """Names and attributes in a node."""
    return frozenset(
        one.id if isinstance(one, ast.Name) else one.attr
        for one in ast.walk(node) if isinstance(one, ast.Name | ast.Attribute)
    )


def _expected_value(test: ast.expr) -> str:
    match test:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            values = [one for one in (left, right) if not _mentioned(one)]
            return ast.unparse(values[0] if len(values) == 1 else test)
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call()):
            return "False"
        case ast.Call():
            return "True"
    return ast.unparse(test)
