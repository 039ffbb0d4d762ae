"""Variants of a model's answer that differ in one line, ordered by the model's token likelihood.

A small model that is shown a bug often copies the program unchanged, but at the bug the correct
token is often among the next likeliest. So the answer is regenerated from that token to the end of
the line, and the rest is reused. Such a line takes about ten tokens, and the server has cached the
question.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import replace

from agent.core.settings import GENERATOR
from agent.iteration.context import Context
from llm.asking.ask import complete_reply
from llm.types import Prefill, Reply, Request

LIKELY_TOKENS = 8
"""The number of likely tokens requested at each position."""
LINE_TOKENS = 64
"""The maximum length of a regenerated line."""


async def one_line_variants(
    ctx: Context, request: Request, reply: Reply, most: int
) -> AsyncGenerator[str, None]:
    """Yields at most `most` programs that differ in one line from an answer with a prefill; none if
    the provider returns no alternatives. Raises an `LlmError`."""
    if request.prefill is None:
        return
    start, end = len(request.prefill.text), reply.text.rfind(request.prefill.stop)
    likely = sorted(
        (one for one in reply.alternatives if start <= one.at < end and _is_text(one.text)),
        key=lambda one: one.logprob, reverse=True,
    )
    for one in likely[:most]:
        line = one.text.partition("\n")[0]
        if "\n" not in one.text:
            opening = reply.text[: one.at] + one.text
            question = replace(
                request, prefill=Prefill(opening, "\n"), max_tokens=LINE_TOKENS, alternatives=0
            )
            answer = await complete_reply(await ctx.answerer(GENERATOR), question)
            if answer.finish != "stop":
                continue
            line += answer.text[len(opening):].rstrip("\n")
        before = reply.text[start : one.at]
        after = reply.text[start:end].split("\n")[before.count("\n") + 1 :]
        yield "\n".join([before + line, *after]) + "\n"


def _is_text(token: str) -> bool:
    """Whether a token is neither the end of the answer nor a part of a character."""
    return bool(token) and not token.startswith("<|") and "\ufffd" not in token
