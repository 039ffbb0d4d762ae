"""The command `plan`: who would answer, at what price, and whether they can be reached."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from agent.core.domain import JailStatus
from agent.core.settings import Settings, data_folder
from agent.interfaces.exits import HEALED, NOT_FIXABLE
from agent.interfaces.preparation import OpenSession
from agent.interfaces.request import HealRequest
from agent.interfaces.terminal.commands import Display
from agent.iteration.models import OWNER
from agent.log.spending import dollars
from agent.report.words import NO_MODEL
from llm import LlmError
from llm.plan import Choice, ModelPlan

if TYPE_CHECKING:
    from agent.loop.session import Session

LINES = 100
TYPED = f"{'x' * 39}\n" * LINES


class Look(NamedTuple):
    """What was seen of the surroundings; `None` dollars are unknown."""

    plan: ModelPlan
    jail: JailStatus
    most_usd: dict[str, float | None]
    reached: dict[str, str]
    good: bool


def plan(opener: OpenSession, request: HealRequest, face: Display, *, test: bool = False) -> int:
    """Shows who would answer, and what holds code back; tests the keys where that is wanted."""
    settings = request.settings()
    folder, warning = data_folder(settings)
    settings = settings.model_copy(update={"data_dir": folder})

    async def look() -> Look:
        async with opener(settings) as session:
            found = session.plan()
            reached, good = await _reached(session, found, test)
            most_usd = {one.role: one.usd for one in session.predicted(found, TYPED)}
            return Look(found, await session.jail(), most_usd, reached, good)

    seen = asyncio.run(look())
    if face.json:
        face.data(_document(seen, settings, str(folder), warning))
    else:
        for line in _lines(seen, settings, str(folder)):
            print(line)
        for text in filter(None, (*seen.plan.notes, warning)):
            face.terminal.say(f"warning: {text}", "yellow")
        if not seen.plan.has_model:
            untested = ". There is nothing to test: no provider would be asked." if test else ""
            face.terminal.say(f"{NO_MODEL}{untested}", "bold")
    return HEALED if seen.good else NOT_FIXABLE


async def _reached(
    session: Session, found: ModelPlan, test: bool
) -> tuple[dict[str, str], bool]:
    """Errors of the plan's models by name, with their lists where tested; and whether all are
    usable."""
    told: dict[str, str] = {}
    good = True
    named = (*found.choices, *found.fallbacks)
    for choice in {one.words: one for one in named}.values():
        if not choice.asks:
            continue
        try:
            provider = session.models.provider(choice, OWNER)
            try:
                models = await provider.models() if test else None
            finally:
                await provider.close()
        except LlmError as error:
            told[choice.words], good = f"not usable: {error}", False
            continue
        if models is not None:
            listed = choice.model in models
            told[choice.words] = f"reached; it lists {len(models)} models" + (
                "" if listed else f", and {choice.model} is not among them"
            )
            good = good and listed
    return told, good


def _lines(seen: Look, settings: Settings, folder: str) -> list[str]:
    found, caps = seen.plan, settings.caps
    rows = [("provider", f"{found.provider}: {found.why}")]
    if found.has_model:
        rows += [(one.role, _price_words(one, seen)) for one in found.choices]
        rows += [("fallback", one.words) for one in found.fallbacks]
        rows += list(seen.reached.items())
        rows += [
            ("prices", f"the most for one call about a program of {LINES} lines"),
            ("caps", f"a run may spend {dollars(caps.usd)}, {caps.tokens:,} tokens and "
             f"{caps.calls} calls on models; nothing while memory and search suffice"),
        ]
    rows += [
        ("sandbox", seen.jail.words), ("data", folder),
        ("rounds", f"at most {settings.max_iterations}"),
        ("time", f"at most {settings.budget_s:g} s a run" + (
            f", and {settings.model_s:g} more for models" if found.has_model else ""
        )),
    ]
    width = max(len(label) for label, _ in rows) + 2
    return [f"{label:<{width}}{text}" for label, text in rows]


def _price_words(choice: Choice, seen: Look) -> str:
    if not choice.asks:
        return f"no model: {choice.why}"
    return f"{choice.words}, {dollars(seen.most_usd[choice.role])}: {choice.why}"


def _document(seen: Look, settings: Settings, folder: str, warning: str) -> dict[str, object]:
    found, caps = seen.plan, settings.caps
    return {
        "provider": found.provider, "why": found.why,
        "roles": [
            {"role": one.role, "provider": one.provider, "model": one.model, "why": one.why,
             "most_usd": seen.most_usd.get(one.role)}
            for one in found.choices
        ],
        "fallbacks": [one.words for one in found.fallbacks],
        "notes": list(found.notes),
        "reached": seen.reached,
        "caps": {"usd": caps.usd, "tokens": caps.tokens, "calls": caps.calls},
        "sandbox": seen.jail.words, "level": seen.jail.level,
        "layers": [layer.model_dump() for layer in seen.jail.layers], "data_dir": folder,
        "max_iterations": settings.max_iterations, "budget_s": settings.budget_s,
        "warning": warning or None, "error": None,
    }
