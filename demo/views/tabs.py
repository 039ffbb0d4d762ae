"""Renders ARIA tabs. Pure functions; `page.js` handles selection and arrow keys."""

from __future__ import annotations

from typing import NamedTuple


class Tab(NamedTuple):
    """A tab and its panel; `body` is HTML."""

    name: str
    title: str
    body: str
    item_count: int = 0
    """Number of items in the panel; 0 is not shown."""


def tabs(label: str, *parts: Tab, opens: str) -> str:
    """Renders tabs and their panels; `opens` is selected at first."""
    heads = "".join(_head(part, chosen=part.name == opens) for part in parts)
    panels = "".join(
        f'<div role="tabpanel" id="panel-{part.name}" class="{part.name}" '
        f'aria-labelledby="tab-{part.name}" tabindex="0"{"" if part.name == opens else " hidden"}>'
        f"{part.body}</div>"
        for part in parts
    )
    return (f'<div role="tablist" aria-label="{label}" data-opens="{opens}">{heads}</div>{panels}')


def _head(part: Tab, *, chosen: bool) -> str:
    count = f" <small>{part.item_count}</small>" if part.item_count else ""
    return (
        f'<button type="button" role="tab" id="tab-{part.name}" '
        f'aria-controls="panel-{part.name}" aria-selected="{"true" if chosen else "false"}" '
        f'tabindex="{0 if chosen else -1}">{part.title}{count}</button>'
    )
