"""Tokens become whole characters, and nothing behind the end is heard."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm.providers.huggingface.listening import Fence, Listener

END = 256


def by_bytes(tokens: Sequence[int]) -> str:
    return bytes(tokens).decode("utf-8", "replace")


def heard(*chunks: Sequence[int], fenced: bool = False) -> tuple[list[str], Listener]:
    pieces: list[str] = []
    listener = Listener(by_bytes, {END}, pieces.append, Fence() if fenced else None)
    for chunk in chunks:
        listener.hear(chunk)
    return pieces, listener


@settings(max_examples=50)
@given(st.text())
def test_a_text_comes_through_byte_by_byte_and_no_character_is_halved(text: str) -> None:
    pieces, listener = heard(*([byte] for byte in text.encode()), [END])

    # A text's own mark of brokenness is shown once something follows it.
    assert "".join(pieces) == text.rstrip("\ufffd")
    assert "\ufffd" in text or not any("\ufffd" in piece for piece in pieces)
    assert listener.finish == "stop"


def test_a_character_that_was_cut_is_not_shown() -> None:
    pieces, listener = heard([111, 107], "é".encode()[:1])

    assert (pieces, listener.finish, listener.tokens) == (["o", "k"], None, 3)


def test_what_stands_behind_the_end_in_one_forward_is_not_heard() -> None:
    pieces, listener = heard([97, END, 98, END])

    assert (pieces, listener.finish, listener.tokens) == (["a"], "stop", 2)


ANSWER = "Here:\n```python\nprint('```')\n    ```\nx = 1\n```\n"


@pytest.mark.parametrize("width", [1, 3, 1_000])
def test_code_ends_with_the_line_that_closes_its_fence(width: int) -> None:
    written = (ANSWER.replace("    ```\n", "") + "And more.\n```\n").encode()
    chunks = [written[at:at + width] for at in range(0, len(written), width)]

    pieces, listener = heard(*chunks, fenced=True)

    closed = ANSWER.replace("    ```\n", "")
    assert "".join(pieces) == closed
    assert (listener.finish, listener.tokens) == ("stop", len(closed))


def closed_after(text: str) -> str | None:
    """What was kept when the fence closed."""
    fence = Fence()
    kept = fence.heard(text)
    return kept if fence.closed else None


def test_a_fence_that_is_indented_or_still_open_closes_nothing() -> None:
    fence = Fence()

    assert fence.heard("```python\n  ```\n```not a closing\n``") == (
        "```python\n  ```\n```not a closing\n``"
    )
    assert not fence.closed
    assert fence.heard("`\nmore") == "`\n"
    assert fence.closed


@pytest.mark.parametrize("program", [
    'text = """\n```\nexample\n```\n"""\n',
    "x = (1,\n",
    "def f(:\n    don't\n",
    'x = """never closed, but on one line"""\n',
])
def test_a_program_is_heard_to_its_end(program: str) -> None:
    answer = f"```python\n{program}```\n"

    assert closed_after(f"{answer}And so on.\n```\n") == answer


def test_a_longer_fence_is_closed_by_one_as_long() -> None:
    answer = "````\n```\nx\n```\n````\n"

    assert closed_after(f"{answer}more") == answer


def test_edits_are_not_cut_at_a_line_of_the_program_that_is_a_fence() -> None:
    edits = "<<<<<<< SEARCH\n```\na\n```\n=======\n```\nb\n```\n>>>>>>> REPLACE\n"

    assert closed_after(edits * 2) is None
