"""The programs that run in the jail with a project's collected suite."""
