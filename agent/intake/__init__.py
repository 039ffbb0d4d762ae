"""What users bring, made into a task (`agent.core.domain.Task`) or refused in clear words."""

from agent.intake.asked.calls import asks_anew, calls_made
from agent.intake.asked.claims import fixes_a_value
from agent.intake.brought import Brought, TestText
from agent.intake.environment import site_folders
from agent.intake.errors import BadInput, NotFixable
from agent.intake.failing.aside import apart, aside_words, faithful, remaining
from agent.intake.failing.failures import classify, failures_of
from agent.intake.found.snippets import tests_from_snippet
from agent.intake.found.words import tests_from_words
from agent.intake.program import protected_lines, untouched
from agent.intake.source import SourceFile
from agent.intake.task import Intake, bring, make_task, paste, task_of

__all__ = [
    "BadInput", "Brought", "Intake", "NotFixable", "SourceFile", "TestText", "apart",
    "aside_words", "asks_anew", "bring", "calls_made", "classify", "failures_of", "faithful",
    "fixes_a_value", "make_task", "paste", "protected_lines", "remaining", "site_folders",
    "task_of", "tests_from_snippet", "tests_from_words", "untouched",
]
