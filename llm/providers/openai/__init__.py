"""Servers that speak OpenAI's chat completions.

    provider.py   the calls, through OpenAI's SDK
    answer.py     the chunks of an answer, and its reply
    schema.py     a schema in the form that strict mode takes
    faults.py     the words of servers as our errors

Which servers, and what each takes, stands in `llm/providers/presets.py`.
"""

from llm.providers.openai.provider import OpenAiProvider

__all__ = ["OpenAiProvider"]
