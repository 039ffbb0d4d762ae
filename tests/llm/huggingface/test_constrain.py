"""A model that knows nothing answers in valid JSON."""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from llm.errors import BadPrompt, NoProvider
from llm.types import Json, Message, Request

if TYPE_CHECKING:
    from llm.providers.huggingface.decoding import LocalModel

pytest.importorskip("llguidance")
pytestmark = pytest.mark.nightly

SCHEMAS: dict[str, dict[str, object]] = json.loads(
    Path(__file__).with_name("schemas.json").read_text(encoding="utf-8")
)
"""Answers such as the thinking roles give, small and bounded."""


def answer(model: LocalModel, schema: dict[str, object], **changes: object) -> str:
    pieces: list[str] = []
    request = Request(
        "critic", "", (Message("user", 'Judge {"approve": true} and [1, 2].'),), Json(schema),
        max_tokens=1_500,
    )
    ended = model.answer(
        replace(request, **changes), pieces.append, threading.Event()  # type: ignore[arg-type]
    )
    assert ended.finish == "stop"
    return "".join(pieces)


def valid(text: str, schema: dict[str, object]) -> bool:
    Draft202012Validator(schema).validate(json.loads(text))
    return True


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", SCHEMAS)
def test_every_answer_is_valid_under_its_schema(model: LocalModel, name: str) -> None:
    schema = SCHEMAS[name]

    texts = {answer(model, schema, temperature=1.0) for _ in range(8)}

    assert all(valid(text, schema) for text in texts)
    assert len(texts) == 8


def test_a_schema_without_bounds_is_refused_before_anything_is_written(model: LocalModel) -> None:
    with pytest.raises(BadPrompt):
        answer(model, {"type": "string"})


def test_no_library_means_no_answer(model: LocalModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llguidance", None)
    monkeypatch.setattr("llm.providers.huggingface.constrain.find_spec", lambda name: None)

    with pytest.raises(NoProvider, match=r"\.\[local\]"):
        answer(replace(model), SCHEMAS["verdict"])
