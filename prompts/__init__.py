"""One YAML file per role."""
