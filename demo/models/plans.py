"""Renders the models, their cost and the jail as HTML. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable

from agent.core.domain import JailStatus
from agent.core.events import RoleChoice
from agent.log.spending import CostEstimate, dollars, role_words
from agent.report.words import provider_words
from demo.views.escape import escaped, sentence
from llm import ModelPlan
from llm.budget import Caps
from llm.plan import Choice
from llm.provider import MOCK, PROVIDERS, named
from sandbox.levels import SAFE_FOR_PUBLIC

NEEDS_MODEL = (
    '<p class="hint">A task of your own needs a model (see “Models and keys”). Code needs none.</p>'
)
"""Shown at the field for words if no model can write the program."""
IN_JAIL = "Your code runs in a jail, without network or access to this machine"


def plan_html(provider: str, why: str, jail: JailStatus, answering: str = "") -> str:
    """Renders the provider, and the jail with its verified level and the result for each layer.
    `answering` is the HTML of the models."""
    badge = escaped(provider_words(provider, why) if why else provider, 400)
    return f'<div class="place"><span class="badge">{badge}</span>{_jail(jail)}{answering}</div>'


def chosen_plan_html(plan: ModelPlan, jail: JailStatus, doing: Iterable[str] = ()) -> str:
    """Renders the visitor's models by role, and the jail. `doing` is the status of local models."""
    others = tuple(one.words for one in plan.fallbacks)
    status = "".join(f'<p class="doing">{escaped(words, 600)}</p>' for words in doing)
    who = roles_html(plan.choices, others, plan.notes)
    return plan_html(plan.provider, plan.why, jail, status + who)


def missing_plan_html(why: str, jail: JailStatus) -> str:
    """Renders the jail, and why the chosen models are unavailable."""
    return plan_html("no plan", "", jail, sentence(why, "note"))


def roles_html(
    roles: Iterable[RoleChoice | Choice], fallbacks: Iterable[str] = (), notes: Iterable[str] = (),
    *, key: str = "who",
) -> str:
    """Renders the model of each role and the reason; empty if there is no model."""
    rows = [
        (role_words(one.role), _by(one), one.why) for one in roles
    ] + [("fallback", words, "if another model cannot be reached") for words in fallbacks]
    if not rows:
        return ""
    listed = "".join(
        f"<li><b>{escaped(role, 60)}</b> <code>{escaped(by, 200)}</code> "
        f"<span>{escaped(why, 400)}</span></li>"
        for role, by, why in rows
    )
    remarks = "".join(f'<p class="note">{escaped(note, 600)}</p>' for note in notes)
    return (
        f'{remarks}<details class="who" data-key="{key}"><summary>Models in use</summary>'
        f"<ul>{listed}</ul></details>"
    )


def cost_html(caps: Caps, predicted: Iterable[CostEstimate]) -> str:
    """Renders the limits of a run, and the maximum cost of one call of each role."""
    rows = "".join(
        f"<li><b>{escaped(role_words(one.role), 60)}</b> "
        f"<span>{one.tokens:,} tokens, {escaped(dollars(one.usd))}</span></li>"
        for one in predicted
    )
    if not rows:
        return ""
    return (
        f'<details class="spending" data-key="spending"><summary>At most {_caps(caps)} per '
        "run (see “Options”); nothing if memory or search finds the repair.</summary>"
        f"<p>Maximum for one call with the current input:</p><ul>{rows}</ul></details>"
    )


def keys_html(variables: Iterable[str]) -> str:
    """Renders the providers whose keys a visitor's runs can use."""
    available = {*variables}
    listed = ", ".join(
        name for name, row in PROVIDERS.items() if row.needs_key and row.key in available
    )
    return f'<p class="hint">Available keys: {escaped(listed or "none", 400)}.</p>'


def _caps(caps: Caps) -> str:
    limits = (
        "" if caps.usd is None else dollars(caps.usd),
        "" if caps.tokens is None else f"{caps.tokens:,} tokens",
        "" if caps.calls is None else f"{caps.calls:,} calls",
    )
    return ", ".join(filter(None, limits))


def _by(one: RoleChoice | Choice) -> str:
    return "no model" if one.provider == MOCK else named(one.provider, one.model)


def _jail(jail: JailStatus) -> str:
    words = f'<span class="sandbox">sandbox: {escaped(jail.words, 400)}</span>'
    if not jail.level:
        return words
    strength = "fit" if jail.level in SAFE_FOR_PUBLIC else "weak"
    details = ""
    if strength == "fit":
        details = f"<p>{words}</p>"
        words = f'<span class="sandbox">{IN_JAIL}</span>'
    layers = [
        f"{layer.name} {'holds' if layer.holds else 'does not hold'}: {layer.observed}"
        for layer in jail.layers
    ]
    tip = escaped("\n".join(layers))
    listed = "".join(f"<li>{escaped(layer, 600)}</li>" for layer in layers)
    return (
        f'<details class="jail" data-key="jail"><summary title="{tip}">'
        f'<span class="badge level {strength}">{escaped(jail.level, 10)}</span> {words}</summary>'
        f"{details}<ul>{listed}</ul></details>"
    )


def banner(warning: str, refusal: str = "") -> str:
    """Renders the warning about a weak jail, or why the page runs no code."""
    if warning:
        return f'<div class="banner weak" role="alert">{escaped(warning)}</div>'
    return f'<div class="banner" role="alert">{escaped(refusal)}</div>' if refusal else ""
