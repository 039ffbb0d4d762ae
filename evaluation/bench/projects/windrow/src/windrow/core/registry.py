"""Parts of a pipeline by name, registered when their module is imported."""

import inspect

from .errors import BadSpec


class Registry(dict):
    """Name -> factory of parts."""

    def __init__(self, what):
        super().__init__()
        self.what = what

    def register(self, function):
        """Register a factory under its name, with "-" for "_"."""
        name = function.__name__.strip("_").replace("_", "-")
        if name in self:
            raise BadSpec(f"{self.what} {name} is registered twice")
        self[name] = function
        return function

    def make(self, name, arguments):
        """Make a part from written arguments; raises BadSpec."""
        if name not in self:
            raise BadSpec(f"unknown {self.what} {name!r}; there are {', '.join(sorted(self))}")
        factory = self[name]
        parameters = inspect.signature(factory).parameters
        values = {}
        for key, text in arguments.items():
            if key not in parameters:
                raise BadSpec(f"{name} takes no {key!r}")
            kind = parameters[key].annotation
            try:
                values[key] = flag(text) if kind is bool else kind(text)
            except ValueError:
                raise BadSpec(f"{name}: {key} cannot be {text!r}") from None
        missing = [key for key, one in parameters.items() if one.default is one.empty and key not in values]
        if missing:
            raise BadSpec(f"{name} needs {', '.join(missing)}")
        return factory(**values)


def flag(text):
    """A written truth value."""
    if text.lower() in ("yes", "true", "on", "1"):
        return True
    if text.lower() in ("no", "false", "off", "0"):
        return False
    raise ValueError(text)


STEPS = Registry("step")
SINKS = Registry("sink")
