"""Many candidates in few processes; never final."""
