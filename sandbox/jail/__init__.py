"""The jail: each job in a child of its own, forked from a jailed interpreter in a millisecond.

`forkserver` starts such an interpreter and asks it for workers, `servers` chooses one for a job,
`running` is a job in its worker, and `backend` puts them behind the protocol of a sandbox. What
runs on the other side is `sandbox.inside`.
"""

from __future__ import annotations

from sandbox.jail.backend import JailSandbox

__all__ = ["JailSandbox"]
