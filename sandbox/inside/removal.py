"""Removes what jobs leave behind, however deep, closed or many; runs in hosts and in jails."""

from __future__ import annotations

import os
from pathlib import Path

_chmod = os.chmod
"""The system's own: for its jobs the fork server puts another in its place."""


def remove(folder: str, most: int | None = None) -> bool:
    """Removes a folder with whatever a job left in it, however deep; links are not followed.

    With `most`, gives up after that many entries and returns false. Folders are moved up to
    the top before they are emptied, so a nesting deeper than any path may be is no trouble.
    """
    seen = 0
    fresh = 0
    # A name that is chosen now: one that a job could know it could have put in the way.
    token = os.urandom(8).hex()
    while True:
        folders: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    seen += 1
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    else:
                        os.unlink(entry.path)
                    if most is not None and seen > most:
                        return False
        except FileNotFoundError:
            return True
        if not folders:
            os.rmdir(folder)
            return True
        for inner in folders:
            _chmod(inner, 0o700)  # a job may have closed its folders even to itself
            with os.scandir(inner) as entries:
                for entry in entries:
                    seen += 1
                    if entry.is_dir(follow_symlinks=False):
                        _chmod(entry.path, 0o700)
                        fresh += 1
                        os.rename(entry.path, str(Path(folder, f"moved-{token}-{fresh}")))
                    else:
                        os.unlink(entry.path)
                    if most is not None and seen > most:
                        return False
            os.rmdir(inner)
