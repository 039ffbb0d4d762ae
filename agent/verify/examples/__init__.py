"""Examples: calls whose answers the host compares."""
