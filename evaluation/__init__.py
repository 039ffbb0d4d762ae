"""Measures the product: `python -m evaluation.bench` prints figures, as ratios in one run."""
