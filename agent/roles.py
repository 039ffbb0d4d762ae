"""The roles that think, the type of each one's answer, and how to ask them.

Without a model each is answered by a rule of `rules.py`, through the same prompt, schema and
checks, so that the plan without a model walks the same path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Generic, TypeVar

from pydantic import Field, ValidationError

from agent.context import Context
from agent.domain import Diagnosis, Lesson, Value
from llm import BadReply, Message, Request
from llm.ask import ask_code, ask_json
from llm.prompts import load

T = TypeVar("T", bound=Value)


class SpecTest(Value):
    """An example derived from the task's words alone."""

    call: str
    expected: str


class SpecTests(Value):
    examples: Annotated[tuple[SpecTest, ...], Field(max_length=12)]


class AdversarialCall(Value):
    """A call that might break the program, and the thought behind it."""

    call: str
    why: str


class AdversarialCalls(Value):
    calls: Annotated[tuple[AdversarialCall, ...], Field(max_length=12)]


class Critique(Value):
    """A review of a passing program; anything but approval sends it back."""

    approve: bool
    note: str


@dataclass(frozen=True)
class Role(Generic[T]):
    """A prompt's name and the type of its answer."""

    name: str
    answer: type[T]


SPEC_TESTER = Role("spec_tester", SpecTests)
QA_ADVERSARY = Role("qa_adversary", AdversarialCalls)
DEBUGGER = Role("debugger", Diagnosis)
CRITIC = Role("critic", Critique)
MEMORY_SUMMARISER = Role("memory_summariser", Lesson)
GENERATOR = "generator"

ROLE_NAMES = (
    GENERATOR,
    SPEC_TESTER.name,
    QA_ADVERSARY.name,
    DEBUGGER.name,
    CRITIC.name,
    MEMORY_SUMMARISER.name,
)


async def ask(
    ctx: Context, role: Role[T], variables: Mapping[str, object], *, free: bool = False
) -> T:
    """The role's typed answer; raises an `LlmError`. A `free` one is given by the role's rule,
    whoever the plan names."""
    value = await ask_json(
        ctx.mind(role.name, free=free), _request(ctx, role.name, variables), _schema(role.answer)
    )
    try:
        return role.answer.model_validate(value)
    except ValidationError as error:
        raise BadReply(f"{role.name} answered outside its type: {error}") from error


async def ask_for_code(ctx: Context, variables: Mapping[str, object]) -> str:
    """Program text from the generator; raises an `LlmError`."""
    return await ask_code(ctx.mind(GENERATOR), _request(ctx, GENERATOR, variables))


@cache
def _schema(answer: type[Value]) -> dict[str, object]:
    return answer.model_json_schema()


def _request(ctx: Context, role: str, variables: Mapping[str, object]) -> Request:
    prompt = load(ctx.prompts, role)
    messages = (Message("user", prompt.render(variables)),)
    return Request(role, prompt.system, messages, variables=variables)

