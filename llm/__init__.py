"""Asks models, or the rules that stand where there is none. Imports nothing of ours."""

from llm.errors import BadPrompt, BadReply, LlmError, NoModel, NoProvider
from llm.provider import PROVIDERS, Plan, Provider, Request, Rules, open_provider, resolve

__all__ = [
    "BadPrompt", "BadReply", "LlmError", "NoModel", "NoProvider", "PROVIDERS", "Plan",
    "Provider", "Request", "Rules", "open_provider", "resolve",
]
