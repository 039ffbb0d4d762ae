"""Registers functions as tools: derives JSON schemas, validates arguments and calls them.

A tool's name, schema and description come from the function's name, signature and docstring, in
which a line `name: words` describes a parameter.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeVar, assert_never, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from agent.core.loops import run_coroutine
from agent.tools.errors import ToolError
from sandbox import Json, SandboxError

MAX_OUTPUT_BYTES = 64_000
MAX_S = 600.0
Shape = Literal["plain", "openai", "anthropic"]
# Any: tools have any signature; their arguments are validated by their schema.
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class ToolResult:
    ok: bool
    """Whether the tool itself succeeded. The failure of a command it ran is in the output."""
    output: Json = None
    error: str = ""
    """Why the tool failed, and what to do instead."""

    @property
    def text(self) -> str:
        if not self.ok:
            return f"error: {self.error}"
        return self.output if isinstance(self.output, str) else _json(self.output)


@dataclass(frozen=True)
class _Tool:
    name: str
    description: str
    function: Callable[..., Any]
    arguments: type[BaseModel]
    schema: dict[str, Any]


class ToolRegistry:
    """Tools by name.

    A call takes at most `timeout_s`. Its JSON output is cut to `max_output_bytes`, with a note. A
    blocking function runs in a thread, which cannot be stopped: after the timeout the call ends
    and the thread is abandoned.
    """

    def __init__(self, max_output_bytes: int = MAX_OUTPUT_BYTES, timeout_s: float = MAX_S) -> None:
        self._tools: dict[str, _Tool] = {}
        self._most_bytes = max_output_bytes
        self._timeout_s = timeout_s

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def register(self, function: Function) -> Function:
        """Adds a function, coroutine or not; usable as a decorator.

        Raises:
            ValueError: The name is taken, or the function has no docstring.
            TypeError: No schema can describe the signature.
        """
        tool = _tool(function)
        if tool.name in self._tools:
            raise ValueError(f"the tool {tool.name} is already registered")
        self._tools[tool.name] = tool
        return function

    def get_schemas(self, shape: Shape = "plain") -> list[dict[str, Any]]:
        """The JSON schemas of all tools.

        `plain` has name, description and parameters; `openai` and `anthropic` fit the argument
        `tools` of these APIs.
        """
        return [_shaped(tool, shape) for tool in self._tools.values()]

    def fault(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Why a call is invalid; empty where it is valid."""
        if (tool := self._tools.get(name)) is None:
            return f"there is no tool {name!r}; there are {', '.join(self._tools) or 'none'}"
        wrong = _argument_errors(tool, arguments)
        return f"{name}: {wrong}" if wrong else ""

    async def call(self, name: str, arguments: Mapping[str, Any] | None = None) -> ToolResult:
        """Calls a tool and returns its result, errors included.

        Raises:
            SandboxError: The jail is broken.
        """
        given = {} if arguments is None else arguments
        if wrong := self.fault(name, given):
            return ToolResult(False, error=wrong)
        tool = self._tools[name]
        try:
            async with asyncio.timeout(self._timeout_s) as clock:
                checked = tool.arguments.model_validate(given)
                values = {one: getattr(checked, one) for one in tool.arguments.model_fields}
                found = await _call_function(tool.function, values)
            return ToolResult(True, bounded(found, self._most_bytes))
        except SandboxError:
            raise
        except TimeoutError as error:
            late = f"took more than {self._timeout_s:g} s and was ended"
            return self._failed(name, late if clock.expired() else str(error) or "TimeoutError")
        except Exception as error:  # noqa: BLE001 - a registered function may raise anything
            kind = "" if isinstance(error, ToolError) else f"{type(error).__name__}: "
            return self._failed(name, f"{kind}{error}")

    def execute(self, name: str, /, **arguments: Any) -> ToolResult:
        """The blocking variant of `call`."""
        return run_coroutine(self.call(name, arguments))

    def _failed(self, name: str, reason: str) -> ToolResult:
        return ToolResult(False, error=str(bounded(f"{name}: {reason}", self._most_bytes)))


def _shaped(tool: _Tool, shape: Shape) -> dict[str, Any]:
    named = {"name": tool.name, "description": tool.description}
    match shape:
        case "plain":
            return {**named, "parameters": tool.schema}
        case "openai":
            return {"type": "function", "function": {**named, "parameters": tool.schema}}
        case "anthropic":
            return {**named, "input_schema": tool.schema}
        case _:
            assert_never(shape)


def _tool(function: Callable[..., Any]) -> _Tool:
    name = function.__name__
    text = inspect.getdoc(function) or ""
    if not text:
        raise ValueError(f"{name} has no docstring; models need one to choose the tool")
    if inspect.ismethod(function):
        arguments, schema = _method_schema(function.__func__)
    else:
        arguments, schema = _schema(function, inspect.signature(function).parameters.values())
    return _Tool(name, text, function, arguments, deepcopy(schema))


@lru_cache(maxsize=256)
def _method_schema(function: Callable[..., Any]) -> tuple[type[BaseModel], dict[str, Any]]:
    """Cached for each method, since each run has tools of its own."""
    _itself, *parameters = inspect.signature(function).parameters.values()
    return _schema(function, parameters)


def _schema(
    function: Callable[..., Any], parameters: Iterable[inspect.Parameter]
) -> tuple[type[BaseModel], dict[str, Any]]:
    """The parameters of a function, as a pydantic model and as a JSON schema."""
    name, text = function.__name__, inspect.getdoc(function) or ""
    hints = get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for one in parameters:
        if one.kind not in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY):
            raise TypeError(f"{name}: {one} cannot be passed by keyword")
        if one.name not in hints:
            raise TypeError(f"{name}: {one.name} has no type annotation")
        described = re.search(
            rf"^\s*(?::param )?{one.name}(?: ?\([^)]*\))?: *(.+)$", text, re.MULTILINE
        )
        default = ... if one.default is one.empty else one.default
        fields[one.name] = (
            hints[one.name],
            Field(default, description=described[1]) if described else Field(default),
        )
    config = ConfigDict(extra="forbid", protected_namespaces=(), arbitrary_types_allowed=False)
    arguments = create_model(name, __config__=config, **fields)
    return arguments, _untitled(arguments.model_json_schema())


def _untitled(schema: Any) -> Any:
    """A schema without its titles, which only repeat the names."""
    if isinstance(schema, dict):
        return {
            key: _untitled(value) for key, value in schema.items()
            if not (key == "title" and isinstance(value, str))
        }
    return [*map(_untitled, schema)] if isinstance(schema, list) else schema


def _argument_errors(tool: _Tool, given: object) -> str:
    """Why the arguments are invalid; empty where they are valid."""
    from jsonschema import Draft202012Validator  # slow to import; unused in runs without a model

    named = dict(given) if isinstance(given, Mapping) else given
    errors = [
        f"{'.'.join(map(str, one.absolute_path))}: {one.message}".removeprefix(": ")[:300]
        for one in Draft202012Validator(tool.schema).iter_errors(named)
    ]
    if not errors:
        try:
            tool.arguments.model_validate(given)
        except ValidationError as error:
            errors = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()]
    takes = ", ".join(tool.schema.get("properties", {})) or "nothing"
    return f"{'; '.join(errors[:5])}. It takes {takes}." if errors else ""


async def _call_function(function: Callable[..., Any], values: dict[str, Any]) -> object:
    if inspect.iscoroutinefunction(function):
        return await function(**values)
    loop = asyncio.get_running_loop()
    future: asyncio.Future[object] = loop.create_future()

    def settle(error: BaseException | None, found: object) -> None:
        if future.done():  # the call has timed out
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(found)

    def work() -> None:
        error: BaseException | None = None
        found = None
        try:
            found = function(**values)
        except StopIteration as stop:  # a future refuses it as an exception
            error = RuntimeError(repr(stop))
        except BaseException as raised:  # noqa: BLE001 - passed on to the awaiting call
            error = raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, error, found)

    # Not a thread pool: the loop would wait for its threads when it closes, possibly for ever.
    threading.Thread(target=work, name="tool", daemon=True).start()
    found = await future
    return await found if isinstance(found, Awaitable) else found


def bounded(value: object, most_bytes: int) -> Json:
    """A JSON value cut to at most so many bytes; long strings are cut in the middle.

    Raises `TypeError` or `ValueError` for a value that JSON cannot represent.
    """
    found: Json = json.loads(_json(value))
    share = most_bytes
    while len(_json(found).encode("utf-8", "surrogatepass")) > most_bytes and share:
        share //= 2
        found = _cut(found, share)
    return found


def _cut(value: Json, most: int) -> Json:
    match value:
        case str() if len(value) > most:
            left = max(0, most - 40)
            words = f"… {len(value) - left} characters left out …"
            return f"{value[: left - left // 2]}{words}{value[len(value) - left // 2 :]}" \
                if left else words[:most]
        case list():
            first = [_cut(one, most) for one in value[:most]]
            return [*first, f"… {len(value) - most} more"] if len(value) > most > 0 else first
        case dict():
            return {key[:most]: _cut(one, most) for key, one in [*value.items()][:most]}
        case _:
            return value


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
