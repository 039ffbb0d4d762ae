"""The wire format of OpenAI's chat completions, as the SDK's own types have it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.llm.fakes.server import Handler, ends, says, streams

CHAT = "/v1/chat/completions"
MODELS = "/v1/models"
MODEL = "some-model"
USAGE: dict[str, Any] = {
    "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120,
    "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
}
DONE = b"data: [DONE]\n\n"


def chunk(
    delta: dict[str, Any] | None = None,
    finish: str | None = None,
    usage: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A piece of an answer; one without a delta has no choice, as that with the usage."""
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": MODEL,
        "choices": choices, "usage": usage,
    }


def opening(pieces: Iterable[str] = ("hello ", "world")) -> list[dict[str, Any]]:
    """The chunks up to the last piece of text."""
    role = chunk({"role": "assistant", "content": ""})
    return [role, *(chunk({"content": piece}) for piece in pieces)]


def whole(
    finish: str = "stop",
    pieces: Iterable[str] = ("hello ", "world"),
    usage: dict[str, Any] | None = USAGE,
) -> list[dict[str, Any]]:
    """The chunks of an answer that is told to its end."""
    last = [chunk(usage=usage)] if usage else []
    return [*opening(pieces), chunk({}, finish), *last]


def sse(chunks: Iterable[object]) -> list[bytes]:
    return [f"data: {json.dumps(value)}\n\n".encode() for value in chunks]


def answers(chunks: list[dict[str, Any]] | None = None, then: Handler = ends) -> Handler:
    """A whole answer with its mark, or those chunks, and goes on as `then` does."""
    return streams([*sse(whole()), DONE] if chunks is None else sse(chunks), then)


def error(kind: str, code: str | int | None = None, message: str = "so it is") -> dict[str, Any]:
    """The body of an error, which is also the event of one."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def fails(
    status: int, kind: str, code: str | None = None, message: str = "so it is", **headers: str
) -> Handler:
    """Refuses a call; header names have underscores for dashes."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return says(error(kind, code, message), status, named)


def listed(*names: str, **more: Any) -> dict[str, Any]:
    """The list of models, each with what a server adds of its own."""
    models = [
        {"id": name, "object": "model", "created": 1, "owned_by": "someone", **more}
        for name in names
    ]
    return {"object": "list", "data": models}
