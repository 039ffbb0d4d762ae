"""Tests of which it is known before they run that nobody can follow them from outside.

What is overlooked here costs time alone: the observed run stops where it cannot follow.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from agent.core.trees import nodes_of

_LOGS = "the test reads what the program logs"
_WARNS = "the test asks what the program warns of"
_STARTS = "the test starts the program itself"
_COROUTINE = "a coroutine cannot cross"
_BEYOND = {
    "caplog.text": _LOGS, "caplog.records": _LOGS, "caplog.messages": _LOGS,
    "caplog.record_tuples": _LOGS, "assertLogs": _LOGS, "warns(": _WARNS, "assertWarns": _WARNS,
    "subprocess.": _STARTS, "runpy.": _STARTS, "asyncio.run(": _COROUTINE, "await ": _COROUTINE,
}
"""What shows nothing from outside, as it stands in a test, and what that is in words."""


@lru_cache(maxsize=1024)
def unfollowable(code: str) -> str:
    """Why none of the tests in a text can be observed; empty where one may be."""
    try:
        nodes = nodes_of(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    functions = [
        ast.unparse(node) for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test")
    ]
    reasons = [
        next((why for word, why in _BEYOND.items() if word in text), "")
        for text in functions or [code]
    ]
    return reasons[0] if all(reasons) else ""
