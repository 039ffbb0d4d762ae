"""The ways in: the terminal, the library, and their words."""

from __future__ import annotations


def main() -> None:
    """The console script: the jail of a project starts while the rest is imported."""
    import os
    import sys

    from agent.doors.project.early import head_start

    # Nobody's plugins are wanted in our values, and looking for them reads all that is installed.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    head_start(sys.argv[1:])
    from agent.doors import cli

    cli.main()
