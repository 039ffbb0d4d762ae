"""What users bring, made into a task (`agent.core.domain.Task`) or refused in clear words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.core.lazy import loaded_later

if TYPE_CHECKING:
    from agent.intake.asked.calls import calls_made, makes_new_calls
    from agent.intake.asked.claims import fixes_a_value
    from agent.intake.environment import site_folders
    from agent.intake.errors import BadInput, NotFixable
    from agent.intake.failing.aside import (
        outside_failure_words,
        still_counting_tests,
        with_lost_tests,
        with_outside_failures,
    )
    from agent.intake.failing.failures import classify, failures_of, undefined_in_tests
    from agent.intake.found.snippets import tests_from_snippet
    from agent.intake.found.words import tests_from_words
    from agent.intake.program import protected_lines, untouched, without_added_asserts
    from agent.intake.source import SourceFile
    from agent.intake.task import (
        Brought,
        Inputs,
        PreparedTask,
        TestText,
        from_command_line,
        from_page,
        make_task,
        task_of,
    )

__all__ = [
    "BadInput", "Brought", "Inputs", "NotFixable", "PreparedTask", "SourceFile", "TestText",
    "calls_made", "classify", "failures_of", "fixes_a_value", "from_command_line", "from_page",
    "make_task", "makes_new_calls", "outside_failure_words", "protected_lines", "site_folders",
    "task_of", "tests_from_snippet", "tests_from_words", "still_counting_tests", "untouched",
    "without_added_asserts",
    "undefined_in_tests", "with_lost_tests", "with_outside_failures",
]
__getattr__ = loaded_later(__name__, {
    "asked.calls": "calls_made makes_new_calls",
    "asked.claims": "fixes_a_value",
    "environment": "site_folders",
    "errors": "BadInput NotFixable",
    "failing.aside": "outside_failure_words still_counting_tests with_lost_tests "
    "with_outside_failures",
    "failing.failures": "classify failures_of undefined_in_tests",
    "found.snippets": "tests_from_snippet",
    "found.words": "tests_from_words",
    "program": "protected_lines untouched without_added_asserts",
    "source": "SourceFile",
    "task": "Brought Inputs PreparedTask TestText from_command_line from_page make_task task_of",
})
