"""Gets one typed answer from a provider: JSON checked against a schema, a program, or edits.

A malformed answer is requested once more with the reason for its rejection, then `BadReply` is
raised. The reason may quote the program or the answer, so it is shown as data. An answer that was
cut at its token limit is requested once more with a higher limit, up to the model's maximum. If it
is cut again, or the connection was lost, `Truncated` is raised even if the text could be parsed.
If the model declined, `Refused` is raised.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from llm.asking.answers import parse_json
from llm.asking.prompts import fenced, mark_for
from llm.asking.schemas import complete
from llm.errors import BadReply, CallFailed, Refused, Rejected, Truncated
from llm.provider import PROVIDERS, Provider, named
from llm.tokens import RETRY_RESERVE, answer_tokens, question_tokens, texts_of
from llm.types import Code, Json, Message, Reply, Request

T = TypeVar("T")

MAX_FAULT, MAX_QUOTED = 400, 200
"""Maximum characters of the reason for a rejection, and of the quoted answer."""
LIMIT_FACTOR = 4
"""The factor by which the token limit of a cut answer is raised."""
AGAIN_AFTER_S = (0.5, 1.0)
"""Seconds before an interrupted answer is requested again."""
MIN_LIMIT_FACTOR = 1.25
"""The smallest useful factor; below it the answer would probably be cut again."""


async def ask_typed(
    provider: Provider, request: Request, schema: Mapping[str, object],
    accept: Callable[[object], T],
) -> T:
    """Returns the result of `accept` for a JSON value that is valid under `schema`.

    `accept` may reject the value with a `BadReply`. Fields with a default are requested but may be
    missing.
    """
    question = replace(request, output=Json(complete(schema)))
    return (await _ask(provider, question, lambda text: accept(parse_json(text, schema))))[0]


async def ask_read(
    provider: Provider, request: Request, read: Callable[[str], T]
) -> tuple[T, Reply]:
    """Returns the result of `read` for an answer in code or edits, and the reply. `read` may reject
    the answer with a `BadReply`."""
    return await _ask(provider, replace(request, output=Code()), read)


async def _ask(provider: Provider, request: Request, read: Callable[[str], T]) -> tuple[T, Reply]:
    question, fault, first = request, "", request.max_tokens
    for _ in range(2):
        reply = await complete_reply(provider, question)
        if reply.finish == "length" and question.max_tokens == first:
            question = _with_higher_limit(provider, question, reply)
            request = replace(
                request, max_tokens=question.max_tokens, deadline_s=question.deadline_s
            )
            if question.max_tokens > first:
                reply = await _longer(provider, question, first)
        _require_complete(reply, question, first)
        try:
            return read(reply.text), reply
        except BadReply as error:
            fault = str(error)[:MAX_FAULT]
            question = _retry(provider, request, reply, fault)
    quoted = " ".join(reply.text.split())
    quoted = f"{quoted[:MAX_QUOTED]}…" if len(quoted) > MAX_QUOTED else quoted
    raise BadReply(
        f"{provider.name} answered as {request.role} twice in an invalid format: {fault}. "
        f"Its answer was: {quoted!r}"
    )


def _with_higher_limit(provider: Provider, request: Request, reply: Reply) -> Request:
    """The request with a higher token limit and deadline; unchanged if the model has no more."""
    limit = request.max_tokens
    most, reasoning = LIMIT_FACTOR * limit, answer_tokens(0, provider.thinks, request.effort)
    longest = PROVIDERS[reply.provider].longest if reply.provider in PROVIDERS else 0
    if longest:
        most = min(most, longest - reasoning)
    if provider.window is not None:
        question = question_tokens(provider.count, texts_of(request)) + RETRY_RESERVE
        most = min(most, provider.window - question - reasoning)
    if most < MIN_LIMIT_FACTOR * limit:
        return request
    return replace(request, max_tokens=most, deadline_s=request.deadline_s * most / limit)


async def _longer(provider: Provider, question: Request, first: int) -> Reply:
    """The reply to a request whose limit was raised; raises `Truncated` if that is rejected."""
    try:
        return await complete_reply(provider, question)
    except Rejected as error:
        raise Truncated(
            f"The answer of {provider.name}/{provider.model} as {question.role} was cut at its "
            f"limit of {first:,} tokens, and a longer one was refused: {error}"
        ) from error


def _require_complete(reply: Reply, request: Request, first: int) -> None:
    """Raises for an incomplete answer; `first` is the original token limit."""
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
                "role's prompt, choose a model with longer answers, or use a shorter program."
            )
        case "cut":
            raise Truncated(
                f"The connection to {who} ended in the middle of the answer, after "
                f"{reply.usage.output:,} tokens{note}. Try again."
            )
        case "refusal":
            raise Refused(f"{who} declined to answer{note}.")


def _retry(provider: Provider, request: Request, reply: Reply, fault: str) -> Request:
    """The request with the reason for the rejection of its answer. The answer is left out if it is
    empty or does not fit into the window."""
    texts = (*(message.text for message in request.messages), reply.text, fault)
    again = (
        f"Your last answer was refused. What is wrong with its form:\n"
        f"{fenced('fault', fault, mark_for(texts))}\n"
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


async def complete_reply(provider: Provider, request: Request) -> Reply:
    """The reply at the end of a provider's stream. An interrupted answer is requested again as a
    separate call."""
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
