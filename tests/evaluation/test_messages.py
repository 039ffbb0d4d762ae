"""The list of messages that users can meet."""

from __future__ import annotations

import pytest

from evaluation import messages

SOURCE = '''
"""A docstring is no message."""

PATTERN = r"\\bnot one of these words\\b"
KEY = "run_id"


def load(name: str) -> str:
    """Nor is this one of a function."""
    if not name:
        raise ValueError("The name is empty: give one.")
    return f"No file {name} is in the folder."
'''


def test_messages_are_found_and_docstrings_keys_and_patterns_are_not() -> None:
    assert [*messages.messages("a.py", SOURCE)] == [
        ("a.py", 11, "The name is empty: give one."),
        ("a.py", 12, "No file {…} is in the folder."),
    ]


@pytest.mark.nightly
def test_no_message_is_longer_than_three_sentences() -> None:
    found = messages.all_messages()
    assert len(found) > 1000
    assert [
        one for one in found if len(messages.SENTENCE.findall(one.text)) > messages.MAX_SENTENCES
    ] == []
