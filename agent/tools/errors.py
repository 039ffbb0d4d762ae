"""What tools refuse.

    ToolError     a tool cannot do what it was asked; told to whoever called, who may ask otherwise
      BadPath     a path that leads out of the workspace, or is none
"""

from __future__ import annotations


class ToolError(Exception):
    """What was asked cannot be done; the message says why and what to do instead."""


class BadPath(ToolError):
    """A path that names no place in the workspace."""
