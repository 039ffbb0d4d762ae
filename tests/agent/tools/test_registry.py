"""Functions as tools: what a schema says, and calls that end in an observation."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel

from agent.tools import ToolRegistry, ToolResult
from agent.tools.errors import ToolError
from agent.tools.registry import bounded
from sandbox import SandboxError


class Point(BaseModel):
    x: int


def _even(value: int) -> int:
    if value % 2:
        raise ValueError("must be even")
    return value


async def move(
    to: Point, title: str, times: int = 1, how: Literal["fast", "slow"] = "slow",
    even: Annotated[int, AfterValidator(_even)] = 2,
) -> str:
    """Move to a place.

    Args:
        to (Point): the place
        title: what it is called
        :param times: how often
    """
    return f"{title} {to.x} {times} {how}"


@pytest.fixture
def registry() -> ToolRegistry:
    made = ToolRegistry(max_output_bytes=1_000, timeout_s=5)
    made.register(move)
    return made


def test_a_schema_has_names_types_defaults_and_descriptions(registry: ToolRegistry) -> None:
    (schema,) = registry.get_schemas()
    assert (schema["name"], schema["description"].split("\n")[0]) == ("move", "Move to a place.")
    parameters = schema["parameters"]
    assert parameters["required"] == ["to", "title"]
    assert parameters["additionalProperties"] is False
    assert parameters["properties"]["times"] == {
        "type": "integer", "default": 1, "description": "how often",
    }
    assert parameters["properties"]["how"]["enum"] == ["fast", "slow"]
    assert parameters["properties"]["title"] == {
        "type": "string", "description": "what it is called",
    }
    assert parameters["properties"]["to"]["description"] == "the place"
    assert parameters["$defs"]["Point"]["properties"] == {"x": {"type": "integer"}}


def test_schemas_come_in_the_shapes_of_the_apis(registry: ToolRegistry) -> None:
    (plain,) = registry.get_schemas()
    assert registry.get_schemas("openai") == [{"type": "function", "function": plain}]
    (claude,) = registry.get_schemas("anthropic")
    assert claude == {
        "name": "move", "description": plain["description"], "input_schema": plain["parameters"],
    }


async def test_arguments_arrive_as_the_signature_has_them(registry: ToolRegistry) -> None:
    result = await registry.call("move", {"to": {"x": 3}, "title": "there", "how": "fast"})
    assert result == ToolResult(True, "there 3 1 fast")
    assert result.text == "there 3 1 fast"


@pytest.mark.parametrize(("arguments", "fact"), [
    ({}, "'to'"),
    (None, "'to'"),
    ({"to": {"x": 1}, "title": "a", "tmies": 2}, "'tmies'"),
    ({"to": {"x": "1"}, "title": "a"}, "to.x: '1'"),
    ({"to": {"x": 1}, "title": "a", "times": True}, "times: True"),
    ({"to": {"x": 1}, "title": "a", "how": "so"}, "['fast', 'slow']"),
    ({"to": {"x": 1}, "title": "a", "even": 3}, "must be even"),
    ([1], "[1]"),
    ("x", "'x'"),
])
async def test_wrong_arguments_name_the_right_ones(
    registry: ToolRegistry, arguments: Any, fact: str
) -> None:
    result = await registry.call("move", arguments)
    assert (result.ok, fact in result.error) == (False, True)
    assert "to, title, times, how, even" in result.error


async def test_faults_of_a_tool_are_observations(registry: ToolRegistry) -> None:
    result = await registry.call("rm")
    assert not result.ok and "'rm'" in result.error and "move" in result.error
    assert result.text == f"error: {result.error}"

    @registry.register
    def fails(kind: str) -> None:
        """Fail."""
        raise {"own": ToolError("not so"), "key": KeyError("x"), "late": TimeoutError("busy")}[kind]

    for kind, said in (("own", "not so"), ("key", "KeyError: 'x'"), ("late", "busy")):
        assert said in (await registry.call("fails", {"kind": kind})).error

    @registry.register
    def odd() -> object:
        """Give an object."""
        return object()

    @registry.register
    def endless() -> float:
        """Give a number that JSON has not."""
        return float("inf")

    for name in ("odd", "endless"):
        assert not (await registry.call(name)).ok


async def test_output_is_bounded_and_broken_jails_are_raised(registry: ToolRegistry) -> None:
    @registry.register
    async def broken() -> None:
        """Have no jail."""
        raise SandboxError("no jail")

    with pytest.raises(SandboxError):
        await registry.call("broken")

    @registry.register
    def talk() -> dict[str, Any]:
        """Talk."""
        return {"begin": 1, "text": "ä" * 100_000, "many": [*range(10_000)], "end": 2}

    output = (await registry.call("talk")).output
    assert len(json.dumps(output, ensure_ascii=False).encode()) <= 1_000
    assert isinstance(output, dict)
    assert (output["begin"], output["end"]) == (1, 2)


@pytest.mark.parametrize("value", [
    "x" * 10_000, "\U0001f600" * 5_000, "\ud800" * 5_000, '"' * 5_000, ["y" * 90] * 500,
    {f"{'k' * 500}{n}": n for n in range(100)}, [[[["z" * 3_000]]]] * 3, "short", 7, None,
])
def test_whatever_comes_is_within_the_bound(value: Any) -> None:
    for most in (10, 100, 3_000):
        kept = bounded(value, most)
        assert len(json.dumps(kept, ensure_ascii=False).encode("utf-8", "surrogatepass")) <= most
    assert bounded("short", 3_000) == "short"


async def test_time_is_bounded_for_coroutines_and_for_threads() -> None:
    registry = ToolRegistry(timeout_s=0.2)
    ended = threading.Event()
    never = threading.Event()

    @registry.register
    async def waits() -> None:
        """Wait."""
        try:
            await asyncio.sleep(600)
        finally:
            ended.set()

    @registry.register
    def hangs() -> None:
        """Hang."""
        never.wait(600)

    for name in ("waits", "hangs"):
        result = await registry.call(name)
        assert name in result.error and "0.2 s" in result.error
    assert ended.is_set()
    never.set()


async def test_a_call_without_await_works_in_a_running_loop(registry: ToolRegistry) -> None:
    assert registry.execute("move", to={"x": 1}, title="a").output == "a 1 1 slow"


def test_what_no_schema_can_say_is_refused(registry: ToolRegistry) -> None:
    def bare(a) -> None:  # type: ignore[no-untyped-def]
        """Have no type."""

    def many(*a: int) -> None:
        """Take many."""

    def silent(a: int) -> None: ...

    for tool, kind in ((bare, TypeError), (many, TypeError), (silent, ValueError),
                       (move, ValueError)):
        with pytest.raises(kind):
            registry.register(tool)
    assert [*registry] == ["move"]
