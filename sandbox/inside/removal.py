"""Removes the files of jobs of any depth, mode and number; runs in hosts and in jails."""

from __future__ import annotations

import os

_chmod = os.chmod
"""The original function, which the fork server replaces for jobs."""


def remove(folder: str, most: int | None = None, keep: bool = False) -> bool:
    """Removes a folder of a job; links are not followed.

    With `keep` the folder itself is only emptied. With `most`, stops after that many entries and
    returns false. Folders are moved to the top before they are emptied, so the nesting may be
    deeper than the maximum path length.
    """
    seen = 0
    # A random name, which a job cannot have created in advance.
    token = os.urandom(8).hex()
    pending = [folder]
    while pending:
        inner = pending[-1]
        try:
            with os.scandir(inner) as entries:
                for entry in entries:
                    seen += 1
                    if most is not None and seen > most:
                        return False
                    if not entry.is_dir(follow_symlinks=False):
                        os.unlink(entry.path)
                        continue
                    _chmod(entry.path, 0o700)  # a job may have removed its own permissions
                    path = entry.path
                    if inner != folder:
                        path = f"{folder}/moved-{token}-{seen}"
                        os.rename(entry.path, path)
                    pending.append(path)
        except FileNotFoundError:
            pending.pop()
            continue
        if pending[-1] == inner:
            pending.pop()
            if inner != folder or not keep:
                os.rmdir(inner)
    return True
