"""Finds, heals and reports projects: repositories with a test suite."""
