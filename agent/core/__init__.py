"""Values shared by all packages: tasks, tests, solutions, reports, proofs, events, settings."""
