"""A local model as a provider: loaded once, asked in order, stopped at once."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from llm import Message, NoProvider, Reply, Request, open_provider
from llm.errors import LlmError, ProviderDown, TimedOut, UnknownModel, WrongKey
from llm.keys import NO_KEY, Secret
from llm.provider import Connection
from llm.providers.huggingface import HuggingFaceProvider
from llm.providers.huggingface.host import FinishedAnswer, ModelHost
from llm.types import Usage

HELLO = Request("generator", "", (Message("user", "Hello"),), max_tokens=12)


class Slow:
    """Stands for a loaded model: writes a token at each step until it is told to stop."""

    words = "cpu"
    counting = SimpleNamespace(
        encode=lambda text, add_special_tokens: SimpleNamespace(ids=text.split())
    )

    def __init__(self, step_s: float = 0.002) -> None:
        self._step_s = step_s
        self.asked: list[str] = []
        self.steps = 0
        self.threads: set[int] = set()

    def answer(
        self, request: Request, emit: Callable[[str], None], cancelled: threading.Event
    ) -> FinishedAnswer:
        self.asked.append(request.role)
        self.threads.add(threading.get_ident())
        for _ in range(request.max_tokens):
            if cancelled.is_set():
                break
            time.sleep(self._step_s)
            self.steps += 1
            emit(f"{request.role} ")
        usage = Usage(output=request.max_tokens)
        return FinishedAnswer("stop", usage, "", 0.1, cancelled=cancelled.is_set())


def hosting(*outcomes: Any) -> tuple[ModelHost, list[str]]:
    """A host whose loads come to these, the last one again and again, and the names it loaded."""
    pytest.importorskip("torch")
    loads: list[str] = []

    def load(name: str, key: Secret, four_bit: bool) -> Any:
        loads.append(name)
        outcome = outcomes[min(len(loads), len(outcomes)) - 1]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return ModelHost(load), loads


def provided(host: ModelHost, name: str = "slow") -> HuggingFaceProvider:
    return HuggingFaceProvider(Connection("huggingface", name), host)


def over(model: Any) -> tuple[HuggingFaceProvider, ModelHost]:
    host, _ = hosting(model)
    return provided(host), host


async def all_of(provider: HuggingFaceProvider, request: Request) -> tuple[list[str], Reply]:
    *pieces, reply = [item async for item in provider.stream(request)]
    assert isinstance(reply, Reply)
    assert all(isinstance(piece, str) for piece in pieces)
    return [str(piece) for piece in pieces], reply


async def test_it_counts_exactly_once_it_is_loaded(folder: Path) -> None:
    from llm.providers.huggingface.loading import Hardware, load

    host = ModelHost(partial(load, hardware=Hardware("cpu")))
    made = HuggingFaceProvider(Connection("huggingface", str(folder)), host)
    text = "def f(x):\n    return x"
    before = (made.exact, made.window, made.describe(), made.count(text))
    _, reply = await all_of(made, replace(HELLO, messages=(Message("user", text),)))
    alone = await all_of(made, replace(HELLO, messages=(Message("user", ""),)))

    assert before == (False, None, f"{folder}: waiting", 8)
    assert (made.exact, made.window) == (True, 2_048)
    assert made.count(text) == reply.usage.input - alone[1].usage.input
    assert made.count("<|end|>") > 1
    assert await made.models() == (str(folder),)
    assert made.describe().startswith(f"{folder}: loaded, cpu, float32, ")


async def test_a_model_is_loaded_once_and_warm_before_the_first_question() -> None:
    slow = Slow()
    host, loads = hosting(slow)
    one, two = provided(host), provided(host)
    await asyncio.gather(all_of(one, HELLO), all_of(two, HELLO))

    assert loads == ["slow"]
    assert slow.asked == ["warming", "generator", "generator"]
    assert len(slow.threads) == 1
    assert one.describe() == "slow: loaded, cpu; last call 120.0 tokens/s"


async def test_another_model_takes_the_place_of_one_that_nobody_holds() -> None:
    host, loads = hosting(Slow())
    one, two, again = (provided(host, name) for name in ("a", "b", "a"))
    await all_of(one, HELLO)
    await all_of(two, HELLO)
    await all_of(again, HELLO)
    assert loads == ["a", "b"]

    await one.close()
    await again.close()
    assert "loaded" in one.describe()
    three = provided(host, "c")
    await all_of(three, HELLO)
    assert loads == ["a", "b", "c"]
    states = ("waiting", "loaded", "loaded")
    for provider, state in zip((one, two, three), states, strict=True):
        assert f": {state}" in provider.describe()


async def test_callers_are_answered_in_their_order_and_not_mixed() -> None:
    slow = Slow()
    provider, _ = over(slow)
    roles = ["a", "b", "c", "d"]

    answers = await asyncio.gather(*(all_of(provider, replace(HELLO, role=r)) for r in roles))

    assert slow.asked == ["warming", *roles]
    assert [reply.text for _, reply in answers] == [f"{role} " * 12 for role in roles]


async def test_closing_the_stream_stops_the_model_within_a_step() -> None:
    slow = Slow()
    provider, _ = over(slow)
    stream = provider.stream(replace(HELLO, max_tokens=100_000))
    async for _ in stream:
        break
    await stream.aclose()
    steps = slow.steps

    await all_of(provider, replace(HELLO, max_tokens=1))

    assert slow.steps - steps <= 3


async def test_what_is_cancelled_in_the_queue_is_never_begun() -> None:
    slow = Slow()
    provider, _ = over(slow)
    first = asyncio.create_task(all_of(provider, replace(HELLO, role="first", max_tokens=40)))
    second = asyncio.create_task(all_of(provider, replace(HELLO, role="second")))
    await asyncio.sleep(0.02)
    second.cancel()

    await first
    with pytest.raises(asyncio.CancelledError):
        await second
    await all_of(provider, replace(HELLO, role="third"))

    assert slow.asked == ["warming", "first", "third"]


async def test_the_deadline_bounds_the_wait_in_the_queue() -> None:
    slow = Slow()
    provider, _ = over(slow)
    first = asyncio.create_task(all_of(provider, replace(HELLO, role="first", max_tokens=100)))
    await asyncio.sleep(0.01)

    with pytest.raises(TimedOut) as late:
        await all_of(provider, replace(HELLO, role="late", deadline_s=0.05))
    await first
    with pytest.raises(TimedOut) as begun:
        async for _ in provider.stream(replace(HELLO, deadline_s=0.5, max_tokens=10**6)):
            pass
    await all_of(provider, HELLO)

    assert not late.value.started
    assert begun.value.started and begun.value.usage is not None
    assert begun.value.usage.estimated and begun.value.usage.output > 0
    assert "late" not in slow.asked


async def test_the_end_of_the_process_ends_the_worker() -> None:
    slow = Slow()
    provider, host = over(slow)
    call = asyncio.create_task(all_of(provider, replace(HELLO, max_tokens=100_000)))
    waiting = asyncio.create_task(all_of(provider, HELLO))
    async with asyncio.timeout(10):
        while not slow.threads:
            await asyncio.sleep(0.005)
    running = [thread for thread in threading.enumerate() if thread.ident in slow.threads]

    host.stop()

    assert running and not running[0].is_alive()
    ends = await asyncio.gather(call, waiting, return_exceptions=True)
    assert [type(end) for end in ends] == [ProviderDown, ProviderDown]
    assert (await all_of(provider, HELLO))[1].finish == "stop"


async def test_a_closed_provider_ends_its_calls_and_no_others() -> None:
    slow = Slow()
    one, host = over(slow)
    two = provided(host)
    calls = [
        asyncio.create_task(all_of(provider, replace(HELLO, max_tokens=30)))
        for provider in (one, two, one)
    ]
    await asyncio.sleep(0.02)
    await one.close()
    ends = await asyncio.gather(*calls, return_exceptions=True)

    assert [type(end) for end in ends] == [ProviderDown, tuple, ProviderDown]


async def test_a_model_can_be_loaded_before_it_is_asked() -> None:
    host, loads = hosting(Slow())
    provider = provided(host)
    provider.warm()
    deadline = time.monotonic() + 30
    while not provider.exact and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
    assert loads == ["slow"]
    assert provider.exact
    await provider.close()
    host.stop()


async def test_a_load_that_failed_says_the_next_step_and_is_tried_again() -> None:
    host, _ = hosting(NoProvider("set USE_4BIT=1"), Slow())
    provider = provided(host)
    with pytest.raises(NoProvider, match="set USE_4BIT=1"):
        await all_of(provider, HELLO)
    assert provider.describe() == "slow: failed (set USE_4BIT=1)"
    await all_of(provider, HELLO)
    assert provider.exact


async def test_a_bug_reaches_the_caller_and_the_worker_goes_on() -> None:
    class Broken(Slow):
        def answer(self, request: Request, *rest: Any) -> FinishedAnswer:
            if request.role == "broken":
                raise KeyError("a bug")
            return super().answer(request, *rest)

    provider, _ = over(Broken())
    with pytest.raises(KeyError, match="a bug"):
        await all_of(provider, replace(HELLO, role="broken"))

    assert (await all_of(provider, HELLO))[1].finish == "stop"


async def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm.providers.huggingface.provider.find_spec", lambda name: None)

    with pytest.raises(NoProvider, match=r"torch.*\.\[local\]"):
        open_provider(Connection("huggingface", "m"))


async def test_an_empty_folder_is_no_model(folder: Path, tmp_path: Path, host: ModelHost) -> None:
    provider = HuggingFaceProvider(Connection("huggingface", str(tmp_path)), host)

    for asking in (provider.models(), all_of(provider, HELLO)):
        with pytest.raises(UnknownModel, match="HF_MODEL"):
            await asking
    assert ": failed (" in provider.describe()


async def test_a_model_that_cannot_be_downloaded_is_refused(folder: Path, host: ModelHost) -> None:
    provider = HuggingFaceProvider(Connection("huggingface", "nobody/nothing"), host)

    with pytest.raises(ProviderDown, match="HF_MODEL"):
        await provider.models()


def test_what_the_hub_refuses_is_said_with_the_next_step(folder: Path) -> None:
    import httpx
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError

    from llm.providers.huggingface.loading import translate_errors

    def said(error: Exception, key: Secret = NO_KEY) -> LlmError:
        with pytest.raises(LlmError) as raised, translate_errors("maker/model", key):
            raise OSError("the library's own words") from error
        return raised.value

    def response(status: int) -> httpx.Response:
        return httpx.Response(status, request=httpx.Request("GET", "http://127.0.0.1/"))

    gated = said(GatedRepoError("gated", response=response(403)))
    missing = said(RepositoryNotFoundError("missing", response=response(404)))
    refused = said(HfHubHTTPError("bad token", response=response(401)), Secret("hf_canary"))
    broken = said(HfHubHTTPError("broken", response=response(503)))

    assert isinstance(gated, WrongKey) and "maker/model" in str(gated)
    assert isinstance(missing, UnknownModel) and "HF_TOKEN" in str(missing)
    assert isinstance(refused, WrongKey) and "HF_TOKEN" in str(refused)
    assert isinstance(broken, ProviderDown)
    assert "hf_canary" not in str(refused)


def test_without_a_key_not_even_this_machines_own_is_sent(folder: Path) -> None:
    from llm.providers.huggingface.loading import hub_token

    # `None` would mean: whatever the machine is logged in with.
    assert (hub_token(NO_KEY), hub_token(Secret("hf_x"))) == (False, "hf_x")


def test_weights_that_do_not_fit_are_refused_before_they_are_read(folder: Path) -> None:
    from llm.providers.huggingface.loading import Hardware, load

    with pytest.raises(NoProvider, match=r"1 MiB.* cpu.*USE_4BIT=1"):
        load(str(folder), NO_KEY, False, Hardware("cpu", free_mib=0))


@pytest.mark.nightly
def test_weights_of_four_bits(folder: Path) -> None:
    pytest.importorskip("bitsandbytes", reason="4-bit weights need bitsandbytes")
    from llm.providers.huggingface.loading import Hardware, load

    model = load(str(folder), NO_KEY, True, Hardware("cpu"))
    pieces: list[str] = []
    ended = model.answer(HELLO, pieces.append, threading.Event())

    assert (ended.usage.output, "4-bit" in model.words) == (12, True)
    assert "".join(pieces)
    assert type(model.network.model.layers[0].mlp.up_proj).__name__ == "Linear4bit"
