"""What makes two questions the same one, as JSON and as a hash: for records, and for a step that is
run again."""

from __future__ import annotations

import hashlib
import json
from typing import TypeAlias

from llm.redaction import Redactor
from llm.types import Code, Json, Output, Request, Text

Question: TypeAlias = dict[str, object]


def question(provider: str, model: str, request: Request) -> Question:
    """All that a model's answer depends on, as JSON.

    A request's deadline and the variables that its messages were rendered from are no part of it.
    """
    return {
        "provider": provider,
        "model": model,
        "role": request.role,
        "system": request.system,
        "messages": [
            {"speaker": one.speaker, "text": one.text} for one in request.messages
        ],
        "output": _output(request.output),
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
        "effort": request.effort,
        "prompt": request.prompt,
    }


def clean_question(provider: str, model: str, request: Request, redactor: Redactor) -> Question:
    """The question as it may be written down.

    Two that differ in a secret only are the same one: so a replay, which is asked with what the
    record gave for an answer, finds its place although the record holds no secret.
    """
    clean = redactor.value(question(provider, model, request))
    assert isinstance(clean, dict)
    return {**clean}


def fingerprint(asked: Question) -> str:
    """The hash of a question."""
    text = json.dumps(asked, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _output(output: Output) -> dict[str, object]:
    match output:
        case Text():
            return {"kind": "text"}
        case Code():
            return {"kind": "code"}
        case Json(schema):
            return {"kind": "json", "schema": dict(schema)}


def text_address(text: str) -> str:
    """What stands for a text that is not itself written."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
