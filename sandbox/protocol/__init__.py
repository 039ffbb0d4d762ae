"""A job from its orders to its outcome, whatever started its process."""
