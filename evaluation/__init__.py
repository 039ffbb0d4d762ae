"""Measures the product; see `docs/benchmarks.md`."""
