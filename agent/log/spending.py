"""Computes the model costs of a run from its log, and estimates them before it starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from math import ceil
from typing import assert_never

from agent.core.domain import Value
from agent.core.events import (
    Event,
    Extended,
    FellBack,
    LogEntry,
    ModelAsked,
    ModelCalled,
    ModelFailed,
    Notice,
    StepFinished,
    StepStarted,
)
from llm.asking.prompts import Prompts
from llm.budget import Caps, Charge, Ledger, Spent
from llm.calls import (
    CallAborted,
    CallEnded,
    CallEvent,
    CallRetried,
    CallStarted,
    CallWaiting,
    ModelRated,
)
from llm.calls import CallFellBack as TookOver
from llm.plan import ModelPlan
from llm.prices import Prices
from llm.provider import estimated_tokens, named
from llm.tokens import answer_tokens, question_tokens


def ledger(run: Caps, roles: Mapping[str, Caps], log: Iterable[LogEntry]) -> Ledger:
    charges: dict[int, Charge] = {}
    for entry in log:
        match entry.event:
            case ModelAsked() as asked:
                amount = Spent(asked.cost_usd or 0.0, asked.tokens, 1)
                charges[asked.call] = Charge(len(charges), asked.role, amount)
            case ModelCalled() | ModelFailed() as ended:
                charge = charges[ended.call]
                calls = charge.amount.calls
                amount = Spent(ended.cost_usd or 0.0, ended.tokens, calls, ended.wall_s)
                charges[ended.call] = replace(charge, amount=amount, open=False)
            case Notice(again=int(call)) if call in charges:
                charge = charges[call]
                amount = replace(charge.amount, calls=charge.amount.calls + 1)
                charges[call] = replace(charge, amount=amount)
            case Extended() as more:
                raised = Caps(more.usd, more.tokens, more.calls, more.seconds)
                run = run.more(raised)
                roles = {role: caps.more(raised) for role, caps in roles.items()}
    return Ledger(run, roles, list(charges.values()))


def next_call(log: Iterable[LogEntry]) -> int:
    """The number of the next call; the number of an unlogged call is not reused."""
    asked = (entry.event.call for entry in log if isinstance(entry.event, ModelAsked))
    return max(asked, default=-1) + 1


def lost_calls(log: Iterable[LogEntry]) -> tuple[ModelFailed, ...]:
    """Failure events for calls cut off by a kill, charged with their highest possible cost."""
    open_calls: dict[int, ModelAsked] = {}
    for entry in log:
        match entry.event:
            case ModelAsked() as asked:
                open_calls[asked.call] = asked
            case ModelCalled() | ModelFailed() as ended:
                open_calls.pop(ended.call, None)
    return tuple(
        ModelFailed(
            call=asked.call, role=asked.role, provider=asked.provider, model=asked.model,
            error="Lost", why="its process ended before the answer", tokens=asked.tokens,
            cost_usd=asked.cost_usd, wall_s=0.0,
        )
        for asked in open_calls.values()
    )


LONGEST_LOGGED = 12_000
"""Characters of one message that a log holds; longer messages lose their middle."""


def shortened(text: str) -> str:
    """A text as a log holds it, with the number of omitted characters in its middle."""
    omitted = len(text) - LONGEST_LOGGED
    if omitted <= 0:
        return text
    half = LONGEST_LOGGED // 2
    return f"{text[:half]}\n[{omitted:,} characters omitted]\n{text[-half:]}"


class StoredAnswer(Value):
    text: str


def reusable_calls(log: Iterable[LogEntry]) -> tuple[ModelCalled, ...]:
    """The paid calls of steps cut off by a kill; a repeated step reuses their answers."""
    calls: list[ModelCalled] = []
    newest: set[str] = set()
    active: set[str] = set()
    for entry in log:
        match entry.event:
            case StepStarted():
                if not active and entry.task not in newest:
                    calls.clear()
                    newest.clear()
                newest.add(entry.task)
                active.add(entry.task)
            case StepFinished():
                active.discard(entry.task)
            case ModelCalled(answer_id=str(address)) as call if address:
                calls.append(call)
    return tuple(calls)


def event_of(
    occurrence: CallEvent, first: int, redacted: Callable[[str], str],
    keep: Callable[[StoredAnswer], str],
) -> Event:
    """Converts a router's report to an event.

    Args:
        first: Number of calls before those of this router.
        redacted: Removes API keys from a text.
        keep: Stores an answer and returns its address.
    """
    match occurrence:
        case CallStarted():
            return ModelAsked(
                call=first + occurrence.id, role=occurrence.role, provider=occurrence.provider,
                model=occurrence.model, tokens=occurrence.tokens, cost_usd=occurrence.usd,
                prompt=occurrence.prompt,
                asked=tuple((who, shortened(text)) for who, text in occurrence.asked),
            )
        case CallRetried():
            return Notice(level="info", again=first + occurrence.id, text=(
                f"A model provider refused a call ({redacted(occurrence.why)}). The call is "
                f"repeated in {occurrence.wait_s:.1f} s."
            ))
        case CallWaiting():
            return Notice(level="info", text=f"Waiting for the model {redacted(occurrence.doing)}.")
        case CallEnded(reply=reply):
            usage = reply.usage
            return ModelCalled(
                call=first + occurrence.id, role=occurrence.role, provider=reply.provider,
                model=reply.model, tokens=usage.total,
                cost_usd=reply.cost_usd, wall_s=round(reply.wall_s, 3),
                input=usage.input + usage.written, output=usage.output, read=usage.read,
                estimated=usage.estimated,
                first_s=None if reply.first_s is None else round(reply.first_s, 3),
                finish=reply.finish, attempts=reply.attempts, cached=reply.cached,
                question=occurrence.question, answer_id=keep(StoredAnswer(text=reply.text)),
                answer=shortened(reply.text),
            )
        case CallAborted():
            return ModelFailed(
                call=first + occurrence.id, role=occurrence.role, provider=occurrence.provider,
                model=occurrence.model, error=occurrence.error, why=redacted(occurrence.why),
                tokens=occurrence.usage.total, cost_usd=occurrence.usd,
                wall_s=round(occurrence.wall_s, 3), answer=shortened(occurrence.said),
            )
        case ModelRated():
            return Notice(level="info", text=(
                f"{redacted(occurrence.words)}: it gets short questions, and rules replace it in "
                "roles that do not need a model."
            ))
        case TookOver():
            return FellBack(
                role=occurrence.role, provider=occurrence.from_, to=occurrence.to,
                why=redacted(occurrence.why),
            )
        case _:
            assert_never(occurrence)


@dataclass(frozen=True)
class CostEstimate:
    role: str
    words: str
    tokens: int
    usd: float | None


def estimate_costs(
    plan: ModelPlan, prices: Prices, prompts: Prompts, typed: str, today: date
) -> tuple[CostEstimate, ...]:
    """The highest cost of one call of each role for the typed text."""
    estimates = []
    for choice in plan.choices:
        if not choice.uses_model:
            continue
        prompt = prompts.current(choice.role).prompt
        longest = max(prompt.templates.values(), key=len)
        question = question_tokens(estimated_tokens, (prompt.system, longest + typed))
        answer = answer_tokens(prompt.max_tokens, choice.thinks, prompt.effort)
        estimates.append(CostEstimate(
            choice.role, choice.words, question + answer,
            prices.most(choice.provider, choice.model, question, answer, today),
        ))
    return tuple(estimates)


def role_words(role: str) -> str:
    return role.replace("_", " ")


MIN_TOKENS_FOR_SPEED = 16
"""The fewest tokens of an answer whose speed is shown."""


def call_words(call: ModelCalled) -> str:
    """A model call in one line."""
    by = f"{role_words(call.role)}: {named(call.provider, call.model)}"
    if call.cached:
        return f"{by}, from an earlier answer"
    about = "about " if call.estimated else ""
    cut = ", answer cut at the token limit" if call.finish == "length" else ""
    spent = f"{about}{call.tokens:,} tokens, {dollars(call.cost_usd)}"
    writing_s = call.wall_s - (call.first_s or call.wall_s)
    is_timed = call.output >= MIN_TOKENS_FOR_SPEED and writing_s > 0
    speed = f" ({call.output / writing_s:.0f} tokens/s)" if is_timed else ""
    return f"{by}, {spent}, {duration_words(call.wall_s)}{speed}{cut}"


def duration_words(wall_s: float) -> str:
    return f"{1_000 * wall_s:.0f} ms" if wall_s < 1 else f"{wall_s:.1f} s"


def payable(amount: float) -> float:
    """An amount rounded up to a value that `dollars` shows exactly."""
    parts = 100 if amount >= 0.01 else 10_000
    return ceil(round(amount * parts, 10)) / parts


def dollars(amount: float | None) -> str:
    """An amount in dollars, or that it is unknown."""
    if amount is None:
        return "cost unknown"
    if 0 < amount < 0.0001:
        return "under $0.0001"
    return f"${amount:.2f}" if amount >= 0.01 or amount == 0 else f"${amount:.4f}"
