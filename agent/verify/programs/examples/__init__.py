"""Jailed programs whose answers the host compares."""
