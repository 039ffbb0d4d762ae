"""Decide which snapshots of a backup stay, and which files go into it."""

from .ignore import Ignore
from .policy import Policy, Verdict
from .snapshot import BadName, Catalog, Snapshot

__all__ = ["BadName", "Catalog", "Ignore", "Policy", "Snapshot", "Verdict"]
