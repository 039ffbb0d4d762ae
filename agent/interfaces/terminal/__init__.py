"""The terminal command heal."""
