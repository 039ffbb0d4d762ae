"""Errors.

RuleError
├── SyntaxProblem    the text is no rule
├── UnknownName      a function that is not registered
└── Unfit            values that an operator cannot take
"""


class RuleError(Exception):
    """Anything that is wrong with a rule."""


class SyntaxProblem(RuleError):
    """The text is no rule; `position` counts from zero."""

    def __init__(self, reason, text, position):
        super().__init__(f"{reason} at {position}: {excerpt(text, position)}")
        self.position = position


class UnknownName(RuleError):
    """A function that is not registered."""


class Unfit(RuleError, TypeError):
    """Values that an operator cannot take."""


def excerpt(text, position, width=10):
    """What stands around a position, with a mark before it."""
    before = text[max(0, position - width) : position]
    after = text[position : position + width]
    return f"{before}>>{after}"
