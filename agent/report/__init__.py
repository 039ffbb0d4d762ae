"""What is read from the log of a run: result, timeline, tables and their words."""
