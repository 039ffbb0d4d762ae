from __future__ import annotations

import ast
import subprocess
import sys

import pytest

from demo.examples import Card, Draft, examples_file, load, parse

EXAMPLES = load()


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
    assert len(EXAMPLES.cards) >= 6
    assert len(EXAMPLES.drafts) == 6


@pytest.mark.parametrize("card", EXAMPLES.cards, ids=lambda card: card.id)
def test_the_code_of_a_card_is_broken(card: Card) -> None:
    assert fails(f"{card.code}\n{card.tests}")


@pytest.mark.parametrize("draft", EXAMPLES.drafts, ids=lambda draft: draft.id)
def test_a_draft_runs_but_breaks_an_example_of_its_task(draft: Draft) -> None:
    ast.parse(draft.draft)
    asserts = checks(draft)
    assert len(asserts.splitlines()) >= 3
    assert not fails(draft.draft)
    assert fails(f"{draft.draft}\n{asserts}")


@pytest.mark.parametrize("draft", EXAMPLES.drafts, ids=lambda draft: draft.id)
def test_a_draft_defines_the_function_its_task_asks_for(draft: Draft) -> None:
    assert f"def {draft.task.split('function ')[1].split('(')[0]}(" in draft.draft


def test_an_unknown_field_is_named() -> None:
    with pytest.raises(ValueError, match="colour"):
        parse("cards: [{id: a, title: a, blurb: a, code: a, colour: red}]\n"
              "drafts: [{id: b, title: b, task: b, draft: b}]")


def test_two_examples_of_one_id_are_refused() -> None:
    with pytest.raises(ValueError, match="share an id: a"):
        parse("cards: [{id: a, title: a, blurb: a, code: a}]\n"
              "drafts: [{id: a, title: b, task: b, draft: b}]")


def test_text_that_is_no_yaml_is_refused() -> None:
    with pytest.raises(ValueError, match="not YAML"):
        parse("cards: [")


def test_the_examples_lie_beside_the_page() -> None:
    assert parse(examples_file().read_text(encoding="utf-8")) == EXAMPLES
