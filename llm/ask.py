"""One typed answer from a provider: JSON checked against a schema, or one fenced block.

A malformed answer is asked for once more with the reason it was refused, then `BadReply`
is raised. Nothing is salvaged from it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from jsonschema import Draft202012Validator

from llm.errors import BadReply
from llm.provider import Provider
from llm.types import Message, Reply, Request

T = TypeVar("T")

_FENCE = re.compile(r"^```(?:python|py)?[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)


async def ask_json(
    provider: Provider, request: Request, schema: Mapping[str, object]
) -> object:
    """The answer as a JSON value that is valid under `schema`."""
    validator = Draft202012Validator(schema)

    def read(text: str) -> object:
        try:
            value: object = json.loads(text)
        except ValueError as error:
            raise BadReply(f"the answer is not JSON: {error}") from error
        for fault in validator.iter_errors(value):
            place = "/".join(str(part) for part in fault.absolute_path) or "the answer"
            raise BadReply(f"{place}: {fault.message}")
        return value

    return await _ask(provider, request, read)


async def ask_code(provider: Provider, request: Request) -> str:
    """The answer's only fenced block."""

    def read(text: str) -> str:
        blocks = _FENCE.findall(text)
        if len(blocks) != 1:
            raise BadReply(f"expected one fenced code block, got {len(blocks)}")
        return str(blocks[0])

    return await _ask(provider, request, read)


async def _ask(
    provider: Provider, request: Request, read: Callable[[str], T]
) -> T:
    question, fault = request, ""
    for _ in range(2):
        reply = await whole(provider, question)
        try:
            return read(reply.text)
        except BadReply as error:
            fault = str(error)
            again = f"Your last answer was refused: {fault}"
            turns = (*request.messages, Message("assistant", reply.text), Message("user", again))
            question = replace(request, messages=turns)
    raise BadReply(f"{provider.name} answered as {request.role} twice in a wrong form: {fault}")


async def whole(provider: Provider, request: Request) -> Reply:
    """The reply at the end of a provider's stream."""
    async for item in provider.stream(request):
        if isinstance(item, Reply):
            return item
    raise AssertionError(f"{provider.name} ended a stream without its reply")
