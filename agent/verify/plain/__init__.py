"""The plain run: runs tests as a user does, in one process with the program."""
