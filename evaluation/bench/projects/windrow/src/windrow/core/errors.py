"""Errors: WindrowError, and below it BadSpec (a pipeline's text) and BadReading (a source's)."""


class WindrowError(Exception):
    """Anything this package raises on purpose."""


class BadSpec(WindrowError, ValueError):
    """The text of a pipeline makes no sense."""


class BadReading(WindrowError, ValueError):
    """A source holds something that is no reading."""

    def __init__(self, where, reason):
        super().__init__(f"{where}: {reason}")
        self.where = where
