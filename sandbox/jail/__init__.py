"""The backend `jail`: runs each job in a child process that a jailed fork server forks.

`forkserver` starts a fork server and requests workers, `servers` chooses one for a job, `running`
is a job in its worker, and `backend` implements the sandbox interface. The code that runs in the
jail is `sandbox.inside`.
"""

from __future__ import annotations

from sandbox.jail.backend import JailSandbox

__all__ = ["JailSandbox"]
