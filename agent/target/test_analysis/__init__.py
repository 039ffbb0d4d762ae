"""Analyses tests by their text: calls of the program, expected values, contradictions."""
