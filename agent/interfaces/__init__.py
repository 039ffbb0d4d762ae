"""The user interfaces: the terminal, the library, and the code that both share."""

from __future__ import annotations


def installed_version() -> str:
    """The version of the installed package; empty in a checkout that is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("self-healing-code-agent")
    except PackageNotFoundError:
        return ""


def main() -> None:
    """The console script."""
    import os

    # Searching for pydantic plugins reads the metadata of all installed packages.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from agent.interfaces.terminal import cli

    cli.main()
