"""Registers the named endpoints of the page, and turns their errors into messages."""

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

from agent.log.store import DatabaseUnavailable
from demo.models.choice import BadModelChoice
from demo.serving.endpoints import ENDPOINTS, Endpoints
from demo.serving.host import NO_DATABASE_MESSAGE, Unavailable
from demo.serving.limits import LimitExceeded
from demo.serving.visitors import address_of, visitor_token
from sandbox import SandboxError

STRICT = ConfigDict(strict=True)


class PageBlocks(gr.Blocks):
    """The parts of a page; their input never appears in a log."""

    def validate_inputs(self, block_fn: BlockFunction, inputs: list[Any]) -> None:
        """Checks the number of inputs. Gradio's own error would contain the input."""
        if len(inputs) < len(block_fn.inputs):
            names = [*inspect.signature(block_fn.fn).parameters][1:] if block_fn.fn else []
            raise gr.Error(
                f"Only {len(inputs)} of {len(block_fn.inputs)} values were sent. Missing: "
                f"{', '.join(names[len(inputs):]) or 'the last'}.", print_exception=False,
            )


async def bad_call(request: Request, fault: Exception) -> Response:
    """Answers a call of an unknown endpoint or with wrong arguments; raises other errors again."""
    _, asks, name = request.url.path.rstrip("/").partition("/gradio_api/call/v2")
    why, _, advice = str(fault).partition(". Please")
    if isinstance(fault, KeyError) and fault.args == (name,):
        why = "There is no such endpoint"
    elif not (asks and isinstance(fault, TypeError) and (advice or why.startswith("No value "))):
        raise fault
    help_ = "See “Use via API” at the bottom of the page."
    return JSONResponse({"error": f"{why}. {help_}"}, 400)


class BadValue(Exception):
    """An argument of an endpoint has the wrong type; the message says which."""


def _endpoint(method: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a method for Gradio: passes the request, which identifies the visitor, and turns errors
    into messages."""
    signature = inspect.signature(method)
    given = [one for name, one in signature.parameters.items() if name != "address"]
    kinds = get_type_hints(method)
    readers = {one.name: TypeAdapter(kinds[one.name], config=STRICT) for one in given}

    def known(request: gr.Request, values: tuple[Any, ...]) -> dict[str, Any]:
        named = signature.bind(*values).arguments
        for name, value in named.items():
            try:
                readers[name].validate_python(value)
            except ValidationError as error:
                why = error.errors()[0]["msg"]
                raise BadValue(f"{name} has the wrong type: {why}.") from None
        named["visitor"] = named.get("visitor") or visitor_token(request.headers)
        if "address" in signature.parameters:
            named["address"] = address_of(request)
        return named

    @functools.wraps(method)
    async def once(request: gr.Request, *values: Any) -> Any:
        try:
            return await method(**known(request, values))
        except refusals() as refusal:
            raise gr.Error(refusal_words(refusal), print_exception=False) from refusal

    @functools.wraps(method)
    async def streamed(request: gr.Request, *values: Any) -> AsyncIterator[Any]:
        try:
            async with aclosing(method(**known(request, values))) as documents:
                async for one in documents:
                    yield one
        except refusals() as refusal:
            raise gr.Error(refusal_words(refusal), print_exception=False) from refusal

    called: Any = streamed if inspect.isasyncgenfunction(method) else once
    by = inspect.Parameter("request", inspect.Parameter.POSITIONAL_ONLY, annotation=gr.Request)
    called.__signature__ = signature.replace(parameters=[by, *given])
    called.__annotations__ = {**method.__annotations__, "request": gr.Request}
    return called  # type: ignore[no-any-return]


def refusals(*more: type[Exception]) -> tuple[type[Exception], ...]:
    """Returns the exceptions whose message is shown to the visitor."""
    from agent.memory import MemoryFault
    from agent.target.errors import BadInput, NotFixable
    from llm import LlmError

    return (
        Unavailable, BadInput, NotFixable, BadModelChoice, LlmError, LimitExceeded, BadValue,
        MemoryFault, SandboxError, DatabaseUnavailable, *more,
    )


def refusal_words(refusal: Exception) -> str:
    """Returns what the visitor reads; the address of a database is for the operator's log only."""
    return NO_DATABASE_MESSAGE if isinstance(refusal, DatabaseUnavailable) else str(refusal)


def register_endpoints(endpoints: Endpoints) -> None:
    for one in ENDPOINTS:
        method = getattr(endpoints, one.__name__)
        api(_endpoint(method), api_name=method.__name__, concurrency_limit=None)
