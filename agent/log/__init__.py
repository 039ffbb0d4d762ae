"""The log of a run: store, event bus, history, spending and best program."""
