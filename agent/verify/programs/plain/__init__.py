"""What the plain run runs in its jail."""
