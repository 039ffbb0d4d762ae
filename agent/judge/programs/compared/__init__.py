"""What the observed witness runs in its jails."""
