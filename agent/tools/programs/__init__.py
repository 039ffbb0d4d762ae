"""What the tools run in a jail."""
