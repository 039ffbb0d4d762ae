from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from agent.thinking.drafts import Draft
from demo.examples import Card, load

CARDS, DRAFTS = load()


def fails(program: str) -> bool:
    """Whether a program fails, or has not ended after a second."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", program], capture_output=True, timeout=1, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def checks(draft: Draft) -> str:
    """The examples in a task's words, as asserts."""
    pairs = [part.split(" returns ") for part in draft.task.splitlines() if " returns " in part]
    return "\n".join(f"assert {call} == {value.rstrip('.')}" for call, value in pairs)


def test_the_page_has_enough_examples_of_both_kinds() -> None:
    assert len(CARDS) >= 6
    assert len(DRAFTS) == 6
    names = [example.id for example in (*CARDS, *DRAFTS)]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.id)
def test_the_code_of_a_card_is_broken(card: Card) -> None:
    assert fails(f"{card.code}\n{card.tests}")


@pytest.mark.parametrize("draft", DRAFTS, ids=lambda draft: draft.id)
def test_a_draft_runs_but_breaks_an_example_of_its_task(draft: Draft) -> None:
    ast.parse(draft.draft)
    asserts = checks(draft)
    assert len(asserts.splitlines()) >= 3
    assert not fails(draft.draft)
    assert fails(f"{draft.draft}\n{asserts}")


@pytest.mark.parametrize("draft", DRAFTS, ids=lambda draft: draft.id)
def test_a_draft_defines_the_function_its_task_asks_for(draft: Draft) -> None:
    assert f"def {draft.task.split('function ')[1].split('(')[0]}(" in draft.draft
