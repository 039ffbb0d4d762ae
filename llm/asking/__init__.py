"""Renders prompts, sends typed requests, and parses their answers."""
