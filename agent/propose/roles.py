"""The roles that think, the type of each one's answer, and how to ask them.

The type says all of an answer's form, and the prompt shows it. It is small and bounded in every
place: a model held to a grammar stops there, and the answer fits the role's `max_tokens`.

Without a model a role is answered by a rule of `rules.py`, through the same prompt, schema and
checks, so that the plan without a model walks the same path.
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
from llm.asking.answers import code_of
from llm.asking.ask import ask_read, ask_typed
from llm.asking.prompts import Prompt
from llm.asking.schemas import in_words, inlined
from llm.asking.trimming import fit
from llm.errors import NeedsKey, OverBudget
from llm.provider import sayable
from llm.tokens import REASON, answer_tokens, question_tokens

T = TypeVar("T", bound=Value)
Read = TypeVar("Read")

SMALL_GENERATOR = "small_generator"
"""The file of prompts for a generator that is a small model."""
ANSWER_SHARE = 2
"""The part of a window that an answer takes is one of so many at most: the rest is the question's,
also where a small window would not hold the role's longest answer."""
MAX_CALLS, MAX_STEPS, MAX_LINES, MAX_OBJECTIONS = 12, 8, 5, 3

Expression = Annotated[str, Field(max_length=200)]
Excluded = Annotated[str, Field(max_length=100)]
Sentence = Annotated[str, Field(max_length=300)]
LineNumber = Annotated[int, Field(ge=1, le=1_000_000)]
Percent = Annotated[int, Field(ge=0, le=100)]


class SpecTest(Value):
    """An example derived from the task's words alone."""

    call: Expression
    expected: Expression


class SpecTests(Value):
    examples: Annotated[tuple[SpecTest, ...], Field(max_length=MAX_CALLS)]


class AdversarialCall(Value):
    """A call that might break the program, and the thought behind it."""

    why: Excluded
    call: Expression


class AdversarialCalls(Value):
    calls: Annotated[tuple[AdversarialCall, ...], Field(max_length=MAX_CALLS)]


class RootCause(Value):
    """What the debugger makes of a failure."""

    cause: Sentence
    category: Category
    lines: Annotated[tuple[LineNumber, ...], Field(max_length=MAX_LINES)]
    fixable: bool
    confidence: Percent
    evidence: Annotated[str, Field(max_length=200)] = ""
    """What was seen that shows it."""
    strategy: Literal["any", "search", "minimal", "tournament", "rewrite", "fresh"] = "any"
    """The way to a repair that it would go."""

    @classmethod
    def of(cls, found: Diagnosis) -> Self:
        """What was found by rule, in the debugger's form."""
        return cls(
            cause=brief(found.cause, 300), category=found.category,
            lines=tuple(one.line for one in found.blamed[:MAX_LINES]),
            fixable=found.fixable, confidence=round(found.confidence * 100),
        )


class Investigation(RootCause):
    """What the debugger makes of a failure so far, and where it wants to look."""

    tool: Annotated[str, Field(max_length=30)] = ""
    """Empty in its answer."""
    arguments: Annotated[str, Field(max_length=600)] = ""
    """The text of a JSON object."""


class Objection(Value):
    """A call that shows what is wrong with a program, and the sentence that says so."""

    quote: Sentence
    call: Expression
    expected: Expression


class Critique(Value):
    """A review of a program. An objection is made a test before it counts."""

    note: Sentence
    objections: Annotated[tuple[Objection, ...], Field(max_length=MAX_OBJECTIONS)] = ()
    approve: bool


class Summary(Value):
    """What helped, for the next program that fails like this one."""

    text: Annotated[str, Field(max_length=600)]
    category: Category


class Ruling(Value):
    """Which of a test and a program is wrong, by a sentence of the specification."""

    quote: Sentence
    reason: Sentence
    verdict: Literal["test_wrong", "code_wrong", "spec_ambiguous"]

    @model_validator(mode="after")
    def _by_a_sentence(self) -> Self:
        if self.verdict != "spec_ambiguous" and not self.quote.strip():
            raise ValueError(f"{self.verdict} needs the sentence that settles it")
        return self


class PlannedStep(Value):
    """A call of a tool, and the numbers of the steps before it that must be done first."""

    what: Excluded
    tool: Annotated[str, Field(max_length=30)]
    arguments: Annotated[str, Field(max_length=600)]
    """The text of a JSON object."""
    needs: Annotated[
        tuple[Annotated[int, Field(ge=1, le=MAX_STEPS)], ...], Field(max_length=MAX_STEPS - 1)
    ]


class PlannedSteps(Value):
    """The steps of a task, each after all that it needs."""

    steps: Annotated[tuple[PlannedStep, ...], Field(min_length=1, max_length=MAX_STEPS)]

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        for number, step in enumerate(self.steps, 1):
            if any(need >= number for need in step.needs):
                raise ValueError(f"step {number} may need only steps before it")
        return self


def brief(text: str, most: int) -> str:
    """At most that many characters of a text that any encoding carries."""
    text = sayable(text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


@dataclass(frozen=True)
class Role(Generic[T]):
    """A prompt's name, its template, and the type of the answer."""

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
"""Those that answer in a form; the generator answers with programs, by its templates `draft`,
`repair`, `edit` and `edit_files`."""


async def ask(
    ctx: Context,
    role: Role[T],
    variables: Mapping[str, str],
    known: Mapping[str, object] | None = None,
    *,
    turns: Sequence[Message] = (),
    free: bool = False,
) -> T:
    """The role's typed answer; raises an `LlmError`.

    Args:
        known: What only a rule reads.
        turns: What was said after the question: an answer, and what came of it, by turns.
        free: The role's rule answers, not the model of the plan.
    """
    schema = schema_of(role.answer)
    answerer = await ctx.answerer(role.name, free=free)
    request = _request(
        ctx, answerer, role.name, role.template, variables, known or {}, in_words(schema), turns
    )
    return await ask_typed(answerer, request, schema, partial(_accepted, role.answer))


def _accepted(answer: type[T], value: object) -> T:
    try:
        return answer.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "/".join(str(part) for part in first["loc"]) or "the answer"
        raise BadReply(f"{place}: {first['msg']}") from error


async def ask_if_it_answers(
    ctx: Context,
    role: Role[T],
    variables: Mapping[str, str],
    known: Mapping[str, object] | None = None,
    *,
    turns: Sequence[Message] = (),
    free: bool = False,
    without: str,
) -> T | None:
    """The role's typed answer, or `None` and a notice where its model gives none, or may not be
    asked by a cap: `without` says how the run goes on. Raised are a key that is gone, a record that
    does not hold the question, a cap at which the run pauses, and each one that is reached before
    the critic, whom no run does without."""
    asked = ask(ctx, role, variables, known, turns=turns, free=free)
    return await if_it_answers(ctx, role.name, asked, without)


async def if_it_answers(
    ctx: Context, role: str, answer: Awaitable[Read], without: str
) -> Read | None:
    """What a role is asked for, as `ask_if_it_answers` gives it."""
    try:
        return await answer
    except NeedsKey:
        raise
    except OverBudget as error:
        if role == CRITIC.name or (ctx.pauses and error.is_of_the_run):
            raise
        message = f"{error}. {without}"
    except LlmError as error:
        message = f"The {role.replace('_', ' ')} gave no answer: {error} {without}"
    ctx.emit(Notice(level="warning", text=message, role=role))
    return None


async def ask_generator(
    ctx: Context, template: str, variables: Mapping[str, str], read: Callable[[str], Read],
    temperature: float | None = None, *, prompt: str = GENERATOR, seed: int | None = None,
    alternatives: int = 0,
) -> tuple[Read, Request, Reply]:
    """What `read` makes of the generator's answer, the question, and the whole answer.

    Args:
        read: May refuse the answer by a `BadReply`; it is then asked for once more.
        temperature: Asked for in place of the prompt's.
        prompt: The file of prompts.

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
    """A whole program of one file from the generator; raises an `LlmError`."""
    read = program_for(variables)
    return (await ask_generator(ctx, template, variables, read, temperature, prompt=prompt))[0]


def program_for(variables: Mapping[str, str]) -> Callable[[str], str]:
    """Reads the program in an answer to a question with these variables."""
    return lambda text: without_added_asserts(code_of(text), variables.get("code", ""))


async def share_of_an_answer(ctx: Context, program: str, prompt: str = GENERATOR) -> float:
    """How much of the generator's longest answer a whole program takes, by its model's count; above
    1 it does not fit. Raises an `LlmError`."""
    answerer = await ctx.answerer(GENERATOR)
    return answerer.count(program) / _most_said(_prompt(ctx, prompt), answerer)


@cache
def schema_of(answer: type[Value]) -> dict[str, object]:
    """The JSON Schema of an answer's type, in one piece."""
    return inlined(answer.model_json_schema())


def _request(
    ctx: Context,
    answerer: Provider,
    role: str,
    template: str,
    variables: Mapping[str, str],
    known: Mapping[str, object] | None = None,
    form: str = "",
    turns: Sequence[Message] = (),
    prompt: str = "",
) -> Request:
    """The question, cut to the window of the model that answers it; `prompt` names the file where
    it is another than the role's."""
    asked = _prompt(ctx, prompt or role)
    system = asked.instructions(form)
    more = (system, *(turn.text for turn in turns))
    text = _fitted(ctx, asked, template, more, variables, answerer)
    return Request(
        role, system, (Message("user", text), *turns),
        variables={**(known or {}), **variables},
        max_tokens=_most_said(asked, answerer), deadline_s=asked.deadline_s,
        temperature=asked.temperature, effort=asked.effort, prompt=asked.hash,
        frame=asked.frame(template),
    )


def _prompt(ctx: Context, role: str) -> Prompt:
    """The role's prompt as it is now; changes are reported once in a run."""
    now = ctx.prompts.current(role)
    notice = now.refused or now.changed
    if notice and not any(
        isinstance(entry.event, Notice) and entry.event.text == notice for entry in ctx.log()
    ):
        ctx.emit(Notice(
            level="warning" if now.refused else "info", text=notice,
            role=role if now.refused else "",
        ))
    return now.prompt


def _most_said(prompt: Prompt, provider: Provider) -> int:
    """Tokens that an answer may have."""
    if provider.window is None:
        return prompt.max_tokens
    return min(prompt.max_tokens, provider.window // ANSWER_SHARE)


def _fitted(
    ctx: Context, prompt: Prompt, template: str, more: Sequence[str],
    variables: Mapping[str, str], provider: Provider,
) -> str:
    """The rendered template, beside more texts; what had to be cut for the window is reported."""
    whole = prompt.render(template, variables)
    if provider.window is None:
        return whole
    answer = answer_tokens(_most_said(prompt, provider), provider.thinks, prompt.effort)
    room = provider.window - answer - REASON

    def tokens(texts: Mapping[str, str]) -> int:
        return question_tokens(provider.count, (*more, prompt.render(template, texts)))

    fitted = fit(prompt.laid_out(template, variables), room, tokens)
    if not fitted.cuts:
        return whole
    counted = "" if provider.exact else ", by an estimate"
    ctx.emit(Notice(
        level="info",
        text=f"The question to the {prompt.role} is longer than the window of "
        f"{provider.window:,} tokens allows{counted}: {fitted.words}.",
    ))
    return prompt.render(template, fitted.texts)
