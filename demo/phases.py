"""How the page's parts look at a run's turns: begun, waiting for an answer, a review or a cap, or
refused; pure."""

from __future__ import annotations

import gradio as gr

from agent.core.domain import CompetingPatches
from agent.core.events import Waiting
from agent.report.words import raised_words
from agent.search.ranking.competing import MOST
from agent.search.ranking.question import choices
from demo.browser_state import BrowserRun, Update
from demo.views import cards
from demo.views.bench import NOTHING, STARTING
from demo.views.escape import sentence

CHOICES = tuple(f"choice-{place}" for place in range(MOST))
"""The buttons that answer a question."""


def refused(why: object) -> Update:
    """The page where nothing was begun, and why."""
    return {"bench": NOTHING, "said": sentence(str(why))}


def buttons(*, running: bool, closed: bool = False, stops: bool | None = None) -> Update:
    """Heal and Stop, which others may press too where they are let; where no code is run, there is
    nothing to heal with."""
    return {
        "heal": gr.update(interactive=not running and not closed),
        "stop": gr.update(interactive=running if stops is None else stops),
    }


def begun_page(kept: BrowserRun) -> Update:
    """The page at the start of a run."""
    return {
        "kept": kept, "said": "", "bench": STARTING, **buttons(running=True),
        **review_card(None), "written": "", "wrong": "", **question_row(None),
        **paused_row(None),
    }


def closed_page(kept: BrowserRun) -> Update:
    """The page where a question was answered that is not open any more."""
    said = sentence("That question is closed.")
    unanswered = {**kept, "answer": ""}
    return {"kept": unanswered, "said": said, "written": "", "wrong": "", **question_row(None)}


def question_row(
    rivals: CompetingPatches | None, *, waits: bool = False, own: bool = True
) -> Update:
    """The row of a question, its words, and a button for each answer."""
    offered = [
        cards.choice(labels, answer, (
            (f"{one.label}: " if len(labels) > 1 else "") + (one.note or "the patch")
            for one in rivals.behaviours if one.label in labels
        ))
        for labels, answer in choices(rivals)
    ] if rivals is not None else []
    return {
        "question": gr.update(visible=rivals is not None),
        "asked": cards.question(rivals, waits=waits, own=own),
        **{
            name: gr.update(visible=True, value=offered[place])
            if place < len(offered) else gr.update(visible=False)
            for place, name in enumerate(CHOICES)
        },
    }


def review_card(waiting: Waiting | None, *, asked: bool = False) -> Update:
    """The card of a review, its buttons, and the program to change; where it stands already as
    `asked`, what is typed in it is left alone."""
    if waiting is None:
        return {"review": gr.update(visible=False)}
    leave, help_ = waiting.needs == "leave", waiting.needs == "help"
    return {
        "review": gr.update(visible=True),
        "reviewed": cards.asked(waiting.question, waiting.diff),
        "approve": gr.update(
            visible=not help_, value="Yes, ask it" if leave else "Approve the patch"
        ),
        "reject": gr.update(value="End here" if help_ or leave else "Reject it"),
        "otherwise": gr.update(visible=not leave),
        "hinted": gr.update(visible=not waiting.unhinted),
        **({} if asked else {"hint": "", "edited": waiting.tried or waiting.code}),
        **({"change": gr.update(open=True)} if waiting.tried and not asked else {}),
    }


def paused_row(waiting: Waiting | None, *, own: bool = False) -> Update:
    """The row of a run that waits for caps or a key, its words, and its two buttons."""
    budget = waiting is not None and waiting.needs == "budget"
    more = waiting.more if waiting is not None else None
    return {
        "paused": gr.update(visible=waiting is not None),
        "needed": cards.paused(waiting, own=own) if waiting is not None else "",
        "go-on": gr.update(
            visible=own and (more is not None or not budget),
            value="Go on" if more is None else f"Add {raised_words(more)} and go on",
        ),
        "end-here": gr.update(visible=own),
    }
