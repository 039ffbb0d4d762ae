"""Inside a jail of its own: looks for a pattern in lines of text. A pattern may take for ever."""

from __future__ import annotations

import fnmatch
import re
from typing import Any

LINE_CHARS = 300


def main(jail: Any) -> None:
    """Sends the lines that match, with path and number, one more than asked for at most."""
    payload = jail.payload
    try:
        pattern = re.compile(payload["pattern"])
    except (re.error, OverflowError, RecursionError) as error:
        jail.send({"wrong": str(error)})
        return
    found: list[str] = []
    for path, text in payload["files"].items():
        if not _named(path, payload["file_pattern"]):
            continue
        for number, line in enumerate(text.split("\n"), start=1):
            shown = line.removesuffix("\r")
            if pattern.search(shown):
                found.append(f"{path}:{number}: {shown[:LINE_CHARS]}")
                if len(found) > payload["most"]:
                    jail.send({"found": found})
                    return
    jail.send({"found": found})


def _named(path: str, pattern: str) -> bool:
    """Whether the pattern names a file, by its whole path or its last part."""
    return any(fnmatch.fnmatchcase(one, pattern) for one in (path, path.rpartition("/")[2]))
