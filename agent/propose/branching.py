"""Changes of one line in a model's answer, those first that the model itself finds likely.

A small model that is shown a bug often writes the program as it was. But where the bug is, the
right token is among the next likeliest: so the answer is begun again with that token in the place
of its own, written to the end of the line, and goes on as before. Such a line takes about ten
tokens, and the question before it is in the server's memory.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace

from agent.core.settings import GENERATOR
from agent.iteration.context import Context
from llm.asking.ask import whole
from llm.types import Frame, Reply, Request

ALTERNATIVES = 8
"""The likely tokens that are asked for at each place."""
LINE_TOKENS = 64
"""The longest line that is written."""


async def branches(
    ctx: Context, request: Request, reply: Reply, most: int
) -> AsyncGenerator[str, None]:
    """Programs that differ in one line from a framed answer's, `most` at most; none where the
    provider tells no alternatives. Raises an `LlmError`."""
    if request.frame is None:
        return
    start, end = len(request.frame.opening), reply.text.rfind(request.frame.closing)
    likely = sorted(
        (one for one in reply.alternatives if start <= one.at < end and _is_text(one.text)),
        key=lambda one: one.logprob, reverse=True,
    )
    for one in likely[:most]:
        line = one.text.partition("\n")[0]
        if "\n" not in one.text:
            begun = reply.text[: one.at] + one.text
            question = replace(
                request, frame=Frame(begun, "\n"), max_tokens=LINE_TOKENS, alternatives=0
            )
            answer = await whole(await ctx.answerer(GENERATOR), question)
            if answer.finish != "stop":
                continue
            line += answer.text[len(begun):].rstrip("\n")
        before = reply.text[start : one.at]
        after = reply.text[start:end].split("\n")[before.count("\n") + 1 :]
        yield "\n".join([before + line, *after]) + "\n"


def _is_text(token: str) -> bool:
    """Whether a token is neither the end of the answer nor a part of a character."""
    return bool(token) and not token.startswith("<|") and "\ufffd" not in token
