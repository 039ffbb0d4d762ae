"""Exceptions of calls to language models.

    LlmError                 the base class; the message names the next step for the user
      NoProvider             no usable provider is configured or installed
        NeedsKey             the plan needs a key that is not set or was removed
      NoModel                the role needs a model, and the plan has none
      BadPrompt              a prompt file is invalid, or a variable is missing: internal error
      BadPrices              a price table cannot be used (`llm.prices`)
      OverBudget             the call would exceed a cap of the run or the role; it was not sent
      BadReply               the model answered twice in a form that cannot be parsed
      Truncated              the answer is incomplete: token limit or lost connection
      Refused                the model declined to answer
      CallFailed             a call to a provider failed
        WrongKey             the key is missing, wrong, or lacks permission
        UnknownModel         the provider does not have the model
        ContextOverflow      the request is longer than the model's context window
        Rejected             the provider found the request invalid: internal error
          OptionRefused      it rejects an optional parameter; the retry omits it
        RateLimited          too many calls; `retry_after_s` says when to retry
        Overloaded           the provider has no capacity
        TimedOut             no answer within the deadline, or the stream stalled
        ProviderDown         the connection was refused or reset, or the server failed
          InvalidResponse    the response does not follow the protocol; a retry does not help

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
    """The cost of all calls of the aborted run, if known."""


class NoProvider(LlmError):
    """The configured provider cannot be used; the message says what to set."""


class NoModel(LlmError):
    """The request needs a model, and the plan has none."""


class NeedsKey(NoProvider):
    """A required key is not set; `variable` names it, such as `GROQ_API_KEY`."""

    def __init__(self, message: str, variable: str) -> None:
        super().__init__(message)
        self.variable = variable


class BadPrompt(LlmError):
    """A prompt file or its variables are wrong."""


class OverBudget(LlmError):
    """The call would exceed a cap and was not made.

    `cap` names the cap, such as `run usd`; `excess` is the amount by which it would be exceeded.
    """

    def __init__(self, message: str, cap: str, excess: float = 0.0) -> None:
        super().__init__(message)
        self.cap = cap
        self.excess = excess

    @property
    def is_run_cap(self) -> bool:
        """Whether the cap applies to the run, not to a role."""
        return self.cap.startswith("run ")


class BadReply(LlmError):
    """The answer had the wrong form, also after one retry."""


class Truncated(LlmError):
    """The answer is incomplete."""


class Refused(LlmError):
    """The model declined to answer; the message includes the category if there is one."""


class CallFailed(LlmError):
    """A call to a provider failed.

    `started` says whether the provider had begun to answer. Such a call may be billed, so it is
    charged, and a retry counts as a separate call. `usage` is the usage counted until then.
    """

    transient = False
    """Whether a retry may succeed."""

    def __init__(self, message: str, *, started: bool = False, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.started = started
        self.usage = usage

    @property
    def was_interrupted(self) -> bool:
        """Whether a transient error interrupted the answer."""
        return self.started and self.transient and not isinstance(self, TimedOut)


class WrongKey(CallFailed):
    """The key is missing, wrong, or lacks permission."""


class UnknownModel(CallFailed):
    """The provider does not have the model."""


class ContextOverflow(CallFailed):
    """The request is longer than the model's context window."""


class Rejected(CallFailed):
    """The provider found the request invalid."""


class OptionRefused(Rejected):
    """The provider refused an optional parameter. The immediate retry omits it; a schema is then
    described in the prompt."""

    transient = True


class RateLimited(CallFailed):
    """Too many calls; `retry_after_s` is the wait that the provider asks for, if any."""

    transient = True

    def __init__(
        self, message: str, *, retry_after_s: float | None = None,
        started: bool = False, usage: Usage | None = None,
    ) -> None:
        super().__init__(message, started=started, usage=usage)
        self.retry_after_s = retry_after_s


class Overloaded(RateLimited):
    """The provider has no capacity."""


class TimedOut(CallFailed):
    """No answer arrived within the deadline, or the stream stalled."""

    transient = True


class ProviderDown(CallFailed):
    """The provider cannot be reached, closed the connection, or had an internal error."""

    transient = True


class InvalidResponse(ProviderDown):
    """The provider's response cannot be read or exceeds the token limit."""

    transient = False
