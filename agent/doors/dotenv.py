"""Reads `.env` of the working directory; the real environment wins."""

from __future__ import annotations

from pathlib import Path

from dotenv import load_dotenv

from agent.core.settings import BadSettings


def read_dotenv(path: Path = Path(".env")) -> None:
    """Adds the variables of a `.env` file that the environment does not set already.

    No file is fine; a file that cannot be read raises `BadSettings`.
    """
    try:
        load_dotenv(path, override=False)
    except (OSError, UnicodeDecodeError) as error:
        raise BadSettings(f"{path} cannot be read: {error}") from error
