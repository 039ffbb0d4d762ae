"""What a failure of a program says, and which failures say nothing against it."""
