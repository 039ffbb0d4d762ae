"""What the text of a repair itself says against it."""
