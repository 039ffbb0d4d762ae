"""Conversations with models as JSON lines: written while a provider answers, answered without it.

    LlmError
      BadRecord      the file is no record, is damaged, or cannot be written
      NotRecorded    what is asked is not in it: see `llm.errors`

Each line stands for itself: its version, what it is (`kind`) and that thing. A `call` holds the
question, the pieces of the answer with the seconds at which they came, and how it ended: the reply,
the error, or that the asker went away. A `count` is a text's number of tokens where a plain
estimate would give another, since how much of a question is trimmed depends on it. Secrets are
taken out before anything is written.
"""

from llm.records.file import BadRecord, writable
from llm.records.recording import Recording
from llm.records.replaying import Replaying, answered

__all__ = ["BadRecord", "Recording", "Replaying", "answered", "writable"]
