"""Views on the log of a run: its result, timeline, iterations, metrics and wording."""
