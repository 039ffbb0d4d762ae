"""A JSON Schema as OpenAI's strict mode takes it."""

from __future__ import annotations

from collections.abc import Mapping

_STRICT_WORDS = {
    "type", "enum", "const", "$ref", "description", "pattern", "multipleOf", "minimum", "maximum",
    "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems",
}


def strict_schema(schema: Mapping[str, object]) -> dict[str, object]:
    """A schema as OpenAI's strict mode takes it: without the words it does not know, with every
    property required, and with no others.

    What is valid under it is valid under the original but for the bounds that were left out,
    which the asker's own check sees to.
    """
    kept: dict[str, object] = {}
    for word, value in schema.items():
        if word in ("properties", "$defs") and isinstance(value, Mapping):
            kept[word] = {name: strict_schema(part) for name, part in value.items()}
        elif word in ("anyOf", "oneOf") and isinstance(value, list):
            kept["anyOf"] = [strict_schema(part) for part in value]
        elif word == "items" and isinstance(value, Mapping):
            kept[word] = strict_schema(value)
        elif word in _STRICT_WORDS:
            kept[word] = value
    if isinstance(properties := kept.get("properties"), dict):
        kept["required"] = list(properties)
        kept["additionalProperties"] = False
    return kept
