"""The schema of an answer, as Anthropic takes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from anthropic import transform_schema

from llm.errors import Rejected


def wire_schema(schema: Mapping[str, object]) -> dict[str, object]:
    """A schema as Anthropic takes it: objects have their named keys only, and bounds that its
    grammar does not know are words of the description. So an answer still has to be validated."""
    try:
        wired: dict[str, object] = transform_schema(_one_type_each(schema))
    except (ValueError, AssertionError) as error:
        raise Rejected(f"the answer's schema cannot be said to Anthropic: {error}") from error
    return wired


def _one_type_each(schema: Mapping[str, object]) -> dict[str, object]:
    """The schema with each list of types as alternatives, which is the form that is understood."""
    plain: dict[str, object] = {}
    for name, value in schema.items():
        if name in ("properties", "$defs") and isinstance(value, Mapping):
            plain[name] = {key: _one_type_each(inner) for key, inner in value.items()}
        elif name in ("anyOf", "oneOf", "allOf") and isinstance(value, Iterable):
            plain[name] = [_one_type_each(inner) for inner in value]
        elif name == "items" and isinstance(value, Mapping):
            plain[name] = _one_type_each(value)
        else:
            plain[name] = value
    kinds = plain.get("type")
    if isinstance(kinds, list):
        rest = {name: value for name, value in plain.items() if name not in ("type", "$defs")}
        alternatives = [{"type": kind, **(rest if kind != "null" else {})} for kind in kinds]
        return {"anyOf": alternatives} | ({"$defs": plain["$defs"]} if "$defs" in plain else {})
    return plain
