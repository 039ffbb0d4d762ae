"""Errors of the package.

LarderError
├── UnknownUnit      a unit that no table has
├── CannotConvert    two units of different kinds
└── BadRecipe        a recipe file that cannot be read
"""


class LarderError(Exception):
    """Anything this package raises on purpose."""


class UnknownUnit(LarderError, KeyError):
    """No table has this unit."""

    def __str__(self):
        return f"unknown unit {self.args[0]!r}"


class CannotConvert(LarderError, ValueError):
    """The two units measure different things."""


class BadRecipe(LarderError, ValueError):
    """A recipe's text is malformed; `line` counts from one."""

    def __init__(self, reason, line=None):
        super().__init__(reason if line is None else f"line {line}: {reason}")
        self.line = line
