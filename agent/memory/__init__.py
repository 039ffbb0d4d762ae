"""The memory: fixes and lessons that persist across runs in one SQLite file."""

from agent.memory.edits import is_small_edit, reapply_edit
from agent.memory.failures import FailureKey, failure_of, project_key, signature
from agent.memory.file import MemoryFault
from agent.memory.fixes import OWN, Fix, Memory, StoredFix, StoredLesson
from agent.memory.lessons import FailureDescription, failure_description
from agent.memory.offers import RememberedEdit, applicable_fixes, open_memory

__all__ = [
    "OWN", "FailureKey", "FailureDescription", "Fix", "Memory", "MemoryFault", "RememberedEdit",
    "StoredFix", "StoredLesson", "failure_description", "failure_of", "is_small_edit",
    "applicable_fixes", "open_memory", "project_key", "reapply_edit", "signature",
]
