"""The `memory` commands."""
