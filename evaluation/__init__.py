"""Benchmarks of the product: speed, correctness of repairs, and agreement with pytest."""
