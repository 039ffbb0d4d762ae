"""The plain run: tests as a user runs them, in one process with the program."""
