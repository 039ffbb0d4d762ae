"""Which plugins of pytest a jail leaves out. It goes into the jails."""

from __future__ import annotations

from collections.abc import Mapping

_OURS = ("-p", "no:selfheal")
"""Our own plugin does nothing in a jail: nothing is healed there."""
_SUBMITTED = "langsmith"
"""A package that ours brings, whose plugin takes longer to load than pytest itself."""


def without(files: Mapping[str, str]) -> tuple[str, ...]:
    """Options that leave out plugins which do nothing for a project of these files."""
    named = any(_SUBMITTED in text for text in files.values())
    return _OURS if named else (*_OURS, "-p", f"no:{_SUBMITTED}_plugin")
