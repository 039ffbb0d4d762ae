"""What users bring, made into a task (`agent.domain.Task`) or refused in clear words."""

from agent.intake.aside import apart, aside_words, faithful, remaining
from agent.intake.calls import asks_anew, calls_made
from agent.intake.claims import fixes_a_value
from agent.intake.doctests import tests_from_doctests, tests_from_prompts
from agent.intake.environment import missing_packages, sibling_files, site_folders
from agent.intake.errors import BadInput, NotFixable
from agent.intake.failures import classify, failures_of
from agent.intake.program import protected_lines, tests_from_program, untouched
from agent.intake.pytest_files import tests_from_file
from agent.intake.snippets import tests_from_snippet
from agent.intake.source import SourceFile, read_source
from agent.intake.task import Intake, TestText, bring, make_task, paste
from agent.intake.vacuity import vacuous
from agent.intake.words import tests_from_words

__all__ = [
    "BadInput", "Intake", "NotFixable", "SourceFile", "TestText", "apart", "aside_words",
    "asks_anew", "bring", "calls_made", "classify", "failures_of", "faithful", "fixes_a_value",
    "make_task", "missing_packages", "paste", "protected_lines", "read_source", "remaining",
    "sibling_files", "site_folders",
    "tests_from_doctests", "tests_from_file", "tests_from_program", "tests_from_prompts",
    "tests_from_snippet", "tests_from_words", "untouched", "vacuous",
]
