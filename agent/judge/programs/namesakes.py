"""What the process of a program has loaded for us, and the program is not to find."""

from __future__ import annotations

import sys


def forget_runners() -> None:
    """Forgets pytest where the interpreter has loaded it: a program must not tell by it that it is
    tested. One that imports it loads its own."""
    for name in [*sys.modules]:
        if name.partition(".")[0] in ("pytest", "_pytest", "pluggy", "iniconfig"):
            del sys.modules[name]


def hide_last_site() -> None:
    """Takes away the last folder of packages, which the program was not given, and what was
    loaded from it."""
    if not sys.path:
        return  # nothing is imported from folders here
    inside = f"{sys.path.pop()}/"
    for name, module in [*sys.modules.items()]:
        if str(getattr(module, "__file__", None)).startswith(inside):
            del sys.modules[name]
