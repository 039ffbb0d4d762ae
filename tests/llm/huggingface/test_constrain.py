"""A model that knows nothing answers in valid JSON, however little room it has."""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from agent.core.domain import Value
from agent.thinking.roles import ROLES, Role, schema_of
from llm.asking.schemas import closing_room
from llm.errors import BadPrompt, NoProvider
from llm.types import Json, Message, Request

if TYPE_CHECKING:
    from llm.providers.huggingface.decoding import LocalModel

pytest.importorskip("llguidance")

SCHEMAS: dict[str, dict[str, object]] = json.loads(
    Path(__file__).with_name("schemas.json").read_text(encoding="utf-8")
)
"""Answers such as the thinking roles give, small and bounded."""


def answer(model: LocalModel, schema: dict[str, object], most: int = 300, **changes: object) -> str:
    pieces: list[str] = []
    request = Request(
        "critic", "", (Message("user", 'Judge {"approve": true} and [1, 2].'),), Json(schema),
        max_tokens=most,
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


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_every_role_is_answered_in_its_form(model: LocalModel, role: Role[Value]) -> None:
    schema = schema_of(role.answer)

    assert valid(answer(model, schema, closing_room(schema) + 40, temperature=1.0), schema)


@pytest.mark.parametrize("name", SCHEMAS)
def test_an_answer_with_hardly_any_room_is_closed_in_time(model: LocalModel, name: str) -> None:
    schema = SCHEMAS[name]
    least = closing_room(schema) + 2

    for most in (least, least + 5, least + 20):
        assert valid(answer(model, schema, most, temperature=1.5), schema)
    with pytest.raises(BadPrompt, match="max_tokens"):
        answer(model, schema, least - 1)


@pytest.mark.parametrize("name", SCHEMAS)
def test_with_prompt_lookup_the_answer_is_the_same(model: LocalModel, name: str) -> None:
    plain = answer(model, SCHEMAS[name])

    assert answer(replace(model, lookup=10, copied=(Json,)), SCHEMAS[name]) == plain
    assert valid(plain, SCHEMAS[name])


def test_a_constraint_goes_back_where_proposed_tokens_were_given_up(model: LocalModel) -> None:
    import torch

    schema: dict[str, object] = {"enum": [[1, 2], [1, 3]]}
    words = model.tokenizer
    constraint = model.grammars().constraint(schema, asked=0, limit=50)
    width = model.network.config.vocab_size

    def allowed(text: str) -> str:
        ids = words(text, add_special_tokens=False).input_ids
        scores = constraint(torch.tensor([ids], dtype=torch.long), torch.zeros((1, width)))
        return "".join(words.decode([token]) for token in range(width) if scores[0, token] == 0)

    assert allowed("[1, 2") == "]"
    assert allowed("[1, 3]") == "<|end|>"
    assert "2" in allowed("[1, ")
    assert allowed("[1, 2]") == "<|end|>"
    with pytest.raises(RuntimeError):
        allowed("[7")


def test_a_schema_without_bounds_is_refused_before_anything_is_written(model: LocalModel) -> None:
    with pytest.raises(BadPrompt):
        answer(model, {"type": "string"})


def test_without_its_library_nothing_is_written_unconstrained(
    model: LocalModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "llguidance", None)
    monkeypatch.setattr("llm.providers.huggingface.constrain.find_spec", lambda name: None)

    with pytest.raises(NoProvider, match=r"\.\[local\]"):
        answer(replace(model), SCHEMAS["verdict"])
