"""What is wrong with what a user brought, said in words for people.

    BadInput      the input cannot be read or used as it was given; nothing was tried
    NotFixable    no edit of the program could help; `category` says why

Neither is a fault of ours: faces show the message alone, without a traceback.
"""

from __future__ import annotations

from typing import Literal

Category = Literal["missing_package", "input_exhausted", "deliberate_exit", "invalid_tests",
                   "environment", "too_deep"]


class BadInput(Exception):
    """The input cannot be used; the message says what is wrong and what to do."""


class NotFixable(Exception):
    """No edit of the program helps; the message says what would."""

    def __init__(self, category: Category, message: str) -> None:
        super().__init__(message)
        self.category: Category = category
