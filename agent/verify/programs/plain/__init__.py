"""Jailed programs of the plain run."""
