"""Rules that plan plainly worded tasks without a model."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping

from agent.planning.plan import Plan
from agent.planning.running import READ_ONLY
from sandbox import Json

_TEXT = r"(`[^`]*`|'[^']*'|\"[^\"]*\"|\S+)"
_PATH = r"(`[^`]+`|\S+?)"
_BETWEEN = re.compile(
    r"(?:\s*(?:;|\n|,\s*then\b|,?\s*\band then\b|\bthen\b|\.\s"
    r"|,?\s+\band\b(?=\s+(?:run|heal|fix|search|read|list|replace|write|append)\b))\s*)+",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"`[^`]*`|(?<!\w)'[^']*'(?!\w)|\"[^\"]*\"")

Call = tuple[str, Mapping[str, Json]]
RULES: tuple[tuple[str, Callable[..., Call]], ...] = (
    (r"(?:run|execute) (?:all )?(?:the |my )?tests?(?: (?:in|of) " + _PATH + r")?",
     lambda path: ("run_tests", {"test_command": f"pytest {shlex.quote(path)}" if path
                                 else "pytest"})),
    (r"(?:heal|fix|repair|mend) (?:all )?(?:the |my )?(?:failing |red |broken )?tests?",
     lambda: ("heal_tests", {})),
    (r"(?:(?:search|grep)(?: for)?|look for|find) " + _TEXT + r"(?: in " + _PATH + r")?",
     lambda text, glob: ("search", {"pattern": re.escape(text), "file_pattern": glob or "*"})),
    (r"(?:read|show|open) " + _PATH, lambda path: ("file_read", {"path": path})),
    (r"list (?:all )?(?:the )?files(?: (?:in|like|matching) " + _PATH + r")?",
     lambda glob: ("file_list", {"pattern": glob or "*"})),
    (r"replace " + _TEXT + r" (?:with|by) " + _TEXT + r" in " + _PATH,
     lambda old, new, path: (
         "edit_file", {"path": path, "old_content": old, "new_content": new})),
    (r"write " + _TEXT + r" (?:to|into) " + _PATH,
     lambda text, path: ("file_write", {"path": path, "content": text})),
    (r"append " + _TEXT + r" to " + _PATH,
     lambda text, path: ("file_write", {"path": path, "content": text, "mode": "append"})),
    (r"run `?((?:python|pytest)(?: [^`]*)?)`?", lambda command: ("shell", {"command": command})),
)
"""Patterns of requests and the tool calls that they mean; quoted texts are literal."""
KNOWN = (
    "run the tests; heal the failing tests; search for X in *.py; read F; list files; "
    "replace `A` with `B` in F; write `T` to F; run `python F`"
)


def add_by_rule(plan: Plan, task: str) -> tuple[str, ...]:
    """Adds a step for each part of a task in order, and returns the parts that no rule knows. A
    step that writes needs all steps before it; a step that reads needs the last one that writes."""
    calls = [(part, _call(part)) for part in parts(task)]
    unknown = tuple(part for part, call in calls if call is None or call[0] not in {*plan.tools})
    if unknown or not calls:
        return unknown or (task,)
    writer: list[int] = []
    readers: list[int] = []
    for part, call in calls:
        assert call is not None
        reads = call[0] in READ_ONLY
        needs = writer if reads else readers or writer
        number = plan.add_step(*call, needs=needs, what=part)
        if reads:
            readers.append(number)
        else:
            writer, readers = [number], []
    return ()


def parts(task: str) -> tuple[str, ...]:
    """Splits a task at `then`, semicolons and ends of sentences, except in quoted texts."""
    quotes: list[str] = []

    def hide(found: re.Match[str]) -> str:
        quotes.append(found[0])
        return f"\0{len(quotes) - 1}\0"

    hidden = _QUOTED.sub(hide, task)
    return tuple(
        re.sub(r"\0(\d+)\0", lambda found: quotes[int(found[1])], part.strip(" .,"))
        for part in _BETWEEN.split(hidden) if part.strip(" .,")
    )


def _call(part: str) -> Call | None:
    for pattern, make_call in RULES:
        if found := re.fullmatch(pattern, part, re.IGNORECASE | re.DOTALL):
            return make_call(*(_unquoted(one) for one in found.groups()))
    return None


def _unquoted(text: str | None) -> str:
    if text and len(text) > 1 and text[0] == text[-1] and text[0] in "`'\"":
        return text[1:-1]
    return text or ""
