"""Removes what jobs leave behind, however deep, closed or many; runs in hosts and in jails."""

from __future__ import annotations

import os

_chmod = os.chmod
"""The system's own: for its jobs the fork server puts another in its place."""


def remove(folder: str, most: int | None = None, keep: bool = False) -> bool:
    """Removes a folder with whatever a job left in it, however deep; links are not followed.

    To `keep` the folder itself is to empty it. With `most`, gives up after that many entries and
    returns false. Folders are moved up to the top before they are emptied, so a nesting deeper
    than any path may be is no trouble.
    """
    seen = 0
    # A name that is chosen now: one that a job could know it could have put in the way.
    token = os.urandom(8).hex()
    waiting = [folder]
    while waiting:
        inner = waiting[-1]
        try:
            with os.scandir(inner) as entries:
                for entry in entries:
                    seen += 1
                    if most is not None and seen > most:
                        return False
                    if not entry.is_dir(follow_symlinks=False):
                        os.unlink(entry.path)
                        continue
                    _chmod(entry.path, 0o700)  # a job may have closed its folders even to itself
                    place = entry.path
                    if inner != folder:
                        place = f"{folder}/moved-{token}-{seen}"
                        os.rename(entry.path, place)
                    waiting.append(place)
        except FileNotFoundError:
            waiting.pop()
            continue
        if waiting[-1] == inner:
            waiting.pop()
            if inner != folder or not keep:
                os.rmdir(inner)
    return True
