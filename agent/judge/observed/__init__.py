"""The observed witness: tests in one process, the program in another."""
