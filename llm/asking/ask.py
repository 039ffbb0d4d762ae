"""One typed answer from a provider: JSON checked against a schema, a program, or edits of one.

A malformed answer is asked for once more with the reason it was refused, then `BadReply` is
raised. The reason may quote lines of the program or of the answer, so it is shown as data. An
answer that was cut at its limit is asked for once more with more room, as far as its model goes,
and one that is cut again raises `Truncated`, also where what is there could be read: it is not the
whole. So does one whose connection was cut. One the model declined raises `Refused`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from llm.asking.answers import json_of
from llm.asking.prompts import fenced, mark_for
from llm.asking.schemas import complete
from llm.errors import BadReply, CallFailed, Refused, Rejected, Truncated
from llm.provider import PROVIDERS, Provider, named
from llm.tokens import REASON, answer_tokens, question_tokens, texts_of
from llm.types import Code, Json, Message, Reply, Request

T = TypeVar("T")

MAX_TOLD, MAX_QUOTED = 400, 200
"""Characters of the reason why an answer was refused."""
ROOM = 4
"""So many times the tokens are given to an answer that was cut."""
AGAIN_AFTER_S = (0.5, 1.0)
"""Seconds before an interrupted answer is requested again."""
LEAST_MORE = 1.25
"""With less it would be cut again."""


async def ask_typed(
    provider: Provider,
    request: Request,
    schema: Mapping[str, object],
    accept: Callable[[object], T],
) -> T:
    """What `accept` makes of a JSON value that is valid under `schema`; it may still refuse the
    value by a `BadReply`. Fields that have a default are asked for, and may be missing."""
    question = replace(request, output=Json(complete(schema)))
    return (await _asked(provider, question, lambda text: accept(json_of(text, schema))))[0]


async def ask_read(
    provider: Provider, request: Request, read: Callable[[str], T]
) -> tuple[T, Reply]:
    """What `read` makes of an answer in code or edits, and the whole answer; it may refuse the
    answer by a `BadReply`."""
    return await _asked(provider, replace(request, output=Code()), read)


async def _asked(
    provider: Provider, request: Request, read: Callable[[str], T]
) -> tuple[T, Reply]:
    question, fault, first = request, "", request.max_tokens
    for _ in range(2):
        reply = await whole(provider, question)
        if reply.finish == "length" and question.max_tokens == first:
            question = _with_room(provider, question, reply)
            request = replace(
                request, max_tokens=question.max_tokens, deadline_s=question.deadline_s
            )
            if question.max_tokens > first:
                reply = await _longer(provider, question, first)
        _look_at_the_end(reply, question, first)
        try:
            return read(reply.text), reply
        except BadReply as error:
            fault = str(error)[:MAX_TOLD]
            question = _again(provider, request, reply, fault)
    said = " ".join(reply.text.split())
    said = f"{said[:MAX_QUOTED]}…" if len(said) > MAX_QUOTED else said
    raise BadReply(
        f"{provider.name} answered as {request.role} twice in a wrong form: {fault}. "
        f"It said: {said!r}"
    )


def _with_room(provider: Provider, request: Request, reply: Reply) -> Request:
    """The question with more room for its answer, and the time that this may take; the same where
    there is none."""
    given = request.max_tokens
    most, thoughts = ROOM * given, answer_tokens(0, provider.thinks, request.effort)
    longest = PROVIDERS[reply.provider].longest if reply.provider in PROVIDERS else 0
    if longest:
        most = min(most, longest - thoughts)
    if provider.window is not None:
        question = question_tokens(provider.count, texts_of(request)) + REASON
        most = min(most, provider.window - question - thoughts)
    if most < LEAST_MORE * given:
        return request
    return replace(request, max_tokens=most, deadline_s=request.deadline_s * most / given)


async def _longer(provider: Provider, question: Request, first: int) -> Reply:
    """The answer to a question that was answered with more than it had room for."""
    try:
        return await whole(provider, question)
    except Rejected as error:
        raise Truncated(
            f"The answer of {provider.name}/{provider.model} as {question.role} was cut at its "
            f"limit of {first:,} tokens, and a longer one was refused: {error}"
        ) from error


def _look_at_the_end(reply: Reply, request: Request, first: int) -> None:
    """Raises where the answer is not whole; `first` is the room that it was given at first."""
    who = f"{named(reply.provider, reply.model)} as {request.role}"
    note = f" ({reply.note})" if reply.note else ""
    match reply.finish:
        case "stop":
            return
        case "length":
            most = request.max_tokens
            again = f", and before at {first:,}" if most > first else ""
            raise Truncated(
                f"The answer of {who} was cut at its limit of {most:,} tokens "
                f"({reply.usage.output:,} were counted){again}{note}. Raise the max_tokens of that "
                "role's prompt, choose a model that gives longer answers, or bring a shorter "
                "program."
            )
        case "cut":
            raise Truncated(
                f"The connection to {who} ended in the middle of the answer, after "
                f"{reply.usage.output:,} tokens{note}. Try again."
            )
        case "refusal":
            raise Refused(f"{who} declined to answer{note}.")


def _again(provider: Provider, request: Request, reply: Reply, fault: str) -> Request:
    """The question with the reason why its answer was refused; the answer itself is left out where
    it is empty or the window does not hold it."""
    said = (*(message.text for message in request.messages), reply.text, fault)
    again = (
        f"Your last answer was refused. What is wrong with its form:\n"
        f"{fenced('fault', fault, mark_for(said))}\n"
        "Mend that, and answer again in the form asked for."
    )
    turns = (*request.messages, Message("assistant", reply.text), Message("user", again))
    longer = replace(request, messages=turns)
    fits = provider.window is None or _tokens(provider, longer) <= provider.window
    if reply.text.strip() and fits:
        return longer
    last = request.messages[-1]
    short = Message(last.speaker, f"{last.text}\n{again}")
    return replace(request, messages=(*request.messages[:-1], short))


def _tokens(provider: Provider, request: Request) -> int:
    answer = answer_tokens(request.max_tokens, provider.thinks, request.effort)
    return question_tokens(provider.count, texts_of(request)) + answer


async def whole(provider: Provider, request: Request) -> Reply:
    """The reply at the end of a provider's stream. An interrupted one is requested again, since
    nothing of it is used; each time is a call of its own."""
    waits = iter(AGAIN_AFTER_S)
    while True:
        try:
            return await _reply(provider, request)
        except CallFailed as error:
            wait_s = next(waits, None)
            if wait_s is None or not error.was_interrupted:
                raise
        await asyncio.sleep(wait_s)
        request = replace(request, again=True)


async def _reply(provider: Provider, request: Request) -> Reply:
    reply: Reply | None = None
    async for item in provider.stream(request):
        if isinstance(item, Reply):
            reply = item
    assert reply is not None, f"{provider.name} ended a stream without its reply"
    return reply
