"""The programs of the pre-check that run in its jails."""
