"""What screening runs in its jails."""
