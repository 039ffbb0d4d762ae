"""Each example of the page is broken as it stands, and a draft breaks an example of its task."""

from __future__ import annotations

import subprocess
import sys

import pytest
import yaml

from agent.propose.drafts import DRAFTS_FILE, Draft, read_drafts

CARDS = yaml.safe_load(DRAFTS_FILE.read_text(encoding="utf-8"))["cards"]
DRAFTS = read_drafts()


def fails(program: str, within_s: float = 1.0) -> bool:
    """Whether a program fails, or has not ended in time."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", program], capture_output=True, timeout=within_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def checks(draft: Draft) -> str:
    """The examples in a task's words, as asserts."""
    pairs = [part.split(" returns ") for part in draft.task.splitlines() if " returns " in part]
    return "\n".join(f"assert {call} == {value.rstrip('.')}" for call, value in pairs)


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card["id"])
def test_the_code_of_a_card_is_broken(card: dict[str, str]) -> None:
    assert fails(f"{card['code']}\n{card.get('tests', '')}")


@pytest.mark.parametrize("draft", DRAFTS, ids=lambda draft: draft.id)
def test_a_draft_runs_but_breaks_an_example_of_its_task(draft: Draft) -> None:
    asserts = checks(draft)
    assert len(asserts.splitlines()) >= 3
    assert f"def {draft.task.split('function ')[1].split('(')[0]}(" in draft.draft
    assert not fails(draft.draft, 60.0)
    assert fails(f"{draft.draft}\n{asserts}")
