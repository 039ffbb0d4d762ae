"""Ollama's own wire format, as the SDK's own types have it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.llm.fakes.server import NDJSON, FakeServer, Handler, ends, lines, says, streams

CHAT = "/api/chat"
TAGS = "/api/tags"
SHOW = "/api/show"
MODEL = "coder:3b"


def line(text: str, **more: Any) -> dict[str, Any]:
    """A piece of an answer."""
    return {
        "model": MODEL, "created_at": "2026-11-01T00:00:00.0Z",
        "message": {"role": "assistant", "content": text}, "done": False, **more,
    }


def thought(text: str) -> dict[str, Any]:
    return line("") | {"message": {"role": "assistant", "content": "", "thinking": text}}


def opening(pieces: Iterable[str] = ("hello ", "world")) -> list[dict[str, Any]]:
    return [line(piece) for piece in pieces]


def last(reason: str | None = "stop", asked: int = 100, answered: int = 20) -> dict[str, Any]:
    """The line that tells that an answer is whole, with its counts."""
    return line("") | {
        "done": True, "done_reason": reason, "total_duration": 9, "load_duration": 1,
        "prompt_eval_count": asked, "prompt_eval_duration": 4, "eval_count": answered,
        "eval_duration": 4,
    }


def answers(parts: list[dict[str, Any]] | None = None, then: Handler = ends) -> Handler:
    """A whole answer, or those lines, and goes on as `then` does."""
    told = [*opening(), last()] if parts is None else parts
    return streams(lines(*told), then, NDJSON)


def fails(status: int, words: str) -> Handler:
    return says({"error": words}, status)


def tags(*names: str) -> dict[str, Any]:
    return {"models": [
        {"name": name, "model": name, "modified_at": "2026-11-01T00:00:00Z", "size": 2_000_000,
         "digest": "0" * 64, "details": {"family": "llama", "parameter_size": "3B"}}
        for name in names
    ]}


def shown(context_length: int = 131_072, *more: str) -> dict[str, Any]:
    return {
        "modelfile": "FROM x", "template": "{{ .Prompt }}",
        "details": {"family": "llama", "format": "gguf"},
        "model_info": {"general.architecture": "llama", "llama.context_length": context_length},
        "capabilities": ["completion", *more], "modified_at": "2026-11-01T00:00:00Z",
    }


def healthy(server: FakeServer, *chat: Handler) -> None:
    """Ollama as it runs, which has the model and answers a chat so."""
    server.on("GET", TAGS, says(tags(MODEL, "other:latest")))
    server.on("POST", SHOW, says(shown()))
    server.on("POST", CHAT, *chat)
