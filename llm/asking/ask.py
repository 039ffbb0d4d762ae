"""One typed answer from a provider: JSON checked against a schema, a program, or edits of one.

A malformed answer is asked for once more with the reason it was refused, then `BadReply` is
raised. The reason may quote lines of the program or of the answer, so it is shown as data. An
answer that was cut short raises `Truncated` at once, also where what is there could be read: it is
not the whole, and asked again it would be paid again and end the same. One the model declined
raises `Refused`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from llm.asking.answers import code_of, edited, edits_of, json_of
from llm.asking.prompts import fenced, mark_for
from llm.asking.schemas import complete
from llm.errors import BadReply, Refused, Truncated
from llm.provider import Provider
from llm.tokens import answer_tokens, question_tokens
from llm.types import Code, Json, Message, Reply, Request

T = TypeVar("T")

MOST_TOLD = 400
"""Characters of the reason why an answer was refused."""


async def ask_typed(
    provider: Provider,
    request: Request,
    schema: Mapping[str, object],
    accept: Callable[[object], T],
) -> T:
    """What `accept` makes of a JSON value that is valid under `schema`; it may still refuse the
    value by a `BadReply`. Fields that have a default are asked for, and may be missing."""
    question = replace(request, output=Json(complete(schema)))
    return await _ask(provider, question, lambda text: accept(json_of(text, schema)))


async def ask_code(provider: Provider, request: Request) -> str:
    """The program in the answer's only fenced block."""
    return await _ask(provider, replace(request, output=Code()), code_of)


async def ask_edits(provider: Provider, request: Request, original: str) -> str:
    """The original program with the answer's edits made."""
    question = replace(request, output=Code())
    return await _ask(provider, question, lambda text: edited(original, edits_of(text)))


async def ask_read(provider: Provider, request: Request, read: Callable[[str], T]) -> T:
    """What `read` makes of an answer in code or edits; it may refuse the answer by a `BadReply`."""
    return await _ask(provider, replace(request, output=Code()), read)


async def _ask(
    provider: Provider, request: Request, read: Callable[[str], T]
) -> T:
    question, fault = request, ""
    for _ in range(2):
        reply = await whole(provider, question)
        _look_at_the_end(reply, question)
        try:
            return read(reply.text)
        except BadReply as error:
            fault = str(error)[:MOST_TOLD]
            question = _again(provider, request, reply, fault)
    raise BadReply(f"{provider.name} answered as {request.role} twice in a wrong form: {fault}")


def _look_at_the_end(reply: Reply, request: Request) -> None:
    """Raises where the answer is not whole."""
    who = f"{reply.provider}/{reply.model} as {request.role}"
    note = f": {reply.note}" if reply.note else ""
    match reply.finish:
        case "stop":
            return
        case "length":
            raise Truncated(
                f"The answer of {who} was cut at its limit of {request.max_tokens:,} tokens "
                f"({reply.usage.output:,} were counted){note}. Raise the max_tokens "
                f"of that role's prompt, or bring a shorter program."
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
    texts = (request.system, *(message.text for message in request.messages))
    answer = answer_tokens(request.max_tokens, provider.thinks, request.effort)
    return question_tokens(provider.count, texts) + answer


async def whole(provider: Provider, request: Request) -> Reply:
    """The reply at the end of a provider's stream."""
    reply: Reply | None = None
    async for item in provider.stream(request):
        if isinstance(item, Reply):
            reply = item
    assert reply is not None, f"{provider.name} ended a stream without its reply"
    return reply
