"""A task in words, what scripted models may say to it, and a run of it with the calls counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agent.core.events import IterationEnded, TestRuled
from agent.report.result import Result
from tests.agent.claude import Said, claude
from tests.agent.model_runs import healed

WORDS = (
    "Write shout(words), which gives each word in capitals with an exclamation mark after it, "
    "joined by single spaces. shout('') gives ''."
)
WORST = "def shout(words):\n    return ''\n"
OPEN = json.dumps({"quote": "", "reason": "open", "verdict": "spec_ambiguous"})
HASHED = "def shout(words):\n    return str(hash(words)) if words else ''\n"


def specs(*pairs: tuple[str, str]) -> str:
    return json.dumps({"examples": [{"call": call, "expected": value} for call, value in pairs]})


RIGHT_SPECS = specs(
    ("shout('a b')", "'A! B!'"), ("shout('x')", "'X!'"), ("shout('q r')", "'Q! R!'")
)
ONE_WRONG = specs(
    ("shout('a b')", "'A! B!'"), ("shout('x')", "'X'"), ("shout('q r')", "'Q! R!'")
)


async def told(
    folder: Path, words: str = WORDS, code: str = "", tests: str = "", given: Any = None,
    **said: Said | list[Said],
) -> tuple[Result, list[Any], list[str]]:
    """How a run ends, its events, and which roles were asked."""
    async with claude(**said) as model:
        settings = model.settings(folder, **(given or {}))
        result, events = await healed(settings, code, tests, words)
        return result, events, model.asked


def rulings(events: list[Any]) -> list[tuple[str, str]]:
    return [(one.test, one.ruling) for one in events if isinstance(one, TestRuled)]


def rounds(events: list[Any]) -> list[str]:
    return [one.approach for one in events if isinstance(one, IterationEnded)]


def objecting(call: str, expected: str, quote: str, note: str = "it lacks the marks") -> str:
    return json.dumps({
        "note": note, "approve": False,
        "objections": [{"quote": quote, "call": call, "expected": expected}],
    })
