"""Anthropic's wire format, as the SDK's own types have it: events, errors, the list of models."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tests.llm.fakes.server import Exchange, Handler, ends, says, streams

MESSAGES = "/v1/messages"
MODELS = "/v1/models"
MODEL = "claude-sonnet-5-5"
CACHE = {"cache_creation_input_tokens": 30, "cache_read_input_tokens": 200}


def sse(event: dict[str, Any]) -> bytes:
    """One event, named by its type."""
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def message_start() -> dict[str, Any]:
    return {"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": [],
        "stop_reason": None, "stop_sequence": None, "stop_details": None, "container": None,
        "diagnostics": None,
        "usage": {"input_tokens": 12, "output_tokens": 1, **CACHE},
    }}


def block_start(index: int, kind: str = "text") -> dict[str, Any]:
    block = {
        "text": {"type": "text", "text": "", "citations": None},
        "thinking": {"type": "thinking", "thinking": "", "signature": ""},
    }[kind]
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, text: str, kind: str = "text") -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index,
            "delta": {"type": f"{kind}_delta", kind: text}}


def block_stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def message_delta(stop: str | None, details: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "type": "message_delta",
        "delta": {"stop_reason": stop, "stop_sequence": None, "stop_details": details,
                  "container": None},
        "usage": {"input_tokens": 12, "output_tokens": 34, **CACHE},
    }


PING: dict[str, Any] = {"type": "ping"}
MESSAGE_STOP: dict[str, Any] = {"type": "message_stop"}


def opening(pieces: Iterable[str] = ("hello ", "world"), thought: str = "") -> list[dict[str, Any]]:
    """The events up to the last piece of text."""
    events = [message_start(), PING]
    if thought:
        events += [block_start(0, "thinking"), delta(0, thought, "thinking"), block_stop(0)]
    index = 1 if thought else 0
    return [*events, block_start(index), *(delta(index, piece) for piece in pieces)]


def whole(
    stop: str = "end_turn",
    pieces: Iterable[str] = ("hello ", "world"),
    thought: str = "",
    details: dict[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """The events of an answer that is told to its end."""
    index = 1 if thought else 0
    return [
        *opening(pieces, thought), block_stop(index), message_delta(stop, details), MESSAGE_STOP,
    ]


def answers(events: list[dict[str, Any]], then: Handler = ends, pause_s: float = 0.0) -> Handler:
    """Streams events, and goes on as `then` does."""
    return streams(map(sse, events), then, headers={"request-id": "req_1"}, pause_s=pause_s)


def error(kind: str, message: str, code: str | None = None) -> dict[str, Any]:
    """The body of an error, which is also the event of one."""
    details = {"details": {"error_code": code}} if code else {}
    return {
        "type": "error", "request_id": "req_1",
        "error": {"type": kind, "message": message, **details},
    }


def fails(
    status: int, kind: str, message: str = "so it is", code: str | None = None,
    **headers: str,
) -> Handler:
    """Refuses a call; header names have underscores for dashes."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return says(error(kind, message, code), status, {"request-id": "req_1", **named})


def model_info(name: str, lifecycle: str = "active", window: int = 200_000) -> dict[str, Any]:
    return {
        "id": name, "type": "model", "display_name": name.title(), "lifecycle": lifecycle,
        "created_at": "2026-09-01T00:00:00Z", "deprecated_at": None, "retires_at": None,
        "line": None, "max_input_tokens": window, "max_tokens": 64_000, "capabilities": None,
    }


def page(models: list[dict[str, Any]], more: bool = False) -> dict[str, Any]:
    return {
        "data": models, "has_more": more,
        "first_id": models[0]["id"], "last_id": models[-1]["id"],
    }


async def lists_models(exchange: Exchange) -> None:
    """Two pages of models, a retired one among them."""
    later = f"after_id={MODEL}" in exchange.request.path
    first = page([model_info("claude-opus-5-5"), model_info(MODEL, window=1_000_000)], more=True)
    last = page([model_info("claude-3-opus", "retired"), model_info("claude-haiku-5-5")])
    await says(last if later else first)(exchange)
