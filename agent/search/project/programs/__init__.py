"""What runs in the jail that holds a project's collected suite."""
