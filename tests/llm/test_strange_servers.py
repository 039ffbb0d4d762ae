"""Servers that count as nobody can, and say what no encoding carries."""

from __future__ import annotations

from typing import Any

import pytest

from llm import BadReply, Connection, Message, Provider, Request, Secret, open_provider
from llm.asking.answers import parse_code, parse_edits, parse_json
from llm.asking.ask import ask_read, complete_reply
from llm.errors import ProviderDown
from llm.prices import Rates
from llm.providers.wire import token_count
from llm.types import MAX_TOKENS
from tests.llm.fakes import anthropic, ollama, openai
from tests.llm.fakes.server import FakeServer, Handler

QUESTION = Request("generator", "You write.", (Message("user", "Hello? \ud800"),), max_tokens=500)
ANSWER = "hello \ud800 world"
SAID = r"hello \ud800 world"

PROVIDERS = {
    "anthropic": (anthropic.MODEL, anthropic.MESSAGES, ""),
    "openai": (openai.MODEL, openai.CHAT, "/v1"),
    "ollama": (ollama.MODEL, ollama.CHAT, ""),
}
RATES = Rates(input=2, output=10, cache_read=0.2, cache_write=2.5)
ABSURD: list[Any] = [-5, -10**9, 10**400, 1.5, float("nan"), "many", True, [1], {}, None, 0]


def answering(provider: str, *texts: str, count: Any = 7) -> list[Handler]:
    """Answers whose question and answer are counted so."""
    match provider:
        case "anthropic":
            usage = {"input_tokens": count, "output_tokens": count}
            told = []
            for text in texts:
                start, *rest, end, stop = anthropic.whole(pieces=[text])
                start["message"]["usage"] |= usage | {
                    "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0,
                }
                end["usage"] |= usage
                told.append(anthropic.answers([start, *rest, end, stop]))
            return told
        case "openai":
            counted = {"prompt_tokens": count, "completion_tokens": count}
            return [openai.answers(openai.whole(pieces=[text], usage=counted)) for text in texts]
        case _:
            return [
                ollama.answers([*ollama.opening([text]), ollama.last(asked=count, answered=count)])
                for text in texts
            ]


def opened(provider: str, server: FakeServer, *handlers: Handler) -> Provider:
    model, path, base = PROVIDERS[provider]
    ollama.healthy(server)
    server.on("POST", path, *handlers)
    return open_provider(Connection(provider, model, Secret("sk-canary-0"), server.url + base))


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("count", ABSURD, ids=lambda count: str(count)[:8])
async def test_a_count_that_no_call_has_is_bounded_or_our_own(provider: str, count: Any) -> None:
    async with FakeServer() as server:
        asked = opened(provider, server, *answering(provider, "hello world", count=count))
        try:
            usage = (await complete_reply(asked, QUESTION)).usage
        except ProviderDown as fault:  # Ollama's SDK takes no line whose count is none
            assert provider == "ollama"
            assert fault.started
            assert fault.usage is not None
            usage = fault.usage
        finally:
            await asked.close()

    counts = (usage.input, usage.output, usage.read, usage.written)
    assert all(type(one) is int and 0 <= one <= MAX_TOKENS for one in counts)
    assert usage.total > usage.output
    assert usage.output > 0
    assert 0 < RATES.dollars(usage) < 1e5


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_an_answer_is_cut_where_it_is_longer_than_was_asked_for(provider: str) -> None:
    long = "y " * 4_500  # 18 characters a token
    async with FakeServer() as server:
        asked = opened(provider, server, *answering(provider, long))
        with pytest.raises(ProviderDown, match=" 500 ") as caught:
            await complete_reply(asked, QUESTION)
        await asked.close()
    assert caught.value.started
    assert caught.value.usage is not None
    assert caught.value.usage.output == QUESTION.max_tokens


@pytest.mark.parametrize("provider", PROVIDERS)
async def test_half_a_character_is_escaped_in_both_directions(provider: str) -> None:
    good = "```python\nx = 1\n```"
    async with FakeServer() as server:
        asked = opened(provider, server, *answering(provider, ANSWER, good))
        try:
            code, _ = await ask_read(asked, QUESTION, parse_code)
        finally:
            await asked.close()
        first, again = (seen for seen in server.seen if seen.path == PROVIDERS[provider][1])

    assert code == "x = 1\n"
    assert first.json["messages"][-1]["content"] == r"Hello? \ud800"
    assert again.json["messages"][-2]["content"] == SAID


@pytest.mark.parametrize("read", [parse_code, parse_edits, lambda text: parse_json(text, {})])
def test_an_answer_that_no_file_can_hold_is_refused_in_words_that_can_be_sent(read: Any) -> None:
    with pytest.raises(BadReply, match=" 12 ") as caught:
        read("```python\nx\ud800\n```")
    str(caught.value).encode()


@pytest.mark.parametrize(
    ("told", "count"),
    [(0, 0), (7, 7), (10**400, MAX_TOKENS), (-1, None), (True, None), (1.0, None), ("7", None)],
)
def test_a_count_is_a_whole_number_that_some_call_may_have(told: object, count: int | None) -> None:
    assert token_count(told) == count
