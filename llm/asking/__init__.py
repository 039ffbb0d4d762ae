"""A question as it is put, and what is read out of its answer."""
