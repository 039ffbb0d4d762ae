"""A run's log, and all that is read from it."""
