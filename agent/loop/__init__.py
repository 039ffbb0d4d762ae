"""One run and the session that starts it: the graph, its steps, what runs share."""
