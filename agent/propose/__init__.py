"""Model roles, the rules that replace them without a model, and repair by a model."""
