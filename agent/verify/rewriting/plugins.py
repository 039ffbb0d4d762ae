"""Selects the pytest plugins that are disabled in jails. Shipped into the jails."""

from __future__ import annotations

from collections.abc import Mapping

_OURS = ("-p", "no:selfheal")
"""Our own plugin, which is useless in a jail."""
_SLOW = "langsmith"
"""A dependency of ours, whose plugin takes longer to load than pytest itself."""


def without(files: Mapping[str, str]) -> tuple[str, ...]:
    """Options that disable plugins that a project of these files does not need."""
    named = any(_SLOW in text for text in files.values())
    return _OURS if named else (*_OURS, "-p", f"no:{_SLOW}_plugin")
