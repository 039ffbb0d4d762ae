"""Edits that add forgotten code: cases, entries, steps, arguments."""
