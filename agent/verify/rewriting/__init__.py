"""Texts of programs and tests, read and changed before they run."""
