"""JSON Schemas of answers, which are closed and bounded.

A schema is made from the answer's type. This module inlines it for the wire and describes it in one
line for the prompt. A missing bound is an internal error: under a grammar a model may fill an
unbounded string until its tokens are used up.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from llm.errors import BadPrompt

Schema = Mapping[str, object]
Change = Callable[[dict[str, object]], dict[str, object]]


def transform(schema: Schema, change: Change) -> dict[str, object]:
    """A schema after a change to each inner schema and then to itself."""
    found = dict(schema)
    match found.get("properties"), found.get("items"):
        case Mapping() as properties, _:
            found["properties"] = {name: transform(one, change) for name, one in properties.items()}
        case _, Mapping() as items:
            found["items"] = transform(items, change)
    return change(found)


def without_keys(schema: Schema, *words: str) -> dict[str, object]:
    """The schema without these keywords at any depth."""
    return transform(schema, lambda one: {
        word: value for word, value in one.items() if word not in words
    })


def inlined(schema: Schema) -> dict[str, object]:
    """The schema without references, titles and descriptions."""
    definitions = schema.get("$defs", {})
    assert isinstance(definitions, Mapping)

    def resolved(one: dict[str, object]) -> dict[str, object]:
        if "$ref" not in one:
            return one
        return transform(definitions[str(one["$ref"]).removeprefix("#/$defs/")], resolved)

    return without_keys(transform(schema, resolved), "$defs", "title", "description")


def complete(schema: Schema) -> dict[str, object]:
    """An inlined schema in which all fields are required, also those with a default."""

    def asked(one: dict[str, object]) -> dict[str, object]:
        properties = one.get("properties")
        return one | {"required": [*properties]} if isinstance(properties, dict) else one

    return without_keys(transform(schema, asked), "default")


_KNOWN = {
    "type", "default", "enum", "properties", "required", "additionalProperties", "items",
    "minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum",
}
"""The keywords that a grammar enforces."""


def schema_text(schema: Schema, place: str = "") -> str:
    """A one-line description of an inlined schema for a prompt. Raises `BadPrompt` for a missing
    bound or an unknown keyword. `place` is the path in the answer, such as `calls/each/why`."""
    match schema:
        case _ if schema.keys() - _KNOWN:
            pass
        case {"enum": [*values]}:
            return " or ".join(json.dumps(value) for value in values)
        case {"type": "boolean"}:
            return "true or false"
        case {"type": "string", "maxLength": int(most)}:
            return f"string of at most {most} characters"
        case {"type": "integer", "minimum": int(least), "maximum": int(most)}:
            return f"whole number from {least} to {most}"
        case {"type": "array", "items": Mapping() as items, "maxItems": int(most)}:
            inside = schema_text(items, f"{place}/each")
            return f"[{schema.get('minItems', 0)} to {most} of: {inside}]"
        case {
            "type": "object", "properties": Mapping() as properties, "required": [*required],
            "additionalProperties": False,
        }:
            shown = []
            for name, one in properties.items():
                is_asked = name in required or "default" in one
                words = schema_text(one if is_asked else {}, f"{place}/{name}")
                shown.append(f'"{name}": {words}')
            return f"{{{', '.join(shown)}}}"
    raise BadPrompt(
        f"the type of an answer has no bound at {place.lstrip('/') or 'the answer'}: give it one"
    )
