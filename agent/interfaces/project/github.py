"""Formats a result for GitHub: annotations of a workflow, and suggestions on a pull request."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

COMMANDS = {"error": "error", "note": "notice"}
TITLES = {"failing-test": "Failing test", "repair": "Repair by heal"}
MAX_MESSAGE = 2000
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)")


def workflow_commands(document: Mapping[str, Any]) -> str:
    """Returns workflow commands that annotate the lines of a SARIF document of `sarif`."""
    lines = []
    for one in _results(document):
        path, line = _place(one)
        title = TITLES[one["ruleId"]]
        place = f"file={_escaped(path, ',:')},line={line},title={title}"
        text = one["message"]["text"][:MAX_MESSAGE]
        for fix in one.get("fixes", ()):
            text += "\n" + "\n".join(
                f"{change['artifactLocation']['uri']}:{part['deletedRegion']['startLine']}\n"
                + _signed("-", part["deletedRegion"]["snippet"]["text"])
                + _signed("+", part["insertedContent"]["text"])
                for change in fix["artifactChanges"] for part in change["replacements"]
            )
        lines.append(f"::{COMMANDS[one['level']]} {place}::{_escaped(text)}\n")
    return "".join(lines)


def suggestions(
    document: Mapping[str, Any], changed: Sequence[Mapping[str, Any]], commit: str
) -> dict[str, Any]:
    """Returns the review that suggests a repair on the changed lines of a pull request.

    Args:
        document: A SARIF document of `sarif`.
        changed: The pull request's files, as GitHub's API lists them.
        commit: The head commit of the pull request.

    Returns:
        The body of a request to create a review; empty if the diff contains none of the replaced
        lines with the same text.
    """
    shown = {one["filename"]: _new_lines(one.get("patch", "")) for one in changed}
    comments = []
    repairs = [one for one in _results(document) if one["ruleId"] == "repair"][:1]
    for one in repairs:
        for change in one["fixes"][0]["artifactChanges"]:
            path = change["artifactLocation"]["uri"]
            for part in change["replacements"]:
                region = part["deletedRegion"]
                first, last = region["startLine"], region["endLine"] - 1
                before = region["snippet"]["text"].splitlines()
                hunks = shown.get(path, [])
                if not any([hunk.get(at) for at in range(first, last + 1)] == before
                           for hunk in hunks):
                    continue
                text = part["insertedContent"]["text"].removesuffix("\n")
                ticks = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
                body = f"{one['message']['text']}\n\n{ticks}suggestion\n{text}\n{ticks}"
                comments.append({
                    "path": path, "line": last, "side": "RIGHT", "body": body,
                    **({"start_line": first, "start_side": "RIGHT"} if first < last else {}),
                })
    return {"commit_id": commit, "event": "COMMENT", "comments": comments} if comments else {}


def _results(document: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = document["runs"][0]["results"]
    return found


def _place(result: Mapping[str, Any]) -> tuple[str, int]:
    place = result["locations"][0]["physicalLocation"]
    return place["artifactLocation"]["uri"], place["region"]["startLine"]


def _signed(sign: str, text: str) -> str:
    return "".join(f"{sign}{line}\n" for line in text.splitlines())


def _new_lines(patch: str) -> list[dict[int, str]]:
    """The lines of the new file in each hunk of a diff, by their number."""
    hunks: list[dict[int, str]] = []
    number = 0
    for line in patch.split("\n"):
        if start := _HUNK.match(line):
            number = int(start[1])
            hunks.append({})
        elif hunks and line[:1] in (" ", "+"):
            hunks[-1][number] = line[1:]
            number += 1
    return hunks


def _escaped(text: str, more: str = "") -> str:
    """Escapes `%`, line ends and the characters in `more` for a workflow command."""
    return re.sub(f"[%\r\n{more}]", lambda at: f"%{ord(at[0]):02X}", text)


def _main(arguments: Sequence[str]) -> Iterator[str]:
    kind, name, *more = arguments
    document = json.loads(Path(name).read_text("utf-8"))
    if kind == "annotations":
        yield workflow_commands(document)
    else:
        files, commit = more
        pages = json.loads(Path(files).read_text("utf-8"))
        review = suggestions(document, [one for page in pages for one in page], commit)
        yield json.dumps(review) if review else ""


if __name__ == "__main__":
    for text in _main(sys.argv[1:]):
        sys.stdout.write(text)
