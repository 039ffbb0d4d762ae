"""Classifies the failures of a program, and excludes those that it did not cause."""
