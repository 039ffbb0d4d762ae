"""Models behind Ollama.

    provider.py   the calls, through Ollama's SDK
    answer.py     the lines of an answer
    faults.py     its words as our errors
"""

from llm.providers.ollama.provider import OllamaProvider

__all__ = ["OllamaProvider"]
