"""What users bring, made into a task (`agent.core.domain.Task`) or refused in clear words."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.intake.asked.calls import calls_made, makes_new_calls
    from agent.intake.asked.claims import fixes_a_value
    from agent.intake.brought import Brought, TestText
    from agent.intake.environment import site_folders
    from agent.intake.errors import BadInput, NotFixable
    from agent.intake.failing.aside import (
        outside_failure_words,
        still_counting_tests,
        with_lost_tests,
        with_outside_failures,
    )
    from agent.intake.failing.failures import classify, failures_of
    from agent.intake.found.snippets import tests_from_snippet
    from agent.intake.found.words import tests_from_words
    from agent.intake.program import protected_lines, untouched
    from agent.intake.source import SourceFile
    from agent.intake.task import PreparedTask, from_command_line, from_page, make_task, task_of

__all__ = [
    "BadInput", "Brought", "NotFixable", "PreparedTask", "SourceFile", "TestText", "calls_made",
    "classify", "failures_of", "fixes_a_value", "from_command_line", "from_page", "make_task",
    "makes_new_calls", "outside_failure_words", "protected_lines", "site_folders", "task_of",
    "tests_from_snippet", "tests_from_words", "still_counting_tests", "untouched",
    "with_lost_tests", "with_outside_failures",
]
_PLACES = {
    "BadInput": "errors",
    "Brought": "brought",
    "NotFixable": "errors",
    "PreparedTask": "task",
    "SourceFile": "source",
    "TestText": "brought",
    "calls_made": "asked.calls",
    "classify": "failing.failures",
    "failures_of": "failing.failures",
    "fixes_a_value": "asked.claims",
    "from_command_line": "task",
    "from_page": "task",
    "make_task": "task",
    "makes_new_calls": "asked.calls",
    "outside_failure_words": "failing.aside",
    "protected_lines": "program",
    "site_folders": "environment",
    "still_counting_tests": "failing.aside",
    "task_of": "task",
    "tests_from_snippet": "found.snippets",
    "tests_from_words": "found.words",
    "untouched": "program",
    "with_lost_tests": "failing.aside",
    "with_outside_failures": "failing.aside",
}


def __getattr__(name: str) -> object:
    """Loads what is asked for: most doors need little of this room."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
