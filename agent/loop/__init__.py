"""A run and the session that starts it: the graph, its steps and the shared resources."""
