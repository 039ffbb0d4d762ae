"""Inputs, mutants and patch variants for proofs above E1."""
