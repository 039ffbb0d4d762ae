"""Runs untrusted Python: takes a job and returns an outcome. Imports none of the other packages."""

from sandbox.levels import Isolation, Layer
from sandbox.sandbox import BACKENDS, STRONGEST, Batch, Process, Sandbox, open_sandbox
from sandbox.strongest import OwnedSandbox
from sandbox.types import (
    DENIAL_MEANINGS,
    Job,
    Json,
    Limits,
    LostItem,
    Outcome,
    SandboxError,
    SandboxUnavailable,
)

__all__ = [
    "BACKENDS", "DENIAL_MEANINGS", "STRONGEST", "Batch", "Isolation", "Job", "Json", "Layer",
    "Limits", "LostItem", "Outcome", "OwnedSandbox", "Process", "Sandbox", "SandboxError",
    "SandboxUnavailable", "open_sandbox",
]
