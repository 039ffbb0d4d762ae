"""Programs that the tools run in a jail."""
