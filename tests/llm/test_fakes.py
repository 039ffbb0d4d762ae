"""The fakes speak as the SDKs' own types have it, so that they cannot drift from them."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.pagination import AsyncPage
from anthropic.types import ModelInfo, RawMessageStreamEvent
from anthropic.types.shared.error_response import ErrorResponse
from ollama import ChatResponse, ListResponse, ShowResponse
from openai.types import Model
from openai.types.chat import ChatCompletionChunk
from openai.types.shared import ErrorObject
from pydantic import BaseModel, TypeAdapter

from tests.llm.fakes import anthropic as fake
from tests.llm.fakes import ollama, openai

ERRORS = (
    "api_error", "authentication_error", "billing_error", "invalid_request_error",
    "not_found_error", "overloaded_error", "permission_error", "rate_limit_error", "timeout_error",
)
REFUSED = {"type": "refusal", "category": "bio", "explanation": "no"}
TOLD: list[tuple[Any, dict[str, Any]]] = [
    *(
        (RawMessageStreamEvent, event)
        for event in (
            *fake.whole(thought="hm"), *fake.whole("refusal", details=REFUSED),
        )
        if event != fake.PING  # the SDK passes over it before it is parsed
    ),
    *((ErrorResponse, fake.error(kind, "so it is")) for kind in ERRORS),
    (AsyncPage[ModelInfo],
     fake.page([fake.model_info("claude-x"), fake.model_info("claude-y", "retired")], True)),
    *((ChatCompletionChunk, chunk) for chunk in (
        *openai.whole(), openai.chunk({"refusal": "no"}), *openai.whole("content_filter"),
    )),
    (ErrorObject, openai.error("server_error", "overloaded")["error"]),
    *((Model, one) for one in openai.listed("a", "b")["data"]),
    *((ChatResponse, part) for part in (
        *ollama.opening(), ollama.thought("hmm"), ollama.last(), ollama.last("length"),
    )),
]


@pytest.mark.parametrize(("kind", "told"), TOLD)
def test_what_it_says_is_the_sdks(kind: Any, told: dict[str, Any]) -> None:
    parsed = TypeAdapter[Any](kind).validate_python(told)

    assert parsed.model_dump(mode="json", exclude_unset=True) == told
    assert not unknown(parsed)


def test_the_lists_of_ollama_are_read_by_its_sdk() -> None:
    listed = ListResponse.model_validate(ollama.tags("a", "b")).models
    assert [one.model for one in listed] == ["a", "b"]
    shown = ShowResponse.model_validate(ollama.shown(99)).modelinfo or {}
    assert shown["llama.context_length"] == 99


def unknown(value: object) -> list[str]:
    """Fields that the SDK's types do not have, at any depth."""
    if isinstance(value, list):
        return [name for each in value for name in unknown(each)]
    if not isinstance(value, BaseModel):
        return []
    inner = [name for each in dict(value).values() for name in unknown(each)]
    return [*(value.model_extra or {}), *inner]
