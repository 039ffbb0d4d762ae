"""Servers that speak OpenAI's chat completions, and what each of them takes.

Addresses and abilities are as their makers describe them. None of these servers was asked by
its authors: check the row of yours, and name another address with the preset `custom`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from llm.errors import NoProvider
from llm.provider import Connection


@dataclass(frozen=True)
class Preset:
    """One server: where it is, which key it wants, which parameters it takes."""

    base_url: str
    """Empty where the user must name it."""
    key_name: str = ""
    """The environment variable of its key; empty for servers on the user's own machine."""
    needs_key: bool = False
    model: str = ""
    """The model that is asked where none is named; empty where one must be named."""
    json: Literal["schema", "object", "none"] = "none"
    """How an answer in JSON is asked for: constrained by its schema, constrained to be JSON, or
    by words alone. Without the first, the schema is put into the system prompt."""
    lengths: bool = True
    """Whether its schemas may bound the length of strings."""
    thinking: tuple[str, ...] = ()
    """How the names of models begin that take a `reasoning_effort`; others are sent none."""
    temperature: Literal["always", "unless thinking"] = "always"
    """Which models take a temperature; others are sent none, and choose their own."""
    seed: bool = True
    """Whether it takes a seed, which is not sent otherwise."""
    stream_usage: bool = True
    """Whether it takes the wish for token counts at a stream's end."""
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """What it calls the most tokens of an answer."""
    lists_windows: bool = False
    """Whether its list of models may tell how long a question may be: known before the first one,
    it can be cut to that. Far servers have room for nearly every question of ours."""
    local: bool = False
    """It runs on the user's machine, where loading a model may take minutes."""

    def thinks(self, model: str) -> bool:
        """Whether a model takes an effort."""
        return model.startswith(self.thinking) and "-chat" not in model


PRESETS: dict[str, Preset] = {
    "openai": Preset(
        "https://api.openai.com/v1", "OPENAI_API_KEY", needs_key=True, model="gpt-5.4-mini",
        json="schema", lengths=False, thinking=("gpt-5", "gpt-6", "o1", "o3", "o4"),
        temperature="unless thinking", limit="max_completion_tokens",
    ),
    # Some of its models have a schema mode, but no mode of JSON there goes with streaming.
    "groq": Preset(
        "https://api.groq.com/openai/v1", "GROQ_API_KEY", needs_key=True,
        thinking=("openai/gpt-oss",), limit="max_completion_tokens",
    ),
    "gemini": Preset(
        "https://generativelanguage.googleapis.com/v1beta/openai/", "GEMINI_API_KEY",
        needs_key=True, json="schema", lengths=False, thinking=("gemini-2.5", "gemini-3"),
        seed=False,
    ),
    # Only its newest models have a schema mode; all have that of plain JSON.
    "qwen": Preset(
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "QWEN_API_KEY", needs_key=True,
        json="object",
    ),
    # It passes the question on to providers that differ in all but the plainest parameters.
    "hf-router": Preset(
        "https://router.huggingface.co/v1", "HF_TOKEN", needs_key=True, seed=False,
    ),
    "vllm": Preset("http://127.0.0.1:8000/v1", json="schema", lists_windows=True, local=True),
    "lmstudio": Preset("http://127.0.0.1:1234/v1", json="schema", lists_windows=True, local=True),
    "llama-server": Preset(
        "http://127.0.0.1:8080/v1", json="schema", lists_windows=True, local=True
    ),
    # Nothing is known of it, so it is sent what every such server takes. Its key has a name of its
    # own: a key for OpenAI must not reach a stranger because an address was set.
    "custom": Preset("", "LLM_API_KEY", seed=False, stream_usage=False, lists_windows=True),
}


def preset_name(connection: Connection) -> str:
    """The row a connection means: its own, else `custom` for an address and `openai` without."""
    name = connection.preset or ("custom" if connection.base_url else "openai")
    if name not in PRESETS:
        raise NoProvider(f"there is no preset {name!r}; there are {', '.join(PRESETS)}")
    return name


def on_this_machine(url: str) -> bool:
    """Whether an address leads to loopback, where no proxy of the environment has a place."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")
