"""Tests found in what a user brings: in snippets, files, docstrings and words."""
