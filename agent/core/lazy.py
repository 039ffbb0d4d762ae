"""Names of a package that are loaded when they are asked for, so that to import it is cheap."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def loaded_later(package: str, places: Mapping[str, str]) -> Callable[[str], object]:
    """The `__getattr__` of a package; `places` are its modules, each with the names it has."""
    modules = {name: module for module, names in places.items() for name in names.split()}

    def load(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return load
