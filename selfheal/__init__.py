"""The public name of the library: `from selfheal import SelfHealingAgent`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent import *  # noqa: F403
    from agent.interfaces.notebook import Shell

if (Path(__file__).parents[1] / "setup.py").exists():  # a checkout: `sandbox` is `../sandbox`
    __path__.append(str(Path(__file__).parents[1]))  # noqa: F405


def __getattr__(name: str) -> object:
    """Loads the library on first use, so that `import selfheal` is cheap."""
    from agent import __all__, __getattr__

    if name not in (*__all__, "__all__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return __all__ if name == "__all__" else __getattr__(name)


def load_ipython_extension(shell: Shell) -> None:
    """Registers the magic `%%heal`; called by `%load_ext selfheal`."""
    from agent.interfaces.notebook import register

    register(shell)
