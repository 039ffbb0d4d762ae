"""A test file's tests, found without running it, by pytest's default rules.

Functions `test*`, classes `Test*` without a constructor and their methods `test*`,
subclasses of `unittest.TestCase` by any name. Fixtures are no tests. What pytest would
skip over or refuse (a coroutine without its plugin) is named in a notice.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.domain import Origin, Script, TestCase
from agent.intake.errors import NotFixable
from agent.intake.parsing import (
    Definition,
    checking_helpers,
    checks,
    dotted,
    is_definition,
    parsed,
    toplevel,
    where,
)
from agent.intake.snippets import is_bare_check, tests_from_snippet

_CASES = ("TestCase", "IsolatedAsyncioTestCase", "AsyncTestCase")


@dataclass(frozen=True)
class Collected:
    """One test function in a file: its pytest node without the file's name, and its code."""

    node: str
    function: ast.FunctionDef | ast.AsyncFunctionDef
    owner: ast.ClassDef | None = None


def tests_from_file(
    text: str, filename: str, origin: Origin = "user", program: str = ""
) -> tuple[TestCase, ...]:
    """The tests of a file; raises `NotFixable` where it has none or does not parse.

    A file without test functions whose asserts stand at the top level is read as a snippet.
    """
    try:
        body = parsed(text).body
    except SyntaxError as error:
        raise NotFixable(
            "invalid_tests",
            f"{filename} is no valid Python ({where(error)}). Correct the tests and try again.",
        ) from None
    found = [entry for entry in collected(body) if not needs_plugin(entry)]
    if found:
        return tuple(
            Script(name=entry.node, origin=origin, code=text, node=entry.node) for entry in found
        )
    helpers = checking_helpers(body)
    if any(
        not is_definition(node) and (checks(node, helpers) or is_bare_check(node))
        for node in body
    ):
        return tests_from_snippet(text, origin, program)
    raise NotFixable("invalid_tests", _nothing(filename, body))


def _nothing(filename: str, body: Sequence[ast.stmt]) -> str:
    refused = [entry.node for entry in collected(body) if needs_plugin(entry)]
    if refused:
        return (
            f"{filename} has only coroutine tests ({', '.join(refused)}), which pytest alone "
            "does not run. Call them through asyncio.run in a plain test function."
        )
    uncalled = sorted(checking_helpers(body))
    if uncalled:
        return (
            f"{filename} collects no test: {uncalled[0]} checks something, but nothing calls it. "
            "Name it test_… or call it."
        )
    return (
        f"{filename} collects no test. Write functions named test_…, or asserts at the top level."
    )


def notices_of_file(text: str, filename: str) -> tuple[str, ...]:
    """What a reader must know about a file that parses: tests that will not run, and why."""
    entries = list(collected(parsed(text).body))
    notices = [
        f"{filename}: {entry.node} (line {entry.function.lineno}) is a coroutine, which pytest "
        "alone does not run; it is left out"
        for entry in entries
        if needs_plugin(entry)
    ]
    lost = _defined_twice(parsed(text).body)
    notices += [
        f"{filename}: {name} is defined twice (lines {first} and {second}); only the last one runs"
        for name, first, second in lost
    ]
    return tuple(notices)


def _defined_twice(body: Sequence[ast.stmt]) -> Iterator[tuple[str, int, int]]:
    scopes: list[tuple[str, Sequence[ast.stmt]]] = [("", body)]
    scopes += [(f"{node.name}::", node.body) for node in body if isinstance(node, ast.ClassDef)]
    for prefix, scope in scopes:
        seen: dict[str, int] = {}
        for node in scope:
            if is_definition(node) and isinstance(node, Definition) and is_test_name(node.name):
                if node.name in seen:
                    yield prefix + node.name, seen[node.name], node.lineno
                seen[node.name] = node.lineno


def is_test_name(name: str) -> bool:
    return name.startswith(("test", "Test"))


def needs_plugin(entry: Collected) -> bool:
    """A coroutine outside unittest's own asynchronous case is nothing pytest runs by itself."""
    if not isinstance(entry.function, ast.AsyncFunctionDef):
        return False
    bases = [dotted(base) for base in entry.owner.bases] if entry.owner else []
    return not any(base.endswith("IsolatedAsyncioTestCase") for base in bases)


def collected(body: Sequence[ast.stmt]) -> tuple[Collected, ...]:
    """The test functions of a file in its order; of two with one name the last."""
    definitions = [node for node in toplevel(body) if isinstance(node, Definition)]
    last = {node.name: node for node in definitions}
    classes = {n: node for n, node in last.items() if isinstance(node, ast.ClassDef)}
    found: list[Collected] = []
    for name, node in last.items():
        if isinstance(node, ast.ClassDef):
            found += _in_class(node, classes, node.name)
        elif name.startswith("test") and not is_fixture(node):
            found.append(Collected(name, node))
    return tuple(sorted(found, key=lambda entry: entry.function.lineno))


def is_fixture(node: Definition) -> bool:
    """Whether a decorator makes it a fixture."""
    heads = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
    return any(dotted(head).rpartition(".")[2] in ("fixture", "yield_fixture") for head in heads)


def is_case(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> bool:
    """Whether the class comes from unittest's `TestCase`, here or through one of the file's."""
    return any(
        dotted(base).rpartition(".")[2] in _CASES for one in _lineage(node, classes)
        for base in one.bases
    )


def _lineage(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> list[ast.ClassDef]:
    """The class and its bases in the file, nearest first."""
    line: list[ast.ClassDef] = []
    waiting = [node]
    while waiting:
        one = waiting.pop(0)
        if one not in line:
            line.append(one)
            waiting += [classes[dotted(base)] for base in one.bases if dotted(base) in classes]
    return line


def _in_class(
    node: ast.ClassDef, classes: dict[str, ast.ClassDef], path: str
) -> Iterator[Collected]:
    lineage = _lineage(node, classes)
    members: dict[str, ast.stmt] = {}
    for one in reversed(lineage):
        for member in one.body:
            if isinstance(member, Definition):
                members[member.name] = member
            elif isinstance(member, ast.Assign) and dotted(member.targets[0]) == "__test__":
                members["__test__"] = member
    case = is_case(node, classes)
    constructed = "__init__" in members or "__new__" in members
    switch = members.get("__test__")
    if (isinstance(switch, ast.Assign) and ast.unparse(switch.value) == "False") or (
        not case and (constructed or not node.name.startswith("Test"))
    ):
        return
    for name, member in members.items():
        if isinstance(member, ast.ClassDef):
            if not case:
                yield from _in_class(member, {}, f"{path}::{name}")
        elif (
            isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef))
            and name.startswith("test") and not is_fixture(member)
        ):
            yield Collected(f"{path}::{name}", member, node)
