"""Errors about a user's input, with messages for users.

    BadInput               the input cannot be used; nothing was tried
        UsageError         arguments of a command                         agent.interfaces.request
        UnknownRun         there is no run with that id                   agent.log.store
        UnknownIteration   a run judged no program in that iteration      agent.report.iterations
        UnknownEntry       the memory has no fix or lesson with that id   agent.memory.fixes
        BadReview          an invalid review                              agent.report.waiting
        BadExtension       an invalid answer that raises no budget        agent.report.waiting
        BadFork            a run cannot be forked as requested            agent.loop.fork
    NotFixable             no edit of the program can help; `category` says why
        TimeIsUp           the given time was over before a repair could begin

These are not internal errors: interfaces show only the message, without a traceback.
"""

from __future__ import annotations

from typing import Literal

Category = Literal["missing_package", "input_exhausted", "deliberate_exit", "invalid_tests",
                   "environment", "too_deep"]


class BadInput(Exception):
    """The input cannot be used; the message says what is wrong and what to do."""


class NotFixable(Exception):
    """No edit of the program can help; the message says what to do instead."""

    outcome: Literal["not_fixable", "budget"] = "not_fixable"

    def __init__(self, category: Category, message: str) -> None:
        super().__init__(message)
        self.category: Category = category


class TimeIsUp(NotFixable):
    """The given time was over before anything could be repaired."""

    outcome = "budget"
