"""Edits of what programs of several files forget: a case, an entry, a step, an argument."""
