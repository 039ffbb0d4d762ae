"""Runs jobs in a container, at E2B or at Daytona.

A *host* (`docker`, `e2b`, `daytona`) creates a new sandbox and starts one command in it, whose
standard input and output are the only connection. The command is a short *bootstrap* script. It
first receives the source of `sandbox.remote.supervisor` and of every module that it imports. The
*supervisor* runs jobs with the backend `subprocess`, with the same limits and outcomes as here, and
forwards their messages.

    here                                   there
    RemoteSandbox → Link → Command ═ lines ═ supervisor → SubprocessSandbox → guest → job

Guaranteed are the outcome, the limits of a job, and the deletion of the sandbox in all cases. The
isolation of sandboxes from each other and from the provider's machines is up to the provider. A job
never falls back to this machine.
"""
