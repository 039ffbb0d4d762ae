"""The named endpoints of the page, their refusals told as sentences."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any, get_type_hints

import gradio as gr
from gradio.block_function import BlockFunction
from gradio.events import api
from pydantic import ConfigDict, TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from demo.models.choice import BadModelChoice
from demo.serving.endpoints import OFFERED, Verbs
from demo.serving.host import Unavailable
from demo.serving.limits import TooMuch
from demo.serving.visitors import address_of, word_of
from sandbox import SandboxError

STRICT = ConfigDict(strict=True)


class Answering(gr.Blocks):
    """The parts of a page; what is brought to them stands in no log."""

    def validate_inputs(self, block_fn: BlockFunction, inputs: list[Any]) -> None:
        """In our words: Gradio's have all in them that was brought."""
        if len(inputs) < len(block_fn.inputs):
            names = [*inspect.signature(block_fn.fn).parameters][1:] if block_fn.fn else []
            raise gr.Error(
                f"{len(inputs)} of {len(block_fn.inputs)} values came. Missing: "
                f"{', '.join(names[len(inputs):]) or 'the last'}.", print_exception=False,
            )


async def bad_call(request: Request, fault: Exception) -> Response:
    """What a call by names is told that names no endpoint, or not the values that one takes; our
    own faults are told in the log."""
    _, asks, name = request.url.path.rstrip("/").partition("/gradio_api/call/v2")
    why, _, advice = str(fault).partition(". Please")
    if isinstance(fault, KeyError) and fault.args == (name,):
        why = "There is no such endpoint"
    elif not (asks and isinstance(fault, TypeError) and (advice or why.startswith("No value "))):
        raise fault
    help_ = "“Use via API” at the foot of the page says how each is called."
    return JSONResponse({"error": f"{why}. {help_}"}, 400)


class BadValue(Exception):
    """A value of another kind than an endpoint takes; the message says of which it may be."""


def _endpoint(verb: Callable[..., Any]) -> Callable[..., Any]:
    """A verb as Gradio calls it: with the request, which tells who asks. Its refusals reach them as
    their sentences."""
    told = inspect.signature(verb)
    given = [one for name, one in told.parameters.items() if name != "address"]
    kinds = get_type_hints(verb)
    readers = {one.name: TypeAdapter(kinds[one.name], config=STRICT) for one in given}

    def known(request: gr.Request, values: tuple[Any, ...]) -> dict[str, Any]:
        named = told.bind(*values).arguments
        for name, value in named.items():
            try:
                readers[name].validate_python(value)
            except ValidationError as error:
                why = error.errors()[0]["msg"]
                raise BadValue(f"{name} is of another kind than it may be: {why}.") from None
        named["visitor"] = named.get("visitor") or word_of(request.headers)
        if "address" in told.parameters:
            named["address"] = address_of(request)
        return named

    @functools.wraps(verb)
    async def asked(request: gr.Request, *values: Any) -> Any:
        try:
            return await verb(**known(request, values))
        except refusals() as refusal:
            raise gr.Error(str(refusal), print_exception=False) from refusal

    @functools.wraps(verb)
    async def streamed(request: gr.Request, *values: Any) -> AsyncIterator[Any]:
        try:
            async with aclosing(verb(**known(request, values))) as documents:
                async for one in documents:
                    yield one
        except refusals() as refusal:
            raise gr.Error(str(refusal), print_exception=False) from refusal

    called: Any = streamed if inspect.isasyncgenfunction(verb) else asked
    by = inspect.Parameter("request", inspect.Parameter.POSITIONAL_ONLY, annotation=gr.Request)
    called.__signature__ = told.replace(parameters=[by, *given])
    called.__annotations__ = {**verb.__annotations__, "request": gr.Request}
    return called  # type: ignore[no-any-return]


def refusals(*more: type[Exception]) -> tuple[type[Exception], ...]:
    """What is said to the user who asked; the session has imported what raises it."""
    from agent.memory import MemoryFault
    from agent.target.errors import BadInput, NotFixable
    from llm import LlmError

    return (
        Unavailable, BadInput, NotFixable, BadModelChoice, LlmError, TooMuch, BadValue, MemoryFault,
        SandboxError, *more,
    )


def offer(verbs: Verbs) -> None:
    """What programs may ask for, by its name."""
    for one in OFFERED:
        verb = getattr(verbs, one.__name__)
        api(_endpoint(verb), api_name=verb.__name__, concurrency_limit=None)
