"""The schema of an answer, as Anthropic takes it."""

from __future__ import annotations

from collections.abc import Mapping

from anthropic import transform_schema

from llm.errors import Rejected


def wire_schema(schema: Mapping[str, object]) -> dict[str, object]:
    """A schema as Anthropic takes it: objects have their named keys only, and bounds that its
    grammar does not know are words of the description. So an answer still has to be validated.

    Raises `Rejected` for a schema that cannot be said, such as one with a list of types.
    """
    try:
        wired: dict[str, object] = transform_schema(dict(schema))
    except (ValueError, AssertionError) as error:  # the SDK asserts that it knows a type
        raise Rejected(f"the answer's schema cannot be said to Anthropic: {error}") from error
    return wired
