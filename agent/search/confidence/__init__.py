"""Estimates how likely a patch is right: measured features, a calibrated model, and the reason."""
