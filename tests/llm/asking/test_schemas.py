from __future__ import annotations

import pytest

from llm import BadPrompt
from llm.asking.schemas import inlined, schema_text

STEP = {
    "type": "object",
    "title": "Step",
    "description": "For readers of the type.",
    "properties": {
        "what": {"type": "string", "maxLength": 20, "title": "What"},
        "kind": {"enum": ["a", "b"], "type": "string"},
        "sure": {"type": "integer", "minimum": 0, "maximum": 100},
        "last": {"type": "boolean"},
    },
    "required": ["what", "kind", "sure", "last"],
    "additionalProperties": False,
}
TEXT = {"type": "string", "maxLength": 20}
STEPS = {
    "$defs": {"Step": STEP},
    "type": "object",
    "properties": {
        "steps": {"type": "array", "items": {"$ref": "#/$defs/Step"}, "minItems": 1, "maxItems": 3}
    },
    "required": ["steps"],
    "additionalProperties": False,
}


def test_a_schema_is_inlined_and_shown_in_words() -> None:
    found = inlined(STEPS)
    assert "$ref" not in str(found) and "title" not in str(found) and "readers" not in str(found)
    assert found["properties"]["steps"]["items"]["properties"]["kind"] == {  # type: ignore[index]
        "enum": ["a", "b"], "type": "string",
    }

    schema = {
        "type": "object", "properties": {"title": {"type": "boolean"}}, "required": ["title"],
        "additionalProperties": False,
    }
    assert inlined(schema) == schema

    assert schema_text(inlined(STEPS)) == (
        '{"steps": [1 to 3 of: {"what": string of at most 20 characters, "kind": "a" or "b", '
        '"sure": whole number from 0 to 100, "last": true or false}]}'
    )


@pytest.mark.parametrize(("name", "loose", "place"), [
    ("what", {"type": "string"}, "steps/each/what"),
    ("what", {"anyOf": [{"type": "string", "maxLength": 3}]}, "steps/each/what"),
    ("what", {"type": "number", "minimum": 0, "maximum": 1}, "steps/each/what"),
    ("what", {"type": "array", "items": {"type": "boolean"}}, "steps/each/what"),
    ("sure", {"type": "integer", "minimum": 0}, "steps/each/sure"),
    ("more", {"type": "boolean"}, "steps/each/more"),  # it is not required
    ("what", {"type": "string", "maxLength": 3, "pattern": "a"}, "steps/each/what"),
    ("what", {"type": ["string", "null"], "maxLength": 3}, "steps/each/what"),
    ("what", {"type": "array", "maxItems": 3}, "steps/each/what"),
])
def test_an_unbounded_schema_is_refused(name: str, loose: dict[str, object], place: str) -> None:
    step = {**STEP, "properties": {**STEP["properties"], name: loose}}  # type: ignore[dict-item]
    schema = inlined({**STEPS, "$defs": {"Step": step}})
    with pytest.raises(BadPrompt, match=place):
        schema_text(schema)
    with pytest.raises(BadPrompt):
        schema_text({"type": "object", "properties": {}})
