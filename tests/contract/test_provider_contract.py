"""Every provider keeps the promises of `llm.provider.Provider`. One row each, in `CASES`.

A row says how its provider is opened on a fake server, and which routes make that server answer,
refuse, stall or break off. A claim is tried with the rows that have what it needs.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import cache

import pytest

from llm import Connection, Message, Provider, Reply, Request, RulesProvider, Secret, open_provider
from llm.errors import WrongKey
from llm.providers.huggingface import HuggingFaceProvider
from llm.providers.huggingface.host import ModelHost
from tests.llm.fakes import anthropic, ollama, openai
from tests.llm.fakes.server import FakeServer, Handler, Seen, collected, says, stalls

KEY = "sk-canary-0a1b2c3d4e5f"
STALL_S = 0.75
"""Long enough that a busy machine is no stall."""

Script = Callable[[FakeServer], None]
"""Sets the routes of a server."""


@dataclass(frozen=True)
class Case:
    """A provider, and a server's days for it; `None` is a day that it does not know."""

    name: str
    opened: Callable[[str, Secret], Provider]
    """Given the server's address and a key. Streams stall after `STALL_S`."""
    path: str = ""
    """Where questions arrive; empty where none leave the process."""
    hello: Script | None = None
    """Answers `text` in at least two pieces, and lists the models."""
    text: str = "hello world"
    paid: bool = True
    """It counts tokens."""
    wrong_key: Script | None = None
    unfinished: Script | None = None
    """Ends cleanly after a piece, without the mark of an answer's end."""
    stalled: Script | None = None
    """Sends a piece, then nothing, for ever."""

    def asked(self, server: FakeServer) -> list[Seen]:
        return [seen for seen in server.seen if seen.path == self.path]


def connected(provider: str, model: str) -> Callable[[str, Secret], Provider]:
    """Opens a row of the table of providers on a server."""
    def opened(url: str, key: Secret) -> Provider:
        return open_provider(Connection(provider, model, key, url, stall_s=STALL_S))

    return opened


def _claude_says_hello(server: FakeServer) -> None:
    server.on("POST", anthropic.MESSAGES, anthropic.answers(anthropic.whole()))
    server.on("GET", anthropic.MODELS, anthropic.lists_models)


def _claude_knows_no_such_key(server: FakeServer) -> None:
    refused = anthropic.fails(401, "authentication_error", f"invalid bearer token {KEY}")
    server.on("POST", anthropic.MESSAGES, refused)
    server.on("GET", anthropic.MODELS, refused)


def _compatible(preset: str) -> Case:
    """A server that speaks OpenAI's chat completions."""
    opened = connected(preset, openai.MODEL)

    def hello(server: FakeServer) -> None:
        server.on("POST", openai.CHAT, openai.answers())
        server.on("GET", openai.MODELS, says(openai.listed(openai.MODEL)))

    def no_such_key(server: FakeServer) -> None:
        refused = openai.fails(401, "authentication_error", "invalid_api_key", f"no key {KEY}")
        server.on("POST", openai.CHAT, refused)
        server.on("GET", openai.MODELS, refused)

    def answering(handler: Handler) -> Script:
        return lambda server: server.on("POST", openai.CHAT, handler)

    return Case(
        preset,
        lambda url, key: opened(f"{url}/v1", key),
        path=openai.CHAT,
        hello=hello,
        wrong_key=no_such_key,
        unfinished=answering(openai.answers(openai.opening())),
        stalled=answering(openai.answers(openai.opening(), then=stalls)),
    )


def _ollama_with(handler: Handler) -> Script:
    return lambda server: ollama.healthy(server, handler)


def _ollama_knows_no_such_key(server: FakeServer) -> None:
    ollama.healthy(server, refused := ollama.fails(401, f"unauthorized: {KEY}"))
    server.on("GET", ollama.TAGS, refused)


@cache
def _oracle_in_this_process() -> ModelHost:
    """A host whose model runs each forward, and says hello."""
    import torch

    from llm.providers.huggingface.chat import tokens_of
    from tests.llm import tiny_model

    torch.set_num_threads(1)  # several, on a machine that is busy, wait for each other
    words = tiny_model.tokenizer()
    model = tiny_model.made(words, tiny_model.network(len(words)))
    script = words("hello world", add_special_tokens=False).input_ids
    oracle = tiny_model.Oracle(model.network)
    oracle.say([*script, *model.ends], len(tokens_of(words, question())))
    return ModelHost(lambda name, key, four_bit: model)


CASES = [
    Case(
        "huggingface",
        lambda url, key: HuggingFaceProvider(
            Connection("huggingface", "tiny", key), _oracle_in_this_process()
        ),
        hello=lambda server: None,
    ),
    Case(
        "anthropic",
        connected("anthropic", anthropic.MODEL),
        path=anthropic.MESSAGES,
        hello=_claude_says_hello,
        wrong_key=_claude_knows_no_such_key,
        unfinished=lambda server: server.on(
            "POST", anthropic.MESSAGES, anthropic.answers(anthropic.opening())
        ),
        stalled=lambda server: server.on(
            "POST", anthropic.MESSAGES, anthropic.answers(anthropic.opening(), then=stalls)
        ),
    ),
    _compatible("openai"),
    _compatible("vllm"),
    Case(
        "ollama",
        connected("ollama", ollama.MODEL),
        path=ollama.CHAT,
        hello=_ollama_with(ollama.answers()),
        wrong_key=_ollama_knows_no_such_key,
        unfinished=_ollama_with(ollama.answers(ollama.opening())),
        stalled=_ollama_with(ollama.answers(ollama.opening(), then=stalls)),
    ),
    Case(
        "mock",
        lambda url, key: RulesProvider({"tester": lambda variables: "hello world"}),
        hello=lambda server: None,
        paid=False,
    ),
]


def rows(*needed: str) -> pytest.MarkDecorator:
    """The rows that have all that a claim needs."""
    fitting = [case for case in CASES if all(getattr(case, name) for name in needed)]
    return pytest.mark.parametrize("case", fitting, ids=lambda case: str(case.name))


def question() -> Request:
    return Request("tester", "Be brief.", (Message("user", "Say hello."),), max_tokens=64)


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with FakeServer() as server:
        yield server


@asynccontextmanager
async def provided(
    case: Case, script: Script | None, server: FakeServer
) -> AsyncIterator[Provider]:
    """The provider of a row, whose server does what the script says."""
    assert script is not None
    script(server)
    provider = case.opened(server.url, Secret(KEY))
    yield provider
    await provider.close()


@rows("hello")
async def test_the_streamed_pieces_join_to_the_reply(case: Case, server: FakeServer) -> None:
    async with provided(case, case.hello, server) as provider:
        counts = [provider.count("def f(x):\n    return x + 1\n" * times) for times in (0, 1, 20)]
        assert counts == sorted(set(counts))
        assert isinstance(provider.exact, bool)
        assert provider.window is None or provider.window > 0

        begun = time.perf_counter()
        *pieces, reply = await collected(provider.stream(question()))
        took_s = time.perf_counter() - begun
        assert all(isinstance(piece, str) and piece for piece in pieces)
        assert isinstance(reply, Reply)
        assert "".join(pieces) == reply.text == case.text
        assert (reply.finish, reply.provider, reply.model) == (
            "stop", provider.name, provider.model
        )
        assert (reply.attempts, reply.cached) == (1, False)
        if case.paid:
            assert provider.model in await provider.models()
            assert reply.usage.total > reply.usage.output > 0
            assert reply.first_s is not None
            assert 0 < reply.first_s <= reply.wall_s <= took_s
            assert reply.cost_usd is None  # prices are no provider's matter
        # A list of models is no question.
        assert len(case.asked(server)) == (1 if case.path else 0)


@rows("hello", "paid")
async def test_two_calls_at_once_share_nothing(case: Case, server: FakeServer) -> None:
    async with provided(case, case.hello, server) as provider:
        both = await asyncio.gather(*(collected(provider.stream(question())) for _ in range(2)))

    assert [items[-1].text for items in both] == [case.text] * 2
    assert both[0][-1].usage == both[1][-1].usage


@rows("stalled")
@pytest.mark.parametrize("how", ["closing the iterator", "cancelling the task"])
async def test_an_abandoned_call_hangs_up(how: str, case: Case, server: FakeServer) -> None:
    async with provided(case, case.stalled, server) as provider:
        begun = asyncio.Event()

        async def consume() -> None:
            async for _ in provider.stream(question()):
                begun.set()

        if how == "cancelling the task":
            task = asyncio.create_task(consume())
            await begun.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            async with aclosing(provider.stream(question())) as stream:
                assert isinstance(await anext(stream), str)
        (asked,) = case.asked(server)
        assert await asked.was_dropped(within_s=STALL_S / 2)


@rows("unfinished")
async def test_a_clean_end_without_its_mark_is_a_cut(case: Case, server: FakeServer) -> None:
    async with provided(case, case.unfinished, server) as provider:
        reply = (await collected(provider.stream(question())))[-1]

    assert reply.finish == "cut"
    assert reply.text
    assert reply.usage.estimated
    assert reply.usage.output > 0


@rows("wrong_key")
@pytest.mark.parametrize("listing", [False, True], ids=["asking", "listing"])
async def test_an_unknown_key_is_a_wrong_key_and_is_not_shown(
    case: Case, server: FakeServer, listing: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    async with provided(case, case.wrong_key, server) as provider:
        with pytest.raises(WrongKey) as caught:
            await (provider.models() if listing else collected(provider.stream(question())))

    assert not caught.value.started
    shown = [
        str(caught.value), repr(caught.value), repr(provider),
        *traceback.format_exception(caught.value),
        *(f"{record.getMessage()} {record.args} {record.exc_text}" for record in caplog.records),
    ]
    assert not [text for text in shown if KEY in text]
