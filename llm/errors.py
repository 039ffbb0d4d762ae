"""What can go wrong with a model.

    LlmError                 the base; the message is for people and says the next step
      NoProvider             nothing that can answer is configured, or it is not built in
        NeedsKey             the plan needs a key that is not there (any more)
      NoModel                the answer needs a model, and the plan has none
      BadPrompt              a prompt file is wrong, or a variable is missing: our own fault
      BadPrices              a price table cannot be used (`llm.prices`)
      OverBudget             a cap of the run or the role would be passed; nothing was sent
      BadReply               the model answered, twice, in a form that cannot be used
      Truncated              the answer ended before its end: token limit, or a connection cut
      Refused                the model declined to answer
      CallFailed             a call to a provider failed
        WrongKey             the key is missing there, wrong, or may not do this
        UnknownModel         the provider does not have the model
        ContextOverflow      the question is longer than the model's window
        Rejected             the provider found the request wrong: our own fault
          WishRefused        it takes no schema, or no temperature, and is asked without next
        RateLimited          too many calls; `retry_after_s` says when to come again
        Overloaded           the provider has no capacity now
        TimedOut             no answer within the deadline, or the stream stalled
        ProviderDown         refused connection, reset, a server's fault
          Misspoken          what it answers is not what it should be, and would not be next time

A cancelled call raises `asyncio.CancelledError`, as every coroutine does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from llm.types import Usage

if TYPE_CHECKING:
    from llm.budget import Spent


class LlmError(Exception):
    """A model could not give a usable answer."""

    spent: Spent | None = None
    """What all models cost in the work that it ended, if known."""


class NoProvider(LlmError):
    """The configured provider cannot be used; the message says what to set."""


class NoModel(LlmError):
    """Only a model could answer this, and the plan has none."""


class NeedsKey(NoProvider):
    """The plan needs a key that is not there; `variable` names it, as in `GROQ_API_KEY`."""

    def __init__(self, message: str, variable: str) -> None:
        super().__init__(message)
        self.variable = variable


class BadPrompt(LlmError):
    """A prompt file or its variables are wrong."""


class OverBudget(LlmError):
    """The call would pass a cap and was not made; `cap` names it, as in `run usd`, and `lacks` is
    by how much."""

    def __init__(self, message: str, cap: str, lacks: float = 0.0) -> None:
        super().__init__(message)
        self.cap = cap
        self.lacks = lacks

    @property
    def is_of_the_run(self) -> bool:
        """Whether the cap is the run's, not a role's."""
        return self.cap.startswith("run ")


class BadReply(LlmError):
    """The answer had the wrong form, also after it was asked for again."""


class Truncated(LlmError):
    """The answer ended before its end."""


class Refused(LlmError):
    """The model declined to answer; the message has its category where one was given."""


class CallFailed(LlmError):
    """A call to a provider failed.

    `started` says whether the provider had begun to answer: such a call may have been paid for, so
    it is charged, and another is a call of its own. `usage` is what it counted until then.
    """

    transient = False
    """Whether the same call may succeed a little later."""

    def __init__(self, message: str, *, started: bool = False, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.started = started
        self.usage = usage

    @property
    def broke_off(self) -> bool:
        """Whether it ended amid its answer by what may be over a little later."""
        return self.started and self.transient and not isinstance(self, TimedOut)


class WrongKey(CallFailed):
    """The key is missing at the provider, wrong, or may not do this."""


class UnknownModel(CallFailed):
    """The provider does not have the model."""


class ContextOverflow(CallFailed):
    """The question is longer than the model's window."""


class Rejected(CallFailed):
    """The provider found the request wrong."""


class WishRefused(Rejected):
    """The provider refused what can be left out of a question; asked again at once, it is asked
    without it: a schema is then described in words."""

    transient = True


class RateLimited(CallFailed):
    """Too many calls; come again after `retry_after_s` seconds where the provider says so."""

    transient = True

    def __init__(
        self, message: str, *, retry_after_s: float | None = None,
        started: bool = False, usage: Usage | None = None,
    ) -> None:
        super().__init__(message, started=started, usage=usage)
        self.retry_after_s = retry_after_s


class Overloaded(RateLimited):
    """The provider has no capacity now."""


class TimedOut(CallFailed):
    """No answer within the deadline, or a stream that stalled."""

    transient = True


class ProviderDown(CallFailed):
    """The provider cannot be reached, broke off, or failed by its own fault."""

    transient = True


class Misspoken(ProviderDown):
    """What the provider answers cannot be read, or is longer than it may be."""

    transient = False
