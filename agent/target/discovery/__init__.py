"""Finds tests in a user's input: snippets, pytest files, docstrings and task descriptions."""
