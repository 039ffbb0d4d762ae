"""Converts user input to a task (`agent.core.domain.Task`), or refuses it with a message."""
