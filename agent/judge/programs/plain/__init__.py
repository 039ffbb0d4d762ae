"""What the plain witness runs in its jail."""
