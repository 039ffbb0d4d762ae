"""Jailed program: runs a `python …` command, and reports which files changed.

Its reports are untrusted, since the process runs foreign code; the host itself observes only how
the process ends and what it prints.
"""

from __future__ import annotations

import importlib
import linecache
import os
import runpy
import stat
import sys
import threading
import traceback
import types
from typing import Any

from agent.verify.rewriting.messages import text_of
from agent.verify.rewriting.plugins import disabled_plugins

NOT_KEPT = frozenset({"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache"})


def main(jail: Any) -> None:
    """Runs the command's arguments as `python` would, and exits with its exit code."""
    payload = jail.payload
    sys.path[:0] = [os.path.join(jail.folder, one) for one in payload["roots"] if one]
    if payload["blocked"]:
        _block(payload["blocked"], jail)
    os.environ.update(payload.get("environment", {}))
    lines = _Lines(jail.folder, payload.get("watched", []))
    code = 0
    try:
        lines.watch(_run, payload["arguments"], jail)
    except SystemExit as error:
        code = exit_code(error.code)
    except BaseException as error:  # noqa: BLE001 - the program may raise anything
        code = 1
        report_error(error, jail)
    if lines:
        jail.send({"ran": lines.rows()})
    if payload["keep"]:
        try:
            jail.send(_changes(jail, *payload["most_bytes"]))
        except OSError:
            print("the files that were written cannot be read", file=sys.stderr)
    raise SystemExit(code)


def _run(arguments: list[str], jail: Any) -> None:
    first, *rest = arguments
    if first == "-c":
        sys.argv[:] = ["-c", *rest[1:]]
        lines = rest[0].splitlines(keepends=True)
        linecache.cache["<string>"] = (len(rest[0]), None, lines, "<string>")
        _run_as_main(rest[0], "<string>")
    elif first == "-m":
        if not jail.payload["opens"]:
            sys.exit("python: -m is unavailable, as this jail opens no files; use a script")
        if rest[0] == "pytest":
            rest[1:1] = disabled_plugins(jail.files, rest)
        sys.argv[:] = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        text = jail.files.get(os.path.normpath(first))
        if text is None:
            sys.exit(f"python: can't open file {first!r}: there is no such file")
        path = os.path.join(jail.folder, os.path.normpath(first))
        sys.argv[:] = arguments
        sys.path.insert(0, os.path.dirname(path))
        _run_as_main(text.encode("utf-8", "surrogateescape"), path)


def _run_as_main(text: str | bytes, path: str) -> None:
    code = compile(text, path, "exec", dont_inherit=True)
    module = types.ModuleType("__main__")
    if path != "<string>":
        module.__file__ = path
    sys.modules["__main__"] = module
    exec(code, module.__dict__)


class _Lines:
    """Records which functions and lines of some files this process and its threads run."""

    def __init__(self, folder: str, files: list[str]) -> None:
        self._names = {os.path.join(folder, one): one for one in files}
        self._calls: dict[str, dict[int, int]] = {}
        self._ran: dict[str, set[int]] = {}

    def __bool__(self) -> bool:
        return bool(self._names)

    def watch(self, action: Any, *arguments: Any) -> None:
        """Calls the action, traced where there are files to watch."""
        if not self:
            action(*arguments)
            return
        threading.settrace(self._called)
        sys.settrace(self._called)
        try:
            action(*arguments)
        finally:
            sys.settrace(None)
            threading.settrace(None)

    def rows(self) -> list[Any]:
        return [
            [file, [[*one] for one in self._calls[file].items()], sorted(self._ran.get(file, ()))]
            for file in self._calls
        ]

    def _called(self, frame: types.FrameType, event: str, arg: Any) -> Any:
        code = frame.f_code
        file = self._names.get(code.co_filename)
        if file is None:
            return None
        calls = self._calls.setdefault(file, {})
        if code.co_name != "<module>":
            calls[code.co_firstlineno] = calls.get(code.co_firstlineno, 0) + 1
        ran = self._ran.setdefault(file, set())

        def line(frame: types.FrameType, event: str, arg: Any) -> Any:
            ran.add(frame.f_lineno)
            return line

        return line


def exit_code(code: object) -> int:
    """The exit code of a process that raises `SystemExit` with this code."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def report_error(error: BaseException, jail: Any) -> None:
    """Prints the traceback as the interpreter would, without our own frames, and sends it."""
    trace = error.__traceback__
    while trace is not None and str(trace.tb_frame.f_globals.get("__name__")).startswith(
        ("_judge", "runpy", "importlib")
    ):
        trace = trace.tb_next
    try:
        text = "".join(traceback.format_exception(type(error), error, trace))
    except Exception as again:  # noqa: BLE001 - the exception's own text may raise anything
        text = f"{type(error).__name__} (its text raised {type(again).__name__})\n"
    sys.stderr.write(text.replace(jail.folder + os.sep, ""))
    jail.send({"raised": type(error).__name__, "message": text_of(error)[:1000]})


def _changes(jail: Any, most_each: int, most_bytes: int) -> dict[str, Any]:
    """Regular files that are new or changed, and the paths of missing ones."""
    changed: dict[str, str] = {}
    left_out: list[str] = []
    found_paths = set()
    total = 0
    for folder, folders, names in os.walk(jail.folder, onerror=_raise):
        folders[:] = [one for one in folders if one not in NOT_KEPT]
        for name in names:
            full_path = os.path.join(folder, name)
            path = os.path.relpath(full_path, jail.folder)
            found_paths.add(path)
            status = os.lstat(full_path)
            if not stat.S_ISREG(status.st_mode) or status.st_size > most_each:
                left_out.append(path)
                continue
            with open(full_path, "rb") as file:
                text = file.read().decode("utf-8", "surrogateescape")
            if text == jail.files.get(path):
                continue
            if total + status.st_size > most_bytes:
                left_out.append(path)
            else:
                changed[path] = text
                total += status.st_size
    return {
        "changed": changed, "gone": [*jail.files.keys() - found_paths], "left_out": left_out[:100],
    }


def _raise(error: OSError) -> None:
    raise error


def _block(names: list[str], jail: Any) -> None:
    """Makes imports of these modules and calls of these functions fail.

    Python code can circumvent this; the security boundary is the jail.
    """
    reported: set[str] = set()
    jail.send({"begun": True})  # loads the modules that `send` needs before any is blocked

    def report(name: str) -> None:
        if name not in reported:
            reported.add(name)
            jail.send({"blocked": name})

    for name in names:
        module, _, last = name.rpartition(".")
        if module:
            _block_function(module, last, report)
    for loaded in [*sys.modules]:
        if _blocked_by(loaded, names):
            package, _, last = loaded.rpartition(".")
            parent = sys.modules.get(package)
            del sys.modules[loaded]
            if hasattr(parent, "__path__") and hasattr(parent, last):
                delattr(parent, last)
    sys.meta_path.insert(0, _Blocker(names, report))


def _block_function(module: str, name: str, report: Any) -> None:
    try:
        found = importlib.import_module(module)
    except ImportError:
        return  # it cannot be imported by the program either
    if not callable(getattr(found, name, None)):
        return

    def refused(*arguments: object, **named: object) -> None:
        report(f"{module}.{name}")
        raise PermissionError(f"{module}.{name} is blocked")

    setattr(found, name, refused)


def _blocked_by(name: str, names: list[str]) -> str:
    return next((one for one in names if name == one or name.startswith(f"{one}.")), "")


class _Blocker:
    def __init__(self, names: list[str], report: Any) -> None:
        self._names = names
        self._report = report

    def find_spec(self, name: str, path: Any, target: Any = None) -> None:
        """Refuses a blocked module, and leaves any other to the next finder."""
        if rule := _blocked_by(name, self._names):
            self._report(rule)
            raise ImportError(f"the import of {name} is blocked", name=name)
