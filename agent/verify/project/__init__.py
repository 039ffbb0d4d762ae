"""Runs a project's suite, and decides which of its passes count."""
