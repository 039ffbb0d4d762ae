"""Calls of tools as texts: an answer that is one is logged, paid and read like any
other. Only providers that have tool calls of their own turn texts into calls and back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from llm.types import Message, Tool, Tools

CONCLUDE = "conclude"
"""The tool by which the answer itself is given."""


@dataclass(frozen=True)
class Call:
    """A call of a tool."""

    name: str
    arguments: str
    """As JSON text, which was made by a model and may be none."""


def call_text(name: str, arguments: str) -> str:
    """A call as text; of the answer itself, what it was given."""
    if name == CONCLUDE:
        return arguments
    return json.dumps({"tool": name, "arguments": arguments})


def offered(output: Tools) -> tuple[Tool, ...]:
    """The tools of a question, and the one that takes its answer."""
    return (*output.tools, Tool(CONCLUDE, "Give your answer; it ends the work.", output.schema))


@dataclass(frozen=True)
class Turn:
    """A turn of a conversation that may make a call, or bring what one came to."""

    message: Message
    id: str = ""
    """Of the call that is made, or that the text comes of; empty where there is none."""
    call: Call | None = None
    """What is called; `None` in the turn that comes of it."""

    @property
    def given(self) -> dict[str, Any]:  # as the model wrote it
        """The arguments as an object; what is none is left out."""
        try:
            given = json.loads((self.call.arguments if self.call else "") or "{}")
        except ValueError:
            return {}
        return given if isinstance(given, dict) else {}


def turns_with_calls(messages: Sequence[Message]) -> Iterator[Turn]:
    """The messages, calls told from words; what follows a call is what came of it."""
    known = ""
    for number, message in enumerate(messages):
        call = called(message.text) if message.speaker == "assistant" else None
        if call is not None:
            known = f"call_{number}"
        yield Turn(message, known, call)
        if call is None:
            known = ""


def called(text: str) -> Call | None:
    """The call that a text is; `None` where it is none."""
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return None
    match told:
        case {"tool": str(name), "arguments": str(arguments)} if name:
            return Call(name, arguments)
        case {"tool": str(name), "arguments": dict(given)} if name:
            return Call(name, json.dumps(given))
    return None
