"""Runs jobs in a container, at E2B or at Daytona.

A *host* (`docker`, `e2b`, `daytona`) creates a new sandbox and starts one command in it, whose
standard input and output are the only connection. The command is a short loader. It first receives
a *parcel*: the source of `sandbox.remote.porter` and of every module that it imports. The *porter*
runs jobs with the backend `subprocess`, with the same limits and outcomes as here, and forwards
their messages.

    here                                     there
    RemoteSandbox → Link → Carrier ═ lines ═ porter → SubprocessSandbox → guest → program

Guaranteed are the outcome, the limits of a job, and the deletion of the sandbox in all cases. The
isolation of sandboxes from each other and from the provider's machines is up to the provider. A job
never falls back to this machine.
"""
