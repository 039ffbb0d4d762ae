"""What tools refuse.

    ToolError     a tool cannot do what it was asked; its caller gets the message
      NoPython    a command line that is no Python's
      BadPath     a path that leads out of the workspace, or is none
"""

from __future__ import annotations


class ToolError(Exception):
    """What was asked cannot be done; the message says why and what to do instead."""


class NoPython(ToolError):
    """A command that the jail cannot run; `why` leaves out which tools there are instead."""

    def __init__(self, why: str, instead: str) -> None:
        super().__init__(f"{why}; {instead}")
        self.why = why


class BadPath(ToolError):
    """A path that names no place in the workspace."""
