"""Searches a project: its collected test suite in a jail, and the files suspected of the fault."""
