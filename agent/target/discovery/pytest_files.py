"""Finds the tests of a pytest file by pytest's default rules, without running it.

These are functions `test*`, methods `test*` of classes `Test*` without a constructor, and
subclasses of `unittest.TestCase`. Tests that are known only when the file runs (inherited, made by
assignment or a decorator, defined under a condition) are represented by one test `OTHER_TESTS`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from agent.core.domain import OTHER_TESTS, Script, TestCase
from agent.target.errors import NotFixable
from agent.target.parsing import (
    BUILTIN_NAMES,
    Definition,
    FunctionNode,
    called_name,
    checking_helpers,
    dotted,
    imports,
    is_docstring,
    is_future_import,
    is_import,
    lines_of,
    name_usage,
    parsed,
    root_name,
    toplevel,
    toplevel_names,
)

_CASES = ("TestCase", "IsolatedAsyncioTestCase", "AsyncTestCase")
_PLAIN_BASES = (*_CASES, "object", "ABC")
_PLAIN_MARKS = ("pytest.mark.", "mark.", "unittest.", "patch", "mock.", "skip")
"""Decorators that do not replace a class."""
_MULTIPLYING = ("expand", "parameterized", "ddt", "data", "property")
"""Names of decorators that replace a test by others."""
_CONFIGURING = (
    "pytest_collect", "pytest_pycollect", "pytest_itemcollected", "collect_ignore",
    "python_functions", "python_classes", "addopts",
)
"""Names in a conftest or configuration that may change which tests pytest collects."""


@dataclass(frozen=True)
class FoundTest:
    """One test function of a file: its pytest node without the file name, and its code."""

    node: str
    function: ast.FunctionDef | ast.AsyncFunctionDef
    owner: ast.ClassDef | None = None
    sure: bool = True
    """Whether pytest certainly collects it, judging by the text."""


def tests_from_file(
    text: str, filename: str, configuration: Collection[str] = ()
) -> tuple[TestCase, ...]:
    """The tests of a file that parses.

    `configuration` are the texts of its conftest and pytest configuration files.

    Raises:
        NotFixable: pytest would collect no test.
    """
    body = parsed(text).body
    entries = collected(body)
    if not (entries or makes_tests(body) or _may_hold_tests(body)):
        raise NotFixable("invalid_tests", _no_test_message(filename, body))
    if any(word in one for one in configuration for word in _CONFIGURING):
        entries = ()
    file = filename if filename.endswith(".py") else ""
    sure = [entry.node for entry in entries if entry.sure]
    return (
        *(Script(name=one, origin="user", code=text, node=one, file=file) for one in sure),
        Script(
            name=f"{filename}::{OTHER_TESTS}", origin="user", code=text, node=OTHER_TESTS,
            excluded_nodes=tuple(sure), file=file,
        ),
    )


def makes_tests(body: Sequence[ast.stmt]) -> bool:
    """Whether a file binds a test name to a lambda or to the result of a function factory."""
    makers = {
        node.name for node in body if isinstance(node, ast.FunctionDef)
        and any(isinstance(one, Definition) for inner in node.body for one in ast.walk(inner))
    }
    return any(
        isinstance(node, ast.Assign) and any(map(is_test_name, name_usage(*node.targets).binds))
        and any(
            isinstance(one, ast.Lambda) or called_name(one) in makers
            for one in (node.value, *getattr(node.value, "elts", ()))
        )
        for node in body
    )


def _may_hold_tests(body: Sequence[ast.stmt]) -> bool:
    """Whether running a file without visible test functions may create some."""
    classes = [node for node in toplevel(body) if isinstance(node, ast.ClassDef)]
    bound = name_usage(*body).binds - {node.name for node in classes}
    return any(node.bases or node.decorator_list for node in classes) or any(
        name in ("*", "pytest_generate_tests") or is_test_name(name) for name in bound
    )


def _no_test_message(filename: str, body: Sequence[ast.stmt]) -> str:
    uncalled = sorted(checking_helpers(body))
    if uncalled:
        return (
            f"pytest collects no test in {filename}: {uncalled[0]} checks something, but nothing "
            "calls it. Name it test_… or call it."
        )
    return (
        f"pytest collects no test in {filename}. Write functions named test_…, or asserts at the "
        "top level."
    )


def notices_of_file(text: str, filename: str) -> tuple[str, ...]:
    """Warnings about tests of a file that never run, because another has the same name."""
    return tuple(
        f"{filename}: {name} is defined twice (lines {first} and {second}); only the last one runs"
        for name, first, second in _defined_twice(parsed(text).body)
    )


def _defined_twice(body: Sequence[ast.stmt]) -> Iterator[tuple[str, int, int]]:
    scopes: list[tuple[str, Sequence[ast.stmt]]] = [("", body)]
    scopes += [(f"{node.name}::", node.body) for node in body if isinstance(node, ast.ClassDef)]
    for prefix, scope in scopes:
        lines: dict[str, int] = {}
        for node in scope:
            if isinstance(node, Definition) and is_test_name(node.name):
                if node.name in lines:
                    yield prefix + node.name, lines[node.name], node.lineno
                lines[node.name] = node.lineno


def is_test_name(name: str) -> bool:
    return name.startswith(("test", "Test"))


def needs_plugin(entry: FoundTest) -> bool:
    """Whether it is a coroutine that pytest cannot run without a plugin."""
    if not isinstance(entry.function, ast.AsyncFunctionDef):
        return False
    bases = [dotted(base) for base in entry.owner.bases] if entry.owner else []
    return not any(base.endswith("IsolatedAsyncioTestCase") for base in bases)


def collected(body: Sequence[ast.stmt]) -> tuple[FoundTest, ...]:
    """The test functions of a file in order; of two with the same name only the last."""
    definitions = [node for node in toplevel(body) if isinstance(node, Definition)]
    last = {node.name: node for node in definitions}
    classes = {n: node for n, node in last.items() if isinstance(node, ast.ClassDef)}
    rebound = _rebound(body)
    found: list[FoundTest] = []
    for name, node in last.items():
        if isinstance(node, ast.ClassDef):
            found += _in_class(node, classes, node.name, rebound)
        elif name.startswith("test") and not is_fixture(node):
            found.append(FoundTest(name, node, sure=_is_unchanged(node, rebound)))
    return tuple(sorted(found, key=lambda entry: entry.function.lineno))


def _rebound(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Names of a block that may be bound to something other than their definition."""
    if any(
        isinstance(one, ast.Attribute) and one.attr == "__test__"
        for node in body for one in ast.walk(node)
    ):
        return frozenset(node.name for node in toplevel(body) if isinstance(node, Definition))
    return name_usage(*(
        node for node in body if not isinstance(node, Definition) and not is_import(node)
    )).binds


def _is_unchanged(node: Definition, rebound: Collection[str]) -> bool:
    """Whether the name certainly refers to the definition, despite its decorators."""
    heads = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
    names = [dotted(head) for head in heads]
    if isinstance(node, ast.ClassDef):
        return node.name not in rebound and not node.keywords and all(
            name.startswith(_PLAIN_MARKS) for name in names
        )
    return node.name not in rebound and all(
        name and root_name(head) not in rebound and not any(word in name for word in _MULTIPLYING)
        for head, name in zip(heads, names, strict=True)
    )


def is_fixture(node: Definition) -> bool:
    heads = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
    return any(dotted(head).rpartition(".")[2] in ("fixture", "yield_fixture") for head in heads)


def is_case(node: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> bool:
    """Whether the class derives from `unittest.TestCase`, also through classes of the file."""
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
    node: ast.ClassDef, classes: dict[str, ast.ClassDef], path: str, rebound: Collection[str]
) -> Iterator[FoundTest]:
    lineage = _lineage(node, classes)
    members: dict[str, ast.stmt] = {}
    for one in reversed(lineage):
        for member in toplevel(one.body):
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
    sure = switch is None and all(
        _is_unchanged(one, rebound) and all(
            dotted(base).rpartition(".")[2] in _PLAIN_BASES or dotted(base) in classes
            for base in one.bases
        )
        for one in lineage
    )
    inside = frozenset[str]().union(*(_rebound(one.body) for one in lineage))
    for name, member in members.items():
        if isinstance(member, ast.ClassDef):
            if not case:
                inner = _in_class(member, {}, f"{path}::{name}", inside)
                yield from (entry if sure else replace(entry, sure=False) for entry in inner)
        elif (
            isinstance(member, FunctionNode)
            and name.startswith("test") and not is_fixture(member)
        ):
            yield FoundTest(f"{path}::{name}", member, node, sure and _is_unchanged(member, inside))


_LOADING = ("importlib", "__import__", "runpy", "exec(", "subprocess", "sys.modules")
"""Names in files that may load the program in other ways than by an import."""


def borrowed(text: str, program: str, entry: str) -> tuple[str, str]:
    """Adds an import of the program to a file that uses its names without importing it.

    Returns:
        The text, and the added import; empty if none was needed.
    """
    body = parsed(text).body
    needed = _unbound(body) & toplevel_names(program)
    if not needed or _imports(body, text, PurePosixPath(entry).stem):
        return text, ""
    line = import_line(entry, _names_to_import(needed, program))
    return with_line(text, line), line


def import_line(entry: str, names: str) -> str:
    stem = PurePosixPath(entry).stem
    return f"from {stem if stem.isidentifier() else 'solution'} import {names}"


def _unbound(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Names that a file reads but that neither it nor Python defines."""
    names = name_usage(*body)
    return frozenset() if "*" in names.binds else names.reads - names.binds - BUILTIN_NAMES


def _imports(body: Sequence[ast.stmt], text: str, stem: str) -> bool:
    """Whether a file imports the program or may load it in another way."""
    return (stem in text and any(word in text for word in _LOADING)) or any(
        {stem, "solution"} & {*one.module.split("."), *one.name.split(".")}
        for one in imports(*body)
    )


def _names_to_import(needed: frozenset[str], program: str) -> str:
    """`*`, which includes names that a repair adds, or only the needed names if `*` is unsafe.

    `*` must not import names that shadow a builtin, or tests, which pytest would run in the file.
    """
    names = toplevel_names(program)
    public = {name for name in names if not name.startswith("_")}
    unsafe = {
        name for name in public
        if name in BUILTIN_NAMES or is_test_name(name) or name.startswith("pytest")
    }
    if "__all__" in names or unsafe or not needed <= public:
        return ", ".join(sorted(needed))
    return "*"


def with_line(text: str, line: str) -> str:
    """The text with this line inserted after its head without changing other line numbers."""
    body = parsed(text).body
    lines = text.split("\n")
    head = [
        node for place, node in enumerate(body)
        if is_future_import(node) or (place == 0 and is_docstring(node))
    ]
    end = max((lines_of(node).stop - 1 for node in head), default=0)
    for node in body[len(head):]:
        first = lines_of(node).start
        blank = next((n for n in range(end, first - 1) if not lines[n].strip()), None)
        if blank is not None:
            return "\n".join([*lines[:blank], line, *lines[blank + 1 :]])
        if first > end and not hasattr(node, "body"):
            return "\n".join([*lines[: first - 1], f"{line}; {lines[first - 1]}", *lines[first:]])
        end = lines_of(node).stop - 1
    return "\n".join([*lines, line, ""] if lines[-1] else [*lines[:-1], line, ""])
