"""Reads and rewrites the texts of programs and tests before they run."""
