"""Which JSON Schemas a model may be held to, and how much room the end of an answer needs.

A grammar cures no truncation: a model that may write on can write until its tokens are spent. So
every string, array and integer needs its bounds, and from any place of an answer the rest can then
be written within a known number of bytes. A token is at least one byte.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from llm.errors import BadPrompt

Schema = Mapping[str, object]

_NOTES = {"title", "description", "default", "examples", "$schema", "$defs", "deprecated"}
_KEYWORDS = {
    "object": {"properties", "required", "additionalProperties"},
    "array": {"items", "minItems", "maxItems"},
    "string": {"minLength", "maxLength", "pattern", "format"},
    "integer": {"minimum", "maximum"},
    "boolean": set[str](),
    "null": set[str](),
}

_CHARACTER = 12
"""The most bytes of one character in JSON: two escapes of a surrogate pair."""


@dataclass(frozen=True)
class _Room:
    """Bytes that closing an answer takes: of a value not begun, and of one left anywhere inside."""

    fresh: int
    inside: int


def closing_room(schema: Schema) -> int:
    """The most tokens it takes to close an answer, wherever it was left; raises `BadPrompt` where
    the schema has no such bound, or a keyword that is not enforced while the answer is written."""
    return _room(schema, schema, "the answer", ()).inside


def _room(schema: Schema, root: Schema, place: str, above: tuple[str, ...]) -> _Room:
    if "$ref" in schema:
        reference = str(schema["$ref"])
        if reference in above:
            raise BadPrompt(f"the schema has no bound: {place} may hold itself")
        return _room(_found(reference, root, place), root, place, (*above, reference))
    for choice in ("anyOf", "oneOf"):
        if choice in schema:
            _known(schema, {choice}, place)
            parts = cast(list[Schema], schema[choice])  # a schema's own form, read as such
            rooms = [_room(part, root, place, above) for part in parts]
            return _Room(max(r.fresh for r in rooms), max(r.inside for r in rooms))
    for fixed in ("enum", "const"):
        if fixed in schema:
            _known(schema, {fixed, "type"}, place)
            values = cast(list[object], schema["enum"]) if fixed == "enum" else [schema["const"]]
            longest = max(len(json.dumps(value)) for value in values)
            return _Room(longest, longest)
    kind = schema.get("type")
    if not isinstance(kind, str) or kind not in _KEYWORDS:
        raise BadPrompt(
            f"the schema has no bound: {place} has the type {kind!r}; "
            f"use one of {', '.join(_KEYWORDS)}"
        )
    _known(schema, {"type", *_KEYWORDS[kind]}, place)
    match kind:
        case "object":
            return _object(schema, root, place, above)
        case "array":
            item = _room(_part(schema, "items", place), root, f"an item of {place}", above)
            _number(schema, "maxItems", place)
            fresh = 2 + int(str(schema.get("minItems", 0))) * (item.fresh + 2)
            return _Room(fresh, fresh + item.inside)
        case "string":
            most = _number(schema, "maxLength", place)
            patterned = "pattern" in schema or "format" in schema
            least = most if patterned else int(str(schema.get("minLength", 0)))
            fresh = 2 + least * _CHARACTER
            return _Room(fresh, fresh + _CHARACTER)
        case "integer":
            ends = [_number(schema, name, place) for name in ("minimum", "maximum")]
            digits = max(len(str(end)) for end in ends)
            return _Room(digits, digits)
        case _:
            return _Room(len("false"), len("false"))


def _object(schema: Schema, root: Schema, place: str, above: tuple[str, ...]) -> _Room:
    if schema.get("additionalProperties") is not False:
        raise BadPrompt(f"the schema has no bound: {place} needs additionalProperties: false")
    properties = cast(Mapping[str, Schema], schema.get("properties", {}))
    rooms = {
        name: _room(part, root, f"{place}/{name}", above) for name, part in properties.items()
    }
    fresh = 2 + sum(len(json.dumps(name)) + 4 + room.fresh for name, room in rooms.items())
    return _Room(fresh, fresh + max((room.inside for room in rooms.values()), default=0))


def _known(schema: Schema, keywords: set[str], place: str) -> None:
    unknown = sorted(schema.keys() - keywords - _NOTES)
    if unknown:
        names = ", ".join(unknown)
        raise BadPrompt(f"the schema of {place} has {names}, which no grammar enforces here")


def _found(reference: str, root: Schema, place: str) -> Schema:
    name = reference.removeprefix("#/$defs/")
    definitions = cast(Mapping[str, Schema], root.get("$defs", {}))
    if name not in definitions:
        raise BadPrompt(f"the schema of {place} refers to {reference}, which it does not define")
    return definitions[name]


def _part(schema: Schema, name: str, place: str) -> Schema:
    part = schema.get(name)
    if not isinstance(part, Mapping):
        raise BadPrompt(f"the schema has no bound: {place} needs {name}")
    return part


def _number(schema: Schema, name: str, place: str) -> int:
    value = schema.get(name)
    if not isinstance(value, int):
        raise BadPrompt(f"the schema has no bound: {place} needs {name}")
    return value
