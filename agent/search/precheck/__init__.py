"""The pre-check: runs many candidates in few processes; its results are hints, not verdicts."""
