"""Jobs that run on somebody else's machine: in a container, at E2B, at Daytona.

Theory of operation. A *host* (`docker`, `e2b`, `daytona`) lends a fresh sandbox and starts one
command in it, whose standard input and output are all that connects us. The command is a loader
of a few lines; the first thing it is sent is a *parcel*, the text of `sandbox.remote.porter` and
of every module that it imports. So the *porter* there starts jobs by the very backend that runs
them here, with the same limits and the same ends, and carries what they say.

    here                                     there
    RemoteSandbox → Link → Carrier ═ lines ═ porter → SubprocessSandbox → guest → program

What holds: the outcome, the limits on a job, and that a sandbox is deleted at the end, however
the end came. What does not come from us: how well one sandbox is kept from the next, and from
its provider. Nothing here ever falls back to running a job on this machine.
"""
