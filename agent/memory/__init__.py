"""The memory: fixes and lessons that persist across runs in one SQLite file."""

from agent.memory.edits import is_local, remade
from agent.memory.failures import FailureKey, failure_of, project_key, signature
from agent.memory.file import MemoryFault
from agent.memory.fixes import OWN, Fix, Memory, StoredFix, StoredLesson
from agent.memory.lessons import FailureDescription, failure_description
from agent.memory.offers import RememberedEdit, offers, open_memory

__all__ = [
    "OWN", "FailureKey", "FailureDescription", "Fix", "Memory", "MemoryFault", "RememberedEdit",
    "StoredFix", "StoredLesson", "failure_description", "failure_of", "is_local", "offers",
    "open_memory", "project_key", "remade", "signature",
]
