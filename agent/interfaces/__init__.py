"""The interfaces: the terminal, the library, and what both share."""

from __future__ import annotations


def main() -> None:
    """The console script."""
    import os

    # Nobody's plugins are wanted in our values, and looking for them reads all that is installed.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from agent.interfaces.terminal import cli

    cli.main()
