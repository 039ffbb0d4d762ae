"""The command `plan`: shows which models a run would use, their price, and whether they respond."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from agent.core.domain import JailStatus
from agent.core.settings import Settings, data_folder
from agent.interfaces.exits import HEALED, NOT_FIXABLE
from agent.interfaces.preparation import OpenSession
from agent.interfaces.request import HealRequest
from agent.interfaces.terminal.commands import Display
from agent.iteration.models import LOCAL_USER
from agent.log.spending import dollars
from agent.report.words import NO_MODEL, USE_A_MODEL
from llm import LlmError
from llm.plan import Choice, ModelPlan

if TYPE_CHECKING:
    from agent.loop.session import Session

LINES = 100
SAMPLE_PROGRAM = f"{'x' * 39}\n" * LINES


class PlanFacts(NamedTuple):
    """Models, prices and sandbox of a run; a price of `None` is unknown."""

    plan: ModelPlan
    jail: JailStatus
    most_usd: dict[str, float | None]
    reached: dict[str, str]
    usable: bool


def plan(opener: OpenSession, request: HealRequest, display: Display, *, test: bool = False) -> int:
    """Shows the models and the sandbox of a run; with `test` it tests the keys."""
    settings = request.settings()
    folder, warning = data_folder(settings)
    settings = settings.model_copy(update={"data_dir": folder})

    async def gather() -> PlanFacts:
        async with opener(settings) as session:
            found = session.plan()
            reached, usable = await _probe(session, found, test)
            most_usd = {one.role: one.usd for one in session.estimate_costs(found, SAMPLE_PROGRAM)}
            return PlanFacts(found, await session.jail(), most_usd, reached, usable)

    facts = asyncio.run(gather())
    if display.json:
        display.data(_document(facts, settings, str(folder), warning))
    else:
        for line in _lines(facts, settings, str(folder)):
            print(line)
        for text in filter(None, (*facts.plan.notes, warning)):
            display.terminal.say(f"warning: {text}", "yellow")
        if not facts.plan.has_model:
            untested = ". There is no provider to test" if test else ""
            display.terminal.say(f"{NO_MODEL}{untested}. To {USE_A_MODEL}.", "bold")
    return HEALED if facts.usable else NOT_FIXABLE  # exit codes 0 and 4; nothing is healed


async def _probe(session: Session, found: ModelPlan, test: bool) -> tuple[dict[str, str], bool]:
    """Returns each model's error or test result, and whether all are usable."""
    results: dict[str, str] = {}
    usable = True
    choices = (*found.choices, *found.fallbacks)
    for choice in {one.words: one for one in choices}.values():
        if not choice.uses_model:
            continue
        try:
            provider = session.models.provider(choice, LOCAL_USER)
            try:
                models = await provider.models() if test else None
            finally:
                await provider.close()
        except LlmError as error:
            results[choice.words], usable = f"not usable: {error}", False
            continue
        if models is not None:
            listed = choice.model in models
            results[choice.words] = f"reached; it lists {len(models)} models" + (
                "" if listed else f", but not {choice.model}"
            )
            usable = usable and listed
    return results, usable


def _lines(facts: PlanFacts, settings: Settings, folder: str) -> list[str]:
    found, caps = facts.plan, settings.caps
    rows = [("provider", f"{found.provider}: {found.why}")]
    if found.has_model:
        rows += [(one.role, _price_words(one, facts)) for one in found.choices]
        rows += [("fallback", one.words) for one in found.fallbacks]
        rows += list(facts.reached.items())
        rows += [
            ("prices", f"maximum cost of one call for a program of {LINES} lines"),
            ("caps", f"at most {dollars(caps.usd)}, {caps.tokens:,} tokens and {caps.calls} model "
             "calls per run; none if memory or search finds the repair"),
        ]
    rows += [
        ("sandbox", facts.jail.words), ("data", folder),
        ("iterations", f"at most {settings.max_iterations} repair attempts per run"),
        ("time", f"at most {settings.budget_s:g} s per run" + (
            f", and {settings.model_s:g} more for models" if found.has_model else ""
        )),
    ]
    width = max(len(label) for label, _ in rows) + 2
    return [f"{label:<{width}}{text}" for label, text in rows]


def _price_words(choice: Choice, facts: PlanFacts) -> str:
    if not choice.uses_model:
        return f"no model: {choice.why}"
    return f"{choice.words}, {dollars(facts.most_usd[choice.role])}: {choice.why}"


def _document(facts: PlanFacts, settings: Settings, folder: str, warning: str) -> dict[str, object]:
    found, caps = facts.plan, settings.caps
    return {
        "provider": found.provider, "why": found.why,
        "roles": [
            {"role": one.role, "provider": one.provider, "model": one.model, "why": one.why,
             "most_usd": facts.most_usd.get(one.role)}
            for one in found.choices
        ],
        "fallbacks": [one.words for one in found.fallbacks],
        "notes": list(found.notes),
        "reached": facts.reached,
        "caps": {"usd": caps.usd, "tokens": caps.tokens, "calls": caps.calls},
        "sandbox": facts.jail.words, "level": facts.jail.level,
        "layers": [layer.model_dump() for layer in facts.jail.layers], "data_dir": folder,
        "max_iterations": settings.max_iterations, "budget_s": settings.budget_s,
        "warning": warning or None, "error": None,
    }
