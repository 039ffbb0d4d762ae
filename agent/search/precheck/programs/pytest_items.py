"""Runs the tests of pytest files against many candidates with one collection.

The files are collected once, importing the base program. For each candidate the names that the test
modules imported from the program are bound to the candidate's, and the items run again: a plain
function is called directly; an item with fixtures or marks runs by pytest's own protocol. If tests
fail only after others, their files are executed for each candidate, and shared fixtures are kept as
long as pytest would keep them.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from _pytest.assertion import rewrite
from _pytest.runner import runtestprotocol

from agent.verify.node_ids import matches_node
from agent.verify.programs.pytest_session import plugins_for, restore_library_modules


class Placeholder:
    """Replaces a name of a program that cannot be imported, while tests are collected."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Placeholder:
        if name.startswith("__"):
            raise AttributeError(name)
        return Placeholder(f"{self.name}.{name}")

    def __call__(self, *args: object, **kwargs: object) -> Placeholder:
        return Placeholder(f"{self.name}()")


class PlaceholderModule(types.ModuleType):
    """Has every name, so that a test file can be collected without its program."""

    def __getattr__(self, name: str) -> Placeholder:
        if name.startswith("__"):
            raise AttributeError(name)
        return Placeholder(name)


class Items:
    """The collected items of all test files, found by file text and node."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._items: dict[str, list[Any]] = {}
        """The items by the text of their file."""
        self._found: dict[tuple[str, str, tuple[str, ...]], list[Any]] = {}
        self._imported_names: dict[str, list[tuple[str, str, str]]] = {}
        self._raised: BaseException | None = None
        self._session: pytest.Session | None = None
        self._codes: list[tuple[types.ModuleType, types.CodeType]] = []
        """The test modules and `conftest.py` files with their code."""
        self._parameters: dict[Any, dict[str, Any]] = {}
        """Copies of each item's parameters, which a candidate could change."""

    def collected(self, session: pytest.Session, paths: dict[str, str]) -> None:
        """Keeps the session's items; `paths` has the text of each file by its name."""
        self._session = session
        for item in session.items:
            text = paths.get(os.path.basename(item.nodeid.partition("::")[0]))
            if text is not None:
                self._items.setdefault(text, []).append(item)
                with contextlib.suppress(Exception):  # what cannot be copied is shared
                    self._parameters[item] = copy.deepcopy(_parameters(item))
                module = getattr(item, "module", None)
                if module is not None and module.__name__ not in self._imported_names:
                    self._imported_names[module.__name__] = self._origins(module)

    def reload_test_files(self) -> None:
        """Tears down all fixtures and executes the test files again, with the current program."""
        assert self._session is not None
        with contextlib.suppress(Exception):
            self._session._setupstate.teardown_exact(None)
        if not self._codes:
            modules = [
                one for one in self._session.config.pluginmanager.get_plugins()
                if str(getattr(one, "__file__", "")).endswith(os.sep + "conftest.py")
            ]
            modules += dict.fromkeys(
                item.module for items in self._items.values() for item in items
            )
            config = self._session.config
            self._codes = [
                (one, rewrite._rewrite_test(Path(one.__file__), config)[1]) for one in modules
            ]
        for module, code in self._codes:
            exec(code, vars(module))

    def restore(self) -> None:
        """Executes the test files again if a candidate may have changed data in them."""
        if any(_has_data(one.module) for items in self._items.values() for one in items[:1]):
            self.reload_test_files()

    def run(
        self, text: str, node: str, without: tuple[str, ...] = (), together: bool = False
    ) -> None:
        """Runs all items of a node, except for the cases `without`, with the current program.

        `together`: the file was executed for this program, and shared fixtures are kept.
        """
        key = (text, node, without)
        if key not in self._found:
            self._found[key] = [
                item for item in self._items.get(text, ())
                if matches_node(node, without, item.nodeid.partition("::")[2])
            ]
        if not self._found[key] and not (node == "*" and text in self._items):
            raise LookupError(f"pytest collects no test {node}")
        for item in self._found[key]:
            if not together:
                self._bind(item.module)
            if kept := self._parameters.get(item):
                item.callspec.params.update(copy.deepcopy(kept))
            if _is_plain(item):
                _function(item)(**_parameters(item))
            elif together:
                # Fixtures of other scopes are torn down, those of this item's scopes are kept.
                item.session._setupstate.teardown_exact(item)
                self._with_protocol(item, item.parent)
            else:
                self._with_protocol(item)

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """A hook that keeps the exception, whose traceback has the program's line."""
        if call.excinfo is not None:
            self._raised = call.excinfo.value

    def _with_protocol(self, item: Any, kept: Any = None) -> None:
        self._raised = None
        if hasattr(item, "_initrequest"):
            item._initrequest()
        reports = runtestprotocol(item, log=False, nextitem=kept)
        if any(report.failed for report in reports):
            raise self._raised or AssertionError(f"{item.nodeid} failed")

    def _origins(self, module: types.ModuleType) -> list[tuple[str, str, str]]:
        """Rows of (name in the test module, program module, name there or "" for the module)."""
        folder = os.getcwd() + os.sep
        sources = {
            name: source for name, source in list(sys.modules.items())
            if source is not module
            and (name in self._names or str(getattr(source, "__file__", "")).startswith(folder))
        }
        found = []
        for name, value in list(vars(module).items()):
            if name.startswith("__"):
                continue
            for source_name, source in sources.items():
                if isinstance(value, Placeholder):
                    if isinstance(source, PlaceholderModule):
                        found.append((name, source_name, value.name))
                        break
                elif value is source:
                    found.append((name, source_name, ""))
                    break
                elif (there := _name_of(value, name, source)) is not None:
                    found.append((name, source_name, there))
                    break
        return found

    def _bind(self, module: types.ModuleType) -> None:
        for name, source_name, there in self._imported_names.get(module.__name__, ()):
            source = importlib.import_module(source_name)
            if not there:
                setattr(module, name, source)
            elif hasattr(source, there):
                setattr(module, name, getattr(source, there))
            else:
                vars(module).pop(name, None)


class SessionHolder:
    """A pytest plugin that calls `serve` after the collection, in place of running the tests."""

    def __init__(self, items: Items, paths: dict[str, str], serve: Callable[[], None]) -> None:
        self._items = items
        self._paths = paths
        self._serve = serve

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items.collected(session, self._paths)
        self._serve()
        return True


def collect(texts: dict[str, str], items: Items, serve: Callable[[], None]) -> None:
    """Writes test files, whose texts are the keys and folders the values of `texts`, collects them,
    and calls `serve` inside the session."""
    restore_library_modules()
    paths, places = {}, []
    for number, (text, folder) in enumerate(texts.items()):
        name = f"test_screened_{number}.py"
        paths[name] = text
        places.append(os.path.join(folder, name))
        if folder:
            os.makedirs(folder, exist_ok=True)
            if not os.path.exists(os.path.join(folder, "__init__.py")):
                sys.path.append(os.path.abspath(folder))  # as pytest does, for helper modules
        with open(places[-1], "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    arguments = [
        "-s", "-p", "no:cacheprovider", "-p", "no:terminal", "-p", "no:faulthandler",
        "-W", "ignore", "--import-mode=importlib", "--continue-on-collection-errors",
        "--rootdir", os.getcwd(), *plugins_for("".join(texts)), *places,
    ]
    served = False

    def once() -> None:
        nonlocal served
        served = True
        serve()

    pytest.main(arguments, plugins=[SessionHolder(items, paths, once), items])
    if not served:
        # The collection failed: every node is then reported as not collected.
        serve()


def _name_of(value: object, name: str, source: types.ModuleType) -> str | None:
    if isinstance(value, int | float | str | bytes | bool | tuple | type(None)):
        same = vars(source).get(name, Placeholder) is value
        return name if same and not name.startswith("@") else None
    for there, other in vars(source).items():
        if other is value and not there.startswith("__"):
            return there
    return None


_PLAIN = (types.FunctionType, types.ModuleType, type, str, int, float, bytes, type(None))


def _has_data(module: types.ModuleType) -> bool:
    """Whether a test file has values that a test could change."""
    return any(
        not isinstance(value, _PLAIN)
        for name, value in vars(module).items() if not name.startswith("__")
    )


def _parameters(item: Any) -> dict[str, Any]:
    callspec = getattr(item, "callspec", None)
    return dict(callspec.params) if callspec is not None else {}


def _is_plain(item: Any) -> bool:
    """Whether pytest would only call the function."""
    marks = {mark.name for mark in item.iter_markers()}
    function = getattr(item, "obj", None)
    return (
        isinstance(item, pytest.Function)
        and set(item.fixturenames) <= set(_parameters(item))
        and not getattr(getattr(item, "callspec", None), "indices", {}).keys()
        - set(_parameters(item))
        and marks <= {"parametrize"}
        and isinstance(function, types.FunctionType | types.MethodType)
        and not function.__code__.co_flags & 0x80  # a coroutine
    )


def _function(item: Any) -> Callable[..., object]:
    """The item's function; a method is bound to a new instance."""
    function: Callable[..., object] = item.obj
    if isinstance(function, types.MethodType) and not isinstance(function.__self__, type):
        return types.MethodType(function.__func__, type(function.__self__)())
    return function
