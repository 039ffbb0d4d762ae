"""Runs untrusted Python: a job in, an outcome out. Imports nothing of the other packages."""

from sandbox.levels import Layer, Witness
from sandbox.sandbox import BACKENDS, STRONGEST, Batch, Process, Sandbox, open_sandbox
from sandbox.strongest import OwnedSandbox
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
    "BACKENDS", "REFUSALS", "STRONGEST", "Batch", "Job", "Json", "Layer", "Limits", "Lost",
    "Outcome", "OwnedSandbox", "Process", "Sandbox", "SandboxError", "SandboxUnavailable",
    "Witness", "open_sandbox",
]
