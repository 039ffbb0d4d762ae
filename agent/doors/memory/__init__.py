"""The commands over memory."""
