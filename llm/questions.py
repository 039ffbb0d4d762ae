"""What makes two questions the same one, as JSON and as a hash: for a step that is run again."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from typing import TypeAlias

from llm.types import Json, Request

Question: TypeAlias = dict[str, object]


def question_of(provider: str, model: str, request: Request) -> Question:
    """All that a model's answer depends on, as JSON.

    A request's deadline and the variables that its messages were rendered from are no part of it.
    """
    output = request.output
    schema: dict[str, object] = (
        {"schema": dict(output.schema)} if isinstance(output, Json) else {}
    )
    return {
        "provider": provider,
        "model": model,
        "role": request.role,
        "system": request.system,
        "messages": [
            {"speaker": one.speaker, "text": one.text} for one in request.messages
        ],
        "output": {"kind": type(output).__name__.lower(), **schema},
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
        **({} if request.frame is None else {"frame": asdict(request.frame)}),
        **({"alternatives": request.alternatives} if request.alternatives else {}),
        "effort": request.effort,
        "prompt": request.prompt,
    }


def fingerprint(asked: Question) -> str:
    """The hash of a question."""
    text = json.dumps(asked, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()
