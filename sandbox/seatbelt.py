"""The macOS sandbox profile of a job; pure text. Written from Apple's documentation and the
profiles that ship with macOS, and never run: no Mac was at hand.

The guest hands it to `sandbox_init`, which holds the process and its children to it for good.
"""

from __future__ import annotations

from collections.abc import Iterable


def profile(readable: Iterable[str], writable: Iterable[str]) -> str:
    """A profile that denies all but reading `readable` and changing `writable` folders."""
    lines = [
        "(version 1)",
        "(deny default)",
        "(allow process-info* (target self))",
        "(allow signal (target self))",
        "(allow sysctl-read)",
        "(allow file-read-metadata)",
        '(allow file-read* (literal "/dev/random") (literal "/dev/urandom"))',
        '(allow file-read* file-write-data (literal "/dev/null") (literal "/dev/zero"))',
    ]
    lines += [f"(allow file-read* (subpath {_quoted(path)}))" for path in readable]
    lines += [f"(allow file-read* file-write* (subpath {_quoted(path)}))" for path in writable]
    return "\n".join(lines) + "\n"


def _quoted(path: str) -> str:
    """A path as a string of the profile language, which is a Scheme."""
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
