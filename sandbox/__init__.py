"""Runs untrusted Python: a job in, an outcome out. Imports nothing of the other packages."""

from sandbox.sandbox import BACKENDS, STRONGEST, Batch, Process, Sandbox, open_sandbox
from sandbox.types import (
    REFUSALS,
    Job,
    Json,
    Limits,
    Lost,
    Outcome,
    SandboxError,
    SandboxUnavailable,
)

__all__ = [
    "BACKENDS", "REFUSALS", "STRONGEST", "Batch", "Job", "Json", "Limits", "Lost", "Outcome",
    "Process", "Sandbox", "SandboxError", "SandboxUnavailable", "open_sandbox",
]
