"""A simulated programmer with known error rates, and what the loop makes of its answers."""
