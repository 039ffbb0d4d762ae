"""Claude, asked through Anthropic's own SDK. Tried against a server that speaks the wire format,
and never against the real service.

The SDK reads credentials, an address and headers from the environment and from a profile on disk
where it is not told otherwise. Here it is told: whoever has not brought a key must not spend the
host's. Its retries are off, since the router knows the deadline and the budget.

Claude takes no temperature and no seed: the SDK has no parameter for either. A request that has
one is asked without it, and the reply's `note` says so. Answers differ by their prompts.
"""

from llm.providers.anthropic.provider import AnthropicProvider

__all__ = ["AnthropicProvider"]
