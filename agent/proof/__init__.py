"""Gathers the evidence for a repair, and how likely it is right."""
