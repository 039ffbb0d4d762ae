"""Who thinks: roles, the rules in their place, and repair by a model."""
