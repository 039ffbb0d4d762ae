"""Sends questions to language models, or to rules where no model is configured.

The package imports none of the other packages. SDKs, tokenizers and validators load on first use.
"""

from llm.errors import BadPrompt, BadReply, LlmError, NoModel, NoProvider
from llm.keys import Secret
from llm.plan import ModelPlan, resolve
from llm.provider import (
    PROVIDERS,
    Connection,
    Provider,
    ProviderRow,
    Rules,
    RulesProvider,
    Setting,
    open_provider,
)
from llm.types import Code, Json, Message, Reply, Request, Stream, Text, Usage

__all__ = [
    "BadPrompt", "BadReply", "Code", "Connection", "Json", "LlmError", "Message", "NoModel",
    "NoProvider", "PROVIDERS", "ModelPlan", "Provider", "Reply", "Request", "ProviderRow", "Rules",
    "Secret", "Setting", "Stream", "Text", "Usage",
    "open_provider", "resolve", "RulesProvider",
]
