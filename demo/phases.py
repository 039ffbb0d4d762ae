"""Updates of the page for each phase of a run: started, refused, or waiting for an answer, a review
or more budget. Pure functions."""

from __future__ import annotations

import gradio as gr

from agent.core.domain import CompetingPatches
from agent.core.events import Waiting
from agent.report.words import extension_words
from agent.search.ranking.competing import MOST
from agent.search.ranking.question import choices
from demo.browser_state import BrowserRun, Update
from demo.views import cards
from demo.views.bench import NO_RUN_WORKBENCH, STARTING
from demo.views.escape import sentence

CHOICES = tuple(f"choice-{place}" for place in range(MOST))
"""The buttons that answer a question."""
CLOSED_QUESTION = "This question was already answered, or the run has ended. Reload the page."


def refused(why: object) -> Update:
    return {"bench": NO_RUN_WORKBENCH, "said": sentence(str(why))}


def buttons(*, running: bool, closed: bool = False, stops: bool | None = None) -> Update:
    """Enables or disables Heal and Stop. Heal is disabled if the page runs no code (`closed`)."""
    return {
        "heal": gr.update(interactive=not running and not closed),
        "stop": gr.update(interactive=running if stops is None else stops),
    }


def started_page(kept: BrowserRun) -> Update:
    return {
        "saved-run": kept, "said": "", "bench": STARTING, **buttons(running=True),
        **review_card(None), "written": "", "wrong": "", **question_row(None),
        **paused_row(None),
    }


def closed_page(kept: BrowserRun) -> Update:
    unanswered = {**kept, "answer": ""}
    return {
        "saved-run": unanswered, "said": sentence(CLOSED_QUESTION), "written": "", "wrong": "",
        **question_row(None),
    }


def question_row(
    patches: CompetingPatches | None, *, waits: bool = False, own: bool = True
) -> Update:
    offered = [
        cards.choice(labels, answer, (
            (f"{one.label}: " if len(labels) > 1 else "") + (one.note or "the patch")
            for one in patches.behaviours if one.label in labels
        ))
        for labels, answer in choices(patches)
    ] if patches is not None else []
    return {
        "question": gr.update(visible=patches is not None),
        "asked": cards.question(patches, waits=waits, own=own),
        **{
            name: gr.update(visible=True, value=offered[place])
            if place < len(offered) else gr.update(visible=False)
            for place, name in enumerate(CHOICES)
        },
    }


def review_card(waiting: Waiting | None, *, asked: bool = False) -> Update:
    """Shows or hides a review, with its buttons and the program to edit. If it is shown already
    (`asked`), its typed text does not change."""
    if waiting is None:
        return {"review": gr.update(visible=False)}
    permission, help_ = waiting.needs == "permission", waiting.needs == "help"
    return {
        "review": gr.update(visible=True),
        "reviewed": cards.asked(waiting.question, waiting.diff),
        "approve": gr.update(
            visible=not help_, value="Yes, use the model" if permission else "Approve the patch"
        ),
        "reject": gr.update(value="End the run" if help_ or permission else "Reject the patch"),
        "otherwise": gr.update(visible=not permission),
        "hinted": gr.update(visible=not waiting.hint_refusal),
        **({} if asked else {"hint": "", "edited": waiting.tried or waiting.code}),
        **({"change": gr.update(open=True)} if waiting.tried and not asked else {}),
    }


def paused_row(waiting: Waiting | None, *, own: bool = False) -> Update:
    """Shows or hides the row of a run that waits for more budget or a key."""
    budget = waiting is not None and waiting.needs == "budget"
    more = waiting.budget_extension if waiting is not None else None
    return {
        "paused": gr.update(visible=waiting is not None),
        "needed": cards.paused(waiting, own=own) if waiting is not None else "",
        "go-on": gr.update(
            visible=own and (more is not None or not budget),
            value="Continue" if more is None else f"Add {extension_words(more)} and continue",
        ),
        "end-here": gr.update(visible=own),
    }
