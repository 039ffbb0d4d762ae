"""The model roles, the types of their answers, and the functions that ask them.

The type defines the form of an answer, and the prompt shows it. Every field is bounded, so that a
grammar-constrained model stops and the answer fits the role's `max_tokens`.

Without a model a rule of `rules.py` answers a role through the same prompt, schema and checks.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Annotated, Any, Generic, Literal, Self, TypeVar

from pydantic import Field, ValidationError, model_validator

from agent.core.domain import Category, Diagnosis, Value
from agent.core.events import Notice
from agent.core.settings import GENERATOR
from agent.iteration.context import Context
from agent.target.program import without_added_asserts
from llm import BadReply, LlmError, Message, Provider, Reply, Request
from llm.asking.answers import parse_code
from llm.asking.ask import ask_read, ask_typed
from llm.asking.prompts import Prompt
from llm.asking.schemas import inlined, schema_text
from llm.asking.trimming import fit
from llm.errors import NeedsKey, OverBudget
from llm.provider import escape_surrogates
from llm.tokens import RETRY_RESERVE, answer_tokens, question_tokens

T = TypeVar("T", bound=Value)
Read = TypeVar("Read")

SMALL_GENERATOR = "small_generator"
"""The prompt file for a small model as the generator."""
WINDOW_DIVISOR = 2
"""An answer takes at most 1 / `WINDOW_DIVISOR` of the context window, even if that is less than the
role's longest answer; the rest is for the question."""
MAX_CALLS, MAX_STEPS, MAX_LINES, MAX_OBJECTIONS = 12, 8, 5, 3

Expression = Annotated[str, Field(max_length=200)]
Phrase = Annotated[str, Field(max_length=100)]
Sentence = Annotated[str, Field(max_length=300)]
LineNumber = Annotated[int, Field(ge=1, le=1_000_000)]
Percent = Annotated[int, Field(ge=0, le=100)]


class SpecTest(Value):
    """An example derived only from the task's text."""

    call: Expression
    expected: Expression


class SpecTests(Value):
    examples: Annotated[tuple[SpecTest, ...], Field(max_length=MAX_CALLS)]


class AdversarialCall(Value):
    """A call that might break the program, and the reason."""

    why: Phrase
    call: Expression


class AdversarialCalls(Value):
    calls: Annotated[tuple[AdversarialCall, ...], Field(max_length=MAX_CALLS)]


class RootCause(Value):
    """The debugger's answer."""

    cause: Sentence
    category: Category
    lines: Annotated[tuple[LineNumber, ...], Field(max_length=MAX_LINES)]
    fixable: bool
    confidence: Percent
    evidence: Annotated[str, Field(max_length=200)] = ""
    """The observation that supports the cause."""
    strategy: Literal["any", "search", "minimal", "tournament", "rewrite", "fresh"] = "any"
    """The approach that it suggests."""

    @classmethod
    def of(cls, found: Diagnosis) -> Self:
        """Converts a rule-based diagnosis."""
        return cls(
            cause=brief(found.cause, 300), category=found.category,
            lines=tuple(one.line for one in found.suspicious_lines[:MAX_LINES]),
            fixable=found.fixable, confidence=round(found.confidence * 100),
        )


class Investigation(RootCause):
    """The debugger's preliminary answer and the tool that it calls next."""

    tool: Annotated[str, Field(max_length=30)] = ""
    """Empty in the final answer."""
    arguments: Annotated[str, Field(max_length=600)] = ""
    """The text of a JSON object."""


class Objection(Value):
    """A call that shows an error of a program, and the sentence of the task that proves it."""

    quote: Sentence
    call: Expression
    expected: Expression


class Critique(Value):
    """A review of a program; an objection counts only as a judged test."""

    note: Sentence
    objections: Annotated[tuple[Objection, ...], Field(max_length=MAX_OBJECTIONS)] = ()
    approve: bool


class Summary(Value):
    """A lesson for programs that fail in the same way."""

    text: Annotated[str, Field(max_length=600)]
    category: Category


class Ruling(Value):
    """Whether a test or a program is wrong, by a sentence of the specification."""

    quote: Sentence
    reason: Sentence
    verdict: Literal["test_wrong", "code_wrong", "spec_ambiguous"]

    @model_validator(mode="after")
    def _require_quote(self) -> Self:
        if self.verdict != "spec_ambiguous" and not self.quote.strip():
            raise ValueError(f"{self.verdict} needs the sentence that settles it")
        return self


class PlannedStep(Value):
    """A tool call and the numbers of the earlier steps that it needs."""

    what: Phrase
    tool: Annotated[str, Field(max_length=30)]
    arguments: Annotated[str, Field(max_length=600)]
    """The text of a JSON object."""
    needs: Annotated[
        tuple[Annotated[int, Field(ge=1, le=MAX_STEPS)], ...], Field(max_length=MAX_STEPS - 1)
    ]


class PlannedSteps(Value):
    """The steps of a task in order."""

    steps: Annotated[tuple[PlannedStep, ...], Field(min_length=1, max_length=MAX_STEPS)]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        for number, step in enumerate(self.steps, 1):
            if any(need >= number for need in step.needs):
                raise ValueError(f"step {number} may need only steps before it")
        return self


def brief(text: str, max_chars: int) -> str:
    """Truncates a text and makes it encodable."""
    text = escape_surrogates(text)
    return text if len(text) <= max_chars else f"{text[: max_chars - 1]}…"


@dataclass(frozen=True)
class Role(Generic[T]):
    """A prompt's name, its template and its answer type."""

    name: str
    template: str
    answer: type[T]


SPEC_TESTER = Role("spec_tester", "derive", SpecTests)
QA_ADVERSARY = Role("qa_adversary", "attack", AdversarialCalls)
DEBUGGER = Role("debugger", "diagnose", RootCause)
INVESTIGATOR = Role("debugger", "investigate", Investigation)
CRITIC = Role("critic", "review", Critique)
MEMORY_SUMMARISER = Role("memory_summariser", "summarise", Summary)
ARBITER = Role("arbiter", "judge", Ruling)
PREDICTOR = Role("arbiter", "predict", SpecTests)
PLANNER = Role("planner", "plan", PlannedSteps)
ROLES: tuple[Role[Any], ...] = (
    SPEC_TESTER, QA_ADVERSARY, DEBUGGER, CRITIC, MEMORY_SUMMARISER, ARBITER, PLANNER,
)
"""The roles with a typed answer; the generator's answers are programs."""


async def ask(
    ctx: Context, role: Role[T], variables: Mapping[str, str],
    known: Mapping[str, object] | None = None, *, turns: Sequence[Message] = (),
    rules_only: bool = False,
) -> T:
    """Asks a role for its typed answer; raises an `LlmError`.

    Args:
        known: Values that only a rule reads.
        turns: The messages after the question: alternately an answer and its result.
        rules_only: Uses the role's rule instead of the planned model.
    """
    schema = schema_of(role.answer)
    answerer = await ctx.answerer(role.name, rules_only=rules_only)
    request = _request(
        ctx, answerer, role.name, role.template, variables, known or {}, schema_text(schema), turns
    )
    return await ask_typed(answerer, request, schema, partial(_validate_answer, role.answer))


def _validate_answer(answer: type[T], value: object) -> T:
    try:
        return answer.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "/".join(str(part) for part in first["loc"]) or "the answer"
        raise BadReply(f"{place}: {first['msg']}") from error


async def ask_or_none(
    ctx: Context, role: Role[T], variables: Mapping[str, str],
    known: Mapping[str, object] | None = None, *, turns: Sequence[Message] = (),
    rules_only: bool = False, consequence: str,
) -> T | None:
    """Asks a role; returns `None` with a notice if its model gives no answer or a cap forbids it.

    Args:
        consequence: How the run continues without the answer; the notice's last sentence.

    Raises:
        NeedsKey: A key is missing.
        OverBudget: The run pauses at this cap, or the critic, which every run needs, is capped.
    """
    answer = ask(ctx, role, variables, known, turns=turns, rules_only=rules_only)
    return await answer_or_none(ctx, role.name, answer, consequence)


async def answer_or_none(
    ctx: Context, role: str, answer: Awaitable[Read], consequence: str
) -> Read | None:
    """Awaits a role's answer and handles errors as `ask_or_none` does."""
    try:
        return await answer
    except NeedsKey:
        raise
    except OverBudget as error:
        if role == CRITIC.name or (ctx.pauses and error.is_run_cap):
            raise
        text = f"{error}. {consequence}"
    except LlmError as error:
        text = f"The {role.replace('_', ' ')} gave no answer: {error} {consequence}"
    ctx.emit(Notice(level="warning", text=text, role=role))
    return None


async def ask_generator(
    ctx: Context, template: str, variables: Mapping[str, str], read: Callable[[str], Read],
    temperature: float | None = None, *, prompt: str = GENERATOR, seed: int | None = None,
    alternatives: int = 0,
) -> tuple[Read, Request, Reply]:
    """Asks the generator; returns the parsed answer, the request and the reply.

    Args:
        read: Parses the answer; if it raises `BadReply`, the generator is asked once more.
        temperature: Replaces the prompt's temperature.
        prompt: The prompt file.

    Raises:
        LlmError: The model gave no usable answer.
    """
    answerer = await ctx.answerer(GENERATOR)
    request = _request(ctx, answerer, GENERATOR, template, variables, prompt=prompt)
    request = replace(
        request, seed=seed, alternatives=alternatives,
        temperature=request.temperature if temperature is None else temperature,
    )
    found, reply = await ask_read(answerer, request, read)
    return found, request, reply


async def ask_for_code(
    ctx: Context, template: str, variables: Mapping[str, str], temperature: float | None = None,
    prompt: str = GENERATOR,
) -> str:
    """Asks the generator for a whole program of one file; raises an `LlmError`."""
    read = program_parser(variables)
    return (await ask_generator(ctx, template, variables, read, temperature, prompt=prompt))[0]


def program_parser(variables: Mapping[str, str]) -> Callable[[str], str]:
    """Returns a parser for the program in an answer to a question with these variables."""
    return lambda text: without_added_asserts(parse_code(text), variables.get("code", ""))


async def share_of_an_answer(ctx: Context, program: str, prompt: str = GENERATOR) -> float:
    """The share of the generator's longest answer that a program takes in tokens; above 1 it does
    not fit. Raises an `LlmError`."""
    answerer = await ctx.answerer(GENERATOR)
    return answerer.count(program) / _max_answer_tokens(_prompt(ctx, prompt), answerer)


@cache
def schema_of(answer: type[Value]) -> dict[str, object]:
    """The JSON Schema of an answer type, without references."""
    return inlined(answer.model_json_schema())


def _request(
    ctx: Context, answerer: Provider, role: str, template: str, variables: Mapping[str, str],
    known: Mapping[str, object] | None = None, form: str = "", turns: Sequence[Message] = (),
    prompt: str = "",
) -> Request:
    """Builds a question that fits the model's context window; `prompt` names the prompt file if it
    is not the role's."""
    chosen = _prompt(ctx, prompt or role)
    system = chosen.instructions(form)
    more = (system, *(turn.text for turn in turns))
    text = _fitted(ctx, chosen, template, more, variables, answerer)
    return Request(
        role, system, (Message("user", text), *turns), variables={**(known or {}), **variables},
        max_tokens=_max_answer_tokens(chosen, answerer), deadline_s=chosen.deadline_s,
        temperature=chosen.temperature, effort=chosen.effort, prompt=chosen.hash,
        prefill=chosen.prefill(template),
    )


def _prompt(ctx: Context, role: str) -> Prompt:
    """The role's current prompt; a change of it is reported once in a run."""
    current = ctx.prompts.current(role)
    text = current.refused or current.changed
    if text and not any(
        isinstance(entry.event, Notice) and entry.event.text == text for entry in ctx.log()
    ):
        ctx.emit(Notice(
            level="warning" if current.refused else "info", text=text,
            role=role if current.refused else "",
        ))
    return current.prompt


def _max_answer_tokens(prompt: Prompt, provider: Provider) -> int:
    if provider.window is None:
        return prompt.max_tokens
    return min(prompt.max_tokens, provider.window // WINDOW_DIVISOR)


def _fitted(
    ctx: Context, prompt: Prompt, template: str, more: Sequence[str],
    variables: Mapping[str, str], provider: Provider,
) -> str:
    """Renders the template so that it fits the context window with `more` texts; reports cuts."""
    whole = prompt.render(template, variables)
    if provider.window is None:
        return whole
    answer = answer_tokens(_max_answer_tokens(prompt, provider), provider.thinks, prompt.effort)
    available = provider.window - answer - RETRY_RESERVE

    def tokens(texts: Mapping[str, str]) -> int:
        return question_tokens(provider.count, (*more, prompt.render(template, texts)))

    fitted = fit(prompt.template_parts(template, variables), available, tokens)
    if not fitted.cuts:
        return whole
    estimated = "" if provider.exact else " (estimated)"
    ctx.emit(Notice(
        level="info",
        text=f"The question to the {prompt.role} is too long for the context window of "
        f"{provider.window:,} tokens{estimated}: {fitted.words}.",
    ))
    return prompt.render(template, fitted.texts)
