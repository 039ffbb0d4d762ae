"""Code that runs inside a jail. It imports only the standard library and modules of this folder.

A fork server imports these modules; a job of the backend `subprocess` runs `guest.py` alone."""
