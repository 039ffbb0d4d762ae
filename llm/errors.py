"""What can go wrong with a model.

    LlmError               the base; the message is for people
      NoProvider           nothing that can answer is configured, or it is not built in
      NoModel              the answer needs a model, and the plan has none
      BadReply             the model answered, twice, in a form that cannot be used
      BadPrompt            a prompt file is wrong, or a variable is missing: our own fault
"""


class LlmError(Exception):
    """A model could not give a usable answer."""


class NoProvider(LlmError):
    """The configured provider cannot be used; the message says what to set."""


class NoModel(LlmError):
    """Only a model could answer this, and the plan has none."""


class BadReply(LlmError):
    """The answer had the wrong form, also after it was asked for again."""


class BadPrompt(LlmError):
    """A prompt file or its variables are wrong."""
