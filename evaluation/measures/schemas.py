"""Answers such as the thinking roles give, as small and bounded JSON Schemas."""

from __future__ import annotations


def _an_object(**properties: object) -> dict[str, object]:
    return {
        "type": "object", "properties": properties, "required": list(properties),
        "additionalProperties": False,
    }


def _text(most: int) -> dict[str, object]:
    return {"type": "string", "maxLength": most}


def _whole(least: int, most: int) -> dict[str, object]:
    return {"type": "integer", "minimum": least, "maximum": most}


SCHEMAS: dict[str, dict[str, object]] = {
    "verdict": _an_object(
        approve={"type": "boolean"}, sure=_whole(0, 100), note=_text(60)
    ),
    "diagnosis": _an_object(
        kind={"enum": ["crash", "wrong value", "endless", "unclear"]},
        lines={"type": "array", "items": _whole(1, 400), "maxItems": 5},
        cause=_text(60),
        other=_text(20),
    ),
    "examples": _an_object(
        examples={
            "type": "array", "minItems": 1, "maxItems": 3,
            "items": _an_object(call=_text(30), expected=_text(20)),
        }
    ),
}
