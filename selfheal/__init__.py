"""The public name of the library: `from selfheal import SelfHealingAgent`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent import __all__ as __all__
from agent import __getattr__ as __getattr__

if TYPE_CHECKING:
    from agent import *  # noqa: F403
    from agent.doors.notebook import Shell


def load_ipython_extension(shell: Shell) -> None:
    """What `%load_ext selfheal` calls: it brings the magic `%%heal`."""
    from agent.doors.notebook import register

    register(shell)
