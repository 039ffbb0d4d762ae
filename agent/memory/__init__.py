"""Fixes and lessons that outlive a run, in one SQLite file."""

from agent.memory.edits import Edit, Hunk, edit_between
from agent.memory.failures import Failure, failure_of, signature
from agent.memory.file import MemoryFault
from agent.memory.fixes import OWN, Fix, LessonRow, Memory, Remembered
from agent.memory.lessons import Symptom, symptom_of
from agent.memory.locality import is_local
from agent.memory.offers import Offer, offers, open_memory

__all__ = [
    "OWN", "Edit", "Failure", "Fix", "Hunk", "LessonRow", "Memory", "MemoryFault", "Offer",
    "Remembered", "Symptom", "edit_between", "failure_of", "is_local", "offers", "open_memory",
    "signature", "symptom_of",
]
