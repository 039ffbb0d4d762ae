"""The context of the graph steps, the repair iterations, and the search that they use."""
