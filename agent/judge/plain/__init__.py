"""The plain witness: tests as a user runs them, in one process."""
