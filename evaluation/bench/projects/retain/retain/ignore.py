"""Patterns of files that stay out of a backup.

    *.log          in any folder
    /build         only at the top
    cache/         only folders, with all that is in them
    docs/**/draft  any number of folders between
    !keep.log      comes in again; the last pattern that fits decides
"""

import re


class Ignore:
    """A list of patterns."""

    def __init__(self, lines=()):
        self.rules = []
        for line in lines:
            self.add(line)

    def add(self, line):
        """Add a pattern; empty lines and comments are left out."""
        line = line.rstrip("\n").rstrip()
        if not line or line.startswith("#"):
            return
        back = line.startswith("!")
        line = line.removeprefix("!").replace("\\#", "#").replace("\\!", "!")
        folder = line.endswith("/")
        pattern = translate(line.rstrip("/"))
        self.rules.append((pattern, folder, back))

    def fits(self, path, is_folder=False):
        """Whether a path stays out; the last pattern that fits decides."""
        out = False
        for pattern, folder, back in self.rules:
            if pattern.fullmatch(path) and (is_folder or not folder):
                out = not back
        return out

    def __call__(self, path, is_folder=False):
        """Whether a path, or a folder above it, stays out."""
        parts = path.strip("/").split("/")
        for size in range(1, len(parts)):
            if self.fits("/".join(parts[:size]), True):
                return True
        return self.fits("/".join(parts), is_folder)


def translate(pattern):
    """A regular expression of a pattern."""
    anywhere = "/" not in pattern
    pattern = pattern.lstrip("/")
    result, position = [], 0
    while position < len(pattern):
        sign = pattern[position]
        if pattern.startswith("**/", position):
            result.append("(?:[^/]+/)*")
            position += 3
            continue
        if sign == "*":
            result.append(".*" if pattern.startswith("**", position) else "[^/]*")
            position += 2 if pattern.startswith("**", position) else 1
            continue
        if sign == "?":
            result.append("[^/]")
        elif sign == "[" and "]" in pattern[position + 2 :]:
            end = pattern.index("]", position + 2)
            group = pattern[position + 1 : end]
            if group[0] == "!":
                group = "^" + group[1:]
            result.append(f"[{group}]")
            position = end
        else:
            result.append(re.escape(sign))
        position += 1
    return re.compile(("(?:.*/)?" if anywhere else "") + "".join(result))
