"""Fixes and lessons that outlive a run, in one SQLite file."""

from agent.memory.edits import is_local, remade
from agent.memory.failures import Failure, failure_of, project_key, signature
from agent.memory.file import MemoryFault
from agent.memory.fixes import OWN, Fix, Memory, StoredFix, StoredLesson
from agent.memory.lessons import FailureDescription, failure_description
from agent.memory.offers import Offer, offers, open_memory

__all__ = [
    "OWN", "Failure", "FailureDescription", "Fix", "Memory", "MemoryFault", "Offer", "StoredFix",
    "StoredLesson", "failure_description", "failure_of", "is_local", "offers", "open_memory",
    "project_key", "remade", "signature",
]
