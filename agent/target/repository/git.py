"""Runs git without executing anything that a repository configures.

    GitError    git is not installed or fails; the message contains its error output
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


class GitError(Exception):
    """A git command failed."""


def git(
    root: Path, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] = {},
) -> bytes:
    """The output of a git command run in a folder.

    Hooks, monitors, signing and redirecting variables are disabled. Use plumbing commands, which
    run no filters.
    """
    variables = {
        name: value for name, value in os.environ.items()
        if not name.startswith("GIT_") or name.startswith(("GIT_AUTHOR_", "GIT_COMMITTER_"))
    }
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *(part for one in _SAFE for part in ("-c", one)), *arguments],
            input=stdin, capture_output=True, timeout=GIT_S, check=False,
            env={**variables, "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", **environment},
        )
    except FileNotFoundError as error:
        raise GitError("git is not installed") from error
    except (OSError, subprocess.SubprocessError) as error:
        raise GitError(f"git does not run: {error}") from error
    if done.returncode:
        message = done.stderr.decode("utf-8", "replace").strip()
        raise GitError(f"git {arguments[0]} failed: {message}")
    return done.stdout
