"""What a test asks of the program, read from its text."""
