"""Changes of one line that a model finds likely."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

from agent.iteration.context import Context
from agent.propose.branching import one_line_variants
from llm import Message, Reply, Request
from llm.types import Prefill, TokenAlternative, Usage
from tests.llm.scripted import Answer, Scripted

OPENING, CLOSING = "Here it is:\n```python\n", "\n```"
BODY = "def f(a):\n    b = a - 1\n    return b"
ASKED = Request("generator", "", (Message("user", "?"),), prefill=Prefill(OPENING, CLOSING))


@dataclass
class Asking:
    """A context of which the generator alone is asked."""

    model: Scripted
    roles: list[str] = field(default_factory=list)

    async def answerer(self, role: str) -> Scripted:
        self.roles.append(role)
        return self.model


def reply(*others: tuple[str, str, float]) -> Reply:
    """An answer with what else was likely where a text begins in it."""
    text = OPENING + BODY + CLOSING
    places = tuple(TokenAlternative(text.index(at), token, value) for at, token, value in others)
    return Reply(text, "stop", "p", "m", Usage(), alternatives=places)


async def changed(
    given: Reply, *answers: Answer, most: int = 9, asked: Request = ASKED
) -> tuple[list[str], Scripted]:
    model = Scripted(list(answers))
    ctx = cast(Context, Asking(model))
    return [one async for one in one_line_variants(ctx, asked, given, most)], model


async def test_the_likeliest_token_is_written_to_the_end_of_its_line_and_the_rest_stays() -> None:
    begun = f"{OPENING}def f(a):\n    b = a +"
    found, model = await changed(
        reply((" return", " yield", -4.0), (" - 1", " +", -1.0)),
        Answer((f"{begun} 2\n",)),
        Answer((f"{OPENING}def f(a):\n    b = a - 1\n    yield a\n",)),
    )
    assert found == [
        "def f(a):\n    b = a + 2\n    return b\n", "def f(a):\n    b = a - 1\n    yield a\n",
    ]
    assert [one.prefill for one in model.asked] == [
        Prefill(begun, "\n"), Prefill(f"{OPENING}def f(a):\n    b = a - 1\n    yield", "\n"),
    ]
    assert {one.messages for one in model.asked} == {ASKED.messages}


async def test_a_token_that_ends_the_line_asks_nobody() -> None:
    found, model = await changed(reply((" - 1", "\n\n", -1.0)))
    assert found == ["def f(a):\n    b = a\n    return b\n"]
    assert model.asked == []


async def test_no_more_are_tried_than_are_wanted_and_none_that_is_no_text_or_outside() -> None:
    given = reply(
        (" - 1", "", -0.1), (" - 1", "<|im_end|>", -0.2), (" - 1", "\ufffd", -0.3),
        ("Here", "There", -0.4), ("\n```", " + 1", -0.5), (" - 1", "\n", -0.6),
        (" b =", "\n", -9.0),
    )
    assert (await changed(given, most=1))[0] == ["def f(a):\n    b = a\n    return b\n"]
    assert len((await changed(given))[0]) == 2


async def test_a_line_that_does_not_end_is_left_out() -> None:
    found, _ = await changed(reply((" - 1", " +", -1.0)), Answer(("x",), finish="length"))
    assert found == []


async def test_an_answer_without_a_frame_has_none() -> None:
    plain = Request("generator", "", (Message("user", "?"),))
    assert (await changed(reply((" - 1", "\n", -1.0)), asked=plain))[0] == []
