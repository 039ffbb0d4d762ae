"""Values that every room shares: tasks, tests, solutions, reports, proofs, events, settings."""
