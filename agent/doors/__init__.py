"""The ways in: the terminal, the library, and their words."""
