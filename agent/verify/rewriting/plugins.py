"""Selects the pytest plugins that are disabled in jails. Shipped into the jails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_OURS = ("-p", "no:selfheal")
"""Our own plugin, which is useless in a jail."""
_SLOW: dict[str, tuple[str, ...]] = {
    "langsmith_plugin": ("langsmith",), "hypothesispytest": ("hypothesis", "schemathesis"),
    "anyio": ("anyio",), "asyncio": ("asyncio",),
}
"""Installed plugins that take 0.1 to 1.5 s to load, and the words of projects that use them."""


def disabled_plugins(files: Mapping[str, str], arguments: Sequence[str] = ()) -> tuple[str, ...]:
    """Options that disable plugins which a project with these files and options does not need."""
    texts = (*files.values(), *arguments)
    idle = [
        plugin for plugin, words in _SLOW.items()
        if not any(word in text for text in texts for word in words)
    ]
    return (*_OURS, *(part for plugin in idle for part in ("-p", f"no:{plugin}")))
