"""A model in a GGUF file, run by llama.cpp in a child process."""

from __future__ import annotations

from llm.providers.llamacpp.provider import LlamaCppProvider

__all__ = ["LlamaCppProvider"]
