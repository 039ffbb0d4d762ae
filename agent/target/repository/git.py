"""git, asked so that nothing runs which a repository names.

    GitFault    git is not there, does not answer, or says no; the message has its words
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

GIT_S = 60.0
_SAFE = (
    "core.fsmonitor=false", f"core.hooksPath={os.devnull}", "safe.bareRepository=explicit",
    "commit.gpgSign=false",
)


class GitFault(Exception):
    """git cannot do what it was asked."""


def git(
    root: Path, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] = {},
) -> bytes:
    """What a git command says, begun in a folder: without hooks, monitors and signing, and without
    variables that lead it elsewhere. Whoever asks for plumbing meets no filter either."""
    kept = {
        name: value for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(("GIT_AUTHOR_", "GIT_COMMITTER_"))
    }
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *(part for one in _SAFE for part in ("-c", one)), *arguments],
            input=stdin, capture_output=True, timeout=GIT_S, check=False,
            env=kept | {"GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"} | {**environment},
        )
    except FileNotFoundError as error:
        raise GitFault("git is not there") from error
    except (OSError, subprocess.SubprocessError) as error:
        raise GitFault(f"git does not answer: {error}") from error
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise GitFault(f"git {arguments[0]} says: {said}")
    return done.stdout
