"""What a run has spent on models, read from its log, and what it may come to before it starts."""

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
    ModelAsked,
    ModelCalled,
    ModelFailed,
    Notice,
    Stamped,
    StepFinished,
    StepStarted,
)
from llm.asking.prompts import Prompts
from llm.budget import Caps, Charge, Ledger, Spent
from llm.calls import (
    CallBroke,
    CallEnded,
    CallEvent,
    CallRetried,
    CallStarted,
    CallWaits,
    Classified,
)
from llm.calls import CallFellBack as TookOver
from llm.plan import ModelPlan
from llm.prices import Prices
from llm.provider import estimated_tokens, named
from llm.tokens import answer_tokens, question_tokens


def ledger(run: Caps, roles: Mapping[str, Caps], log: Iterable[Stamped]) -> Ledger:
    """The ledger of a run as its log tells it."""
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


def next_call(log: Iterable[Stamped]) -> int:
    """The number of the next call: one that was never told leaves a gap, and is nobody's."""
    asked = (entry.event.call for entry in log if isinstance(entry.event, ModelAsked))
    return max(asked, default=-1) + 1


def lost_calls(log: Iterable[Stamped]) -> tuple[ModelFailed, ...]:
    """The ends of calls that a kill cut off, counted with the most they could cost."""
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
            error="Lost", why="its process was gone before it ended", tokens=asked.tokens,
            cost_usd=asked.cost_usd, wall_s=0.0,
        )
        for asked in open_calls.values()
    )


LONGEST_TOLD = 12_000
"""Characters of one text of a conversation that a log holds; both of its ends are kept."""


def shortened(text: str) -> str:
    """A text as a log holds it, with what is left out in words."""
    left_out = len(text) - LONGEST_TOLD
    if left_out <= 0:
        return text
    half = LONGEST_TOLD // 2
    return f"{text[:half]}\n[{left_out:,} characters are left out]\n{text[-half:]}"


class Said(Value):
    """The text of a model's answer."""

    text: str


def paid_in_unfinished_step(log: Iterable[Stamped]) -> tuple[ModelCalled, ...]:
    """The paid calls of the steps that a kill cut off; a repeated step uses their answers again."""
    calls: list[ModelCalled] = []
    newest: set[str] = set()
    going_on: set[str] = set()
    for entry in log:
        match entry.event:
            case StepStarted():
                if not going_on and entry.task not in newest:
                    calls.clear()
                    newest.clear()
                newest.add(entry.task)
                going_on.add(entry.task)
            case StepFinished():
                going_on.discard(entry.task)
            case ModelCalled(said=str(address)) as call if address:
                calls.append(call)
    return tuple(calls)


def event_of(
    occurrence: CallEvent, first: int, redacted: Callable[[str], str],
    keep: Callable[[Said], str],
) -> Event:
    """A router's report as an event. `first`: calls before its own; `redacted` removes keys; `keep`
    stores an answer and returns its address."""
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
                f"A model's provider turned a call away ({redacted(occurrence.why)}); it is "
                f"asked again in {occurrence.wait_s:.1f} s."
            ))
        case CallWaits():
            return Notice(level="info", text=f"Waits for the model {redacted(occurrence.doing)}.")
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
                question=occurrence.question, said=keep(Said(text=reply.text)),
                answer=shortened(reply.text),
            )
        case CallBroke():
            return ModelFailed(
                call=first + occurrence.id, role=occurrence.role, provider=occurrence.provider,
                model=occurrence.model, error=occurrence.error, why=redacted(occurrence.why),
                tokens=occurrence.usage.total, cost_usd=occurrence.usd,
                wall_s=round(occurrence.wall_s, 3), answer=shortened(occurrence.said),
            )
        case Classified():
            return Notice(level="info", text=(
                f"{redacted(occurrence.words)}: short questions from here on, and rules in the "
                "roles that can do without a model."
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
    """What one call of a role may come to."""

    role: str
    words: str
    tokens: int
    usd: float | None


def estimate_costs(
    plan: ModelPlan, prices: Prices, prompts: Prompts, typed: str, today: date
) -> tuple[CostEstimate, ...]:
    """The most that one call of each role may cost for the text that was typed."""
    found = []
    for choice in plan.choices:
        if not choice.asks:
            continue
        prompt = prompts.current(choice.role).prompt
        longest = max(prompt.templates.values(), key=len)
        asked = question_tokens(estimated_tokens, (prompt.system, longest + typed))
        said = answer_tokens(prompt.max_tokens, choice.thinks, prompt.effort)
        found.append(CostEstimate(
            choice.role, choice.words, asked + said,
            prices.most(choice.provider, choice.model, asked, said, today),
        ))
    return tuple(found)


def role_words(role: str) -> str:
    """A role's name in words."""
    return role.replace("_", " ")


TIMED_TOKENS = 16
"""The fewest tokens of an answer whose speed is shown."""


def call_words(call: ModelCalled) -> str:
    """A call of a model in one line."""
    by = f"{role_words(call.role)}: {named(call.provider, call.model)}"
    if call.cached:
        return f"{by}, from what was answered before"
    rather = "about " if call.estimated else ""
    cut = ", cut at its limit" if call.finish == "length" else ""
    spent = f"{rather}{call.tokens:,} tokens, {dollars(call.cost_usd)}"
    writing_s = call.wall_s - (call.first_s or call.wall_s)
    is_timed = call.output >= TIMED_TOKENS and writing_s > 0
    speed = f" ({call.output / writing_s:.0f} tokens/s)" if is_timed else ""
    return f"{by}, {spent}, {lasted(call.wall_s)}{speed}{cut}"


def lasted(wall_s: float) -> str:
    """How long something took."""
    return f"{1_000 * wall_s:.0f} ms" if wall_s < 1 else f"{wall_s:.1f} s"


def payable(amount: float) -> float:
    """An amount rounded up to one that `dollars` says as it is."""
    parts = 100 if amount >= 0.01 else 10_000
    return ceil(round(amount * parts, 10)) / parts


def dollars(amount: float | None) -> str:
    """What was paid, or may be; unknown is not nothing."""
    if amount is None:
        return "cost unknown"
    if 0 < amount < 0.0001:
        return "under $0.0001"
    return f"${amount:.2f}" if amount >= 0.01 or amount == 0 else f"${amount:.4f}"
