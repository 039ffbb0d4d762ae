"""The schema of an answer, as it is sent to Anthropic."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator

from agent import roles
from llm.errors import Rejected
from llm.providers.anthropic import wire_schema

SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "verdict": {"enum": ["test", "code"]},
        "confidence": {"type": "integer", "minimum": 0, "maximum": 100},
        "why": {"anyOf": [{"type": "string", "maxLength": 300}, {"type": "null"}]},
    },
    "required": ["verdict", "confidence"],
}

ROLES = [roles.SPEC_TESTER, roles.QA_ADVERSARY, roles.DEBUGGER, roles.CRITIC,
         roles.MEMORY_SUMMARISER]


@pytest.mark.parametrize("role", ROLES, ids=lambda role: str(role.name))
def test_the_schema_of_each_role_can_be_said(role: roles.Role[Any]) -> None:
    schema = roles.schema_of(role.answer)  # type: ignore[arg-type]

    wired = wire_schema(schema)

    Draft202012Validator.check_schema(wired)
    assert not _keywords(wired) & {
        "minimum", "maximum", "minLength", "maxLength", "maxItems", "pattern", "default",
    }
    assert all(inner["additionalProperties"] is False for inner in _objects(wired))
    assert schema == roles.schema_of(role.answer)  # type: ignore[arg-type]  # ours still has its bounds


def test_bounds_become_words() -> None:
    assert wire_schema(SCHEMA) == {
        "type": "object",
        "properties": {
            "verdict": {"enum": ["test", "code"]},
            "confidence": {"type": "integer", "description": "{minimum: 0, maximum: 100}"},
            "why": {"anyOf": [
                {"type": "string", "description": "{maxLength: 300}"}, {"type": "null"},
            ]},
        },
        "required": ["verdict", "confidence"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    "answer",
    [
        {"verdict": "code", "confidence": 5}, {"verdict": "test", "confidence": 500, "why": None},
        {"verdict": "no", "confidence": 1}, {"verdict": "code"}, {"verdict": "code", "why": 3}, [],
    ],
)
def test_what_is_valid_is_valid_on_the_wire(answer: object) -> None:
    def valid(schema: dict[str, object]) -> bool:
        return bool(Draft202012Validator(schema).is_valid(answer))

    assert valid(wire_schema(SCHEMA)) or not valid(SCHEMA)


@pytest.mark.parametrize("schema", [{}, {"type": "tuple"}, {"type": ["string", "null"]}])
def test_a_schema_that_cannot_be_said_is_our_fault(schema: dict[str, object]) -> None:
    with pytest.raises(Rejected):
        wire_schema(schema)


def _objects(schema: dict[str, Any]) -> list[dict[str, Any]]:
    inner = [it for each in _inner(schema) for it in _objects(each)]
    return [schema, *inner] if schema.get("type") == "object" else inner


def _keywords(schema: dict[str, Any]) -> set[str]:
    """Keywords, without the names of properties and definitions."""
    return set(schema).union(*(_keywords(each) for each in _inner(schema)))


def _inner(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        *schema.get("properties", {}).values(), *schema.get("$defs", {}).values(),
        *schema.get("anyOf", []), *([schema["items"]] if "items" in schema else []),
    ]
