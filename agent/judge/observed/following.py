"""Finds, before they run, the tests that nobody can follow from outside of the program's process.

What is overlooked here costs time alone: the observed run stops where it cannot follow.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache

from agent.core.trees import parse
from agent.judge.nodes import EVERY
from agent.judge.texts.transform import imported_from

_STARTING = ("subprocess", "runpy", "multiprocessing")
_LOGGED = ("text", "records", "record_tuples", "messages", "get_records")
_WARNED = (
    "warns", "assertWarns", "assertWarnsRegex", "catch_warnings", "deprecated_call", "recwarn",
)
_LOGS = ("assertLogs", "assertNoLogs")
_SETTING_UP = (
    "setup_module", "setUpModule", "setup_function", "teardown_function", "teardown_module",
    "tearDownModule",
)
_LIBRARY = (
    "math", "os", "os.path", "sys", "time", "random", "json", "datetime", "builtins", "requests",
    "socket", "io", "shutil", "pathlib",
)

_Function = ast.FunctionDef | ast.AsyncFunctionDef


@lru_cache(maxsize=1024)
def unfollowable(code: str, modules: frozenset[str]) -> Mapping[str, str]:
    """Test functions (`test_a`, `TestB::test_c`; `*` is all) to why they cannot be followed.

    `modules` are the importable modules of the program.
    """
    try:
        tree = parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    file = _File(tree, {*imported_from(tree, modules), *modules})
    reason = file.everywhere()
    if reason:
        return {EVERY: reason}
    return {name: why for name, node in _tests(tree) if (why := file.reason(node))}


@lru_cache(maxsize=1024)
def names_of_functions(code: str) -> tuple[str, ...]:
    """The test functions of a file, as `unfollowable` names them."""
    try:
        return tuple(name for name, _ in _tests(parse(code)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()


def _tests(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Names of tests, each with what belongs to it."""
    for node in tree.body:
        if isinstance(node, _Function) and node.name.startswith("test"):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            methods = [n for n in node.body if isinstance(n, _Function)]
            for method in methods:
                if method.name.startswith("test"):
                    others: list[ast.stmt] = [
                        one for one in node.body
                        if one is method or not (one in methods and _is_test(one))
                    ]
                    yield f"{node.name}::{method.name}", ast.Module(others, [])


def _is_test(node: ast.stmt) -> bool:
    return isinstance(node, _Function) and node.name.startswith("test")


class _File:
    """The parts of one file of tests."""

    def __init__(self, tree: ast.Module, own: set[str]) -> None:
        self._tree = tree
        self._own = own
        self._parts = {
            node.name: node for node in tree.body
            if isinstance(node, _Function | ast.ClassDef) and not node.name.startswith("test")
        }
        self._starting = {name for name, module in _imported(tree) if module in _STARTING}

    def everywhere(self) -> str:
        """Why none of the tests can be followed."""
        for node in self._tree.body:
            named = getattr(node, "name", "")
            automatic = isinstance(node, _Function) and any(
                "autouse=True" in ast.unparse(one) for one in node.decorator_list
            )
            runs_at_once = not isinstance(
                node, _Function | ast.ClassDef | ast.Import | ast.ImportFrom
            )
            if runs_at_once or automatic or named in _SETTING_UP:
                reason = self.reason(node)
                if reason:
                    return reason
        return ""

    def reason(self, test: ast.AST) -> str:
        """Why a test cannot be followed: by what it, or what it names, does."""
        waiting, seen = [test], set[str]()
        while waiting:
            for node in ast.walk(waiting.pop()):
                reason = self._why(node)
                if reason:
                    return reason
                name = _name(node)
                if name in self._parts and name not in seen:
                    seen.add(name)
                    waiting.append(self._parts[name])
        return ""

    def _why(self, node: ast.AST) -> str:
        name = _name(node)
        if name in self._starting:
            return f"the test starts the program itself, by {name}"
        if self._runs_coroutine(node):
            return "a coroutine cannot cross"
        if name in _WARNED:
            return "the test asks what the program warns of"
        if name in _LOGS:
            return "the test reads what the program logs"
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "caplog":
            return "the test reads what the program logs" if node.attr in _LOGGED else ""
        if isinstance(node, ast.Call):
            return _patches(node, self._own)
        return ""

    def _runs_coroutine(self, node: ast.AST) -> bool:
        """Whether a coroutine of the program is waited for."""
        match node:
            case ast.Await(value=ast.Call(func=function)):
                pass
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="asyncio"), attr="run"),
                args=[ast.Call(func=function)],
            ):
                pass
            case _:
                return False
        while isinstance(function, ast.Attribute):
            function = function.value
        return isinstance(function, ast.Name) and function.id in self._own


def _name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
            return name
    return ""


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Names that imports bind, each with the module it leads to."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0], alias.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield alias.asname or alias.name, node.module.partition(".")[0]


def _patches(node: ast.Call, own: set[str]) -> str:
    """Why a patch is out of reach: it replaces something the solution's process would not see."""
    function = ast.unparse(node.func)
    patching = function.rpartition(".")[2] == "patch" or function.endswith(
        ("monkeypatch.setattr", "patch.object", "monkeypatch.delattr")
    )
    if not patching or not node.args:
        return ""
    target = node.args[0]
    if isinstance(target, ast.Constant) and isinstance(target.value, str):
        owner = replaced = target.value
    else:
        owner = ast.unparse(target)
        replaced = f"a part of {owner}"
        if owner not in _LIBRARY:
            return ""
    if owner.partition(".")[0] in own:
        return ""
    return f"the test replaces {replaced}, which the solution would have to see"
