"""Imports the standard library and a job's files from memory, where no file may be opened.

At level L2 the filter refuses every `open`. The fork server reads all importable modules before
that, for all its children. Runs inside the jail.
"""

from __future__ import annotations

import marshal
import os
import sys
from _frozen_importlib import ModuleSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class JobFileFinder:
    """Imports a job's files from memory."""

    imports_job_files = True
    """Marks the finder of a job's files for `guest.TrustedImports`."""

    def __init__(self, files: dict[str, str], folder: str) -> None:
        self._files = files
        self._folder = folder

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        stem = name.replace(".", "/")
        folder = any(one.startswith(f"{stem}/") for one in self._files)
        for relative, package in ((f"{stem}/__init__.py", True), (f"{stem}.py", False)):
            if relative in self._files:
                spec = ModuleSpec(name, self, origin=relative, is_package=package)  # type: ignore[arg-type]
                spec.has_location = True
                spec.origin = os.path.join(self._folder, relative)
                return spec
        if folder:
            spec = ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = []
            return spec
        return None

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        origin = module.__spec__.origin
        text = self._files[os.path.relpath(origin, self._folder)]
        exec(compile(text, origin, "exec", dont_inherit=True), module.__dict__)

    def get_source(self, name: str) -> str | None:
        spec = self.find_spec(name, None)
        return None if spec is None or spec.origin is None else (
            self._files[os.path.relpath(spec.origin, self._folder)]
        )


class _Library:
    """Imports the standard library from memory."""

    def __init__(self, code: dict[str, tuple[str, bytes, bool]]) -> None:
        self._code = code

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name not in self._code:
            return None
        origin, _, package = self._code[name]
        spec = ModuleSpec(name, self, origin=origin, is_package=package)  # type: ignore[arg-type]
        spec.has_location = True
        return spec

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: Any) -> None:
        exec(marshal.loads(self._code[module.__name__][1]), module.__dict__)


def load_library(root: str) -> None:
    """Reads the standard library into memory and loads its compiled parts."""
    left_out = (
        "test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3",
        "site-packages", "dist-packages", "pydoc_data", "__pycache__", "distutils",
    )
    held: dict[str, tuple[str, bytes, bool]] = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [folder for folder in folders if folder not in left_out and "-" not in folder]
        for file in files:
            if not file.endswith(".py"):
                continue
            path = os.path.join(folder, file)
            parts = os.path.relpath(path, root)[:-3].split(os.sep)
            package = parts[-1] == "__init__"
            name = ".".join(parts[:-1] if package else parts)
            try:
                held[name] = (path, _compiled(path), package)
            except SyntaxError:  # some files of the library are invalid on purpose
                continue
    # Loaded before `_asyncio`, which would import it only partly and create two task lists.
    __import__("asyncio")
    dynamic = os.path.join(root, "lib-dynload")
    for file in sorted(os.listdir(dynamic)):
        name = file.partition(".")[0]
        if name.startswith(("_test", "_ctypes_test", "_tkinter", "readline", "_curses", "xx")):
            continue
        try:
            __import__(name)
        except ImportError:  # a required system library is missing
            continue
    sys.meta_path.append(_Library(held))


def _compiled(path: str) -> bytes:
    from importlib.util import cache_from_source

    try:
        with open(cache_from_source(path), "rb") as file:
            return file.read()[16:]
    except FileNotFoundError:
        with open(path, "rb") as file:
            return marshal.dumps(compile(file.read(), path, "exec", dont_inherit=True))


def register_source_lines(files: dict[str, str], folder: str) -> None:
    """Provides tracebacks and `inspect` with the lines of files that cannot be opened."""
    import linecache

    for path, text in files.items():
        full_path = f"{folder}/{path}"
        linecache.cache[full_path] = (len(text), None, text.splitlines(keepends=True), full_path)
