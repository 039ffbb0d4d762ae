"""Drives the search for a repair and runs its candidates."""
