"""A schema has a bound, or is refused with the place that has none."""

from __future__ import annotations

import pytest

from agent.domain import Value
from agent.roles import ROLES, Role, schema_of
from llm.errors import BadPrompt
from llm.providers.huggingface.bounds import closing_room

TEXT = {"type": "string", "maxLength": 20}


def an_object(**properties: object) -> dict[str, object]:
    return {"type": "object", "properties": properties, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "the answer needs maxLength"),
        (an_object(note={"type": "string"}), "the answer/note needs maxLength"),
        (an_object(n={"type": "integer", "minimum": 0}), "the answer/n needs maximum"),
        (an_object(n={"type": "number", "minimum": 0, "maximum": 1}), "'number'"),
        ({"type": "array", "items": TEXT}, "the answer needs maxItems"),
        ({"type": "array", "maxItems": 3}, "the answer needs items"),
        ({"type": "array", "maxItems": 3, "items": {"type": "string"}}, "an item of the answer"),
        ({"type": "object", "properties": {}}, "additionalProperties: false"),
        ({"anyOf": [TEXT, {"type": "string"}]}, "maxLength"),
        ({"type": ["string", "null"], "maxLength": 3}, "has the type"),
        ({}, "has the type None"),
        ({"type": "array", "items": TEXT, "maxItems": 2, "uniqueItems": True}, "uniqueItems"),
        ({"$ref": "#/$defs/Other"}, "does not define"),
        (
            {"$ref": "#/$defs/A", "$defs": {"A": an_object(next={"$ref": "#/$defs/A"})}},
            "may hold itself",
        ),
    ],
)
def test_a_schema_without_a_bound_is_refused_with_its_place(
    schema: dict[str, object], words: str
) -> None:
    with pytest.raises(BadPrompt) as refused:
        closing_room(schema)

    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("schema", "least", "most"),
    [
        ({"type": "boolean"}, len("false"), 5),
        ({"enum": ["yes", "no"]}, len('"yes"'), 5),
        (TEXT, len('"'), 14),
        ({"type": "integer", "minimum": -10, "maximum": 5}, len("-10"), 3),
        ({"type": "array", "items": TEXT, "maxItems": 9}, len('"]'), 16),
        (an_object(note=TEXT, sure={"type": "boolean"}), len('", "sure": false}'), 50),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"const": 12}}}, len("12"), 2),
    ],
)
def test_the_room_is_what_closing_can_take(
    schema: dict[str, object], least: int, most: int
) -> None:
    assert least <= closing_room(schema) <= most


@pytest.mark.parametrize("role", ROLES, ids=lambda role: role.name)
def test_the_answers_of_all_roles_can_be_closed_within_a_few_tokens(role: Role[Value]) -> None:
    assert closing_room(schema_of(role.answer)) < 300
