"""Errors of tools.

    ToolError     a tool cannot do what was asked; reported to the caller, who may try again
      NotPython    a command line that does not run Python
      BadPath     a path outside of the workspace, or an invalid one
"""

from __future__ import annotations


class ToolError(Exception):
    """A request cannot be fulfilled; the message says why and what to do instead."""


class NotPython(ToolError):
    """A command that the jail cannot run. `why` is the reason without the alternatives."""

    def __init__(self, why: str, instead: str) -> None:
        super().__init__(f"{why}; {instead}")
        self.why = why


class BadPath(ToolError):
    """A path that names no file in the workspace."""
