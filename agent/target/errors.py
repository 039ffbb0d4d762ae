"""What is wrong with a user's input, in words for people.

    BadInput               the input cannot be used as it was given; nothing was tried
        Usage              arguments of a command                       agent.interfaces.request
        UnknownRun         there is no run of that id                   agent.log.store
        UnknownIteration   a run judged no program there                agent.report.iterations
        UnknownEntry       the memory has no fix or lesson of that id   agent.memory.fixes
        BadReview          no answer to a review                        agent.report.waiting
        BadExtension       no answer that raises caps                   agent.report.waiting
        BadFork            a run cannot be forked so                    agent.loop.fork
    NotFixable             no edit of the program could help; `category` says why

None is an internal error: interfaces show the message alone, without a traceback.
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
