"""Metrics, traces and logs for operators, all derived from the events of runs."""
