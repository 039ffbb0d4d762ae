"""A model in a GGUF file: its server is a child process of ours, and its faults end a call."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from llm import Message, NoProvider, Reply, Request, open_provider
from llm.asking.ask import ask_typed
from llm.errors import ContextOverflow, LlmError, TimedOut, UnknownModel
from llm.provider import Connection
from llm.types import Json, Prefill

pytest.importorskip("gguf")
pytest.importorskip("xllamacpp")

from llm.providers.llamacpp import LlamaCppProvider, child
from llm.providers.llamacpp.child import Children
from llm.providers.llamacpp.files import fetch_file
from tests.llm.llamacpp.tiny_gguf import written

HELLO = Request("generator", "Be brief.", (Message("user", "Hello"),), max_tokens=12,
                temperature=0.0)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


@pytest.fixture
def host() -> Iterator[Children]:
    made = Children()
    yield made
    made.stop()


@pytest.fixture
async def tiny(model: Path, host: Children) -> AsyncIterator[LlamaCppProvider]:
    provider = provided(model, host)
    yield provider
    await provider.close()


def provided(model: object, host: Children, **options: int) -> LlamaCppProvider:
    given = {"threads": 1, "context": 2_048, **options}
    return LlamaCppProvider(Connection("llamacpp", str(model), options=given), host)


async def asked(provider: LlamaCppProvider, request: Request = HELLO) -> tuple[list[str], Reply]:
    *pieces, reply = [piece async for piece in provider.stream(request)]
    assert isinstance(reply, Reply)
    return [piece for piece in pieces if isinstance(piece, str)], reply


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def process_of(provider: LlamaCppProvider) -> Any:
    server = provider._child._server
    assert server is not None
    return server.process


async def test_it_streams_counts_exactly_and_says_how_fast_it_was(tiny: LlamaCppProvider) -> None:
    assert not tiny.exact
    pieces, reply = await asked(tiny)

    assert "".join(pieces) == reply.text
    assert len(pieces) > 1
    assert (reply.finish, reply.usage.output, reply.usage.estimated) == ("length", 12, False)
    assert tiny.exact
    assert tiny.count("Hello a") == 6  # a token for each byte, and one for the merged two
    assert tiny.window == 2_048
    shown = f"llamacpp/{Path(tiny.model).name}: loaded, llama.cpp, about 5"
    assert tiny.describe().startswith(shown), "no path of the machine is shown"
    assert tiny.describe().endswith(" tokens/s")
    assert (await asked(tiny))[1].text == reply.text, "at temperature 0"


async def test_seeds_make_samples_that_come_again(tiny: LlamaCppProvider) -> None:
    warm = replace(HELLO, temperature=1.0, seed=1)
    first, again, other = [
        (await asked(tiny, one))[1].text for one in (warm, warm, replace(warm, seed=2))
    ]
    assert first == again != other


async def test_an_answer_goes_on_from_the_opening_of_its_frame(tiny: LlamaCppProvider) -> None:
    _, plain = await asked(tiny)
    opening = "Hello again "
    pieces, reply = await asked(tiny, replace(HELLO, prefill=Prefill(opening, "never written")))
    assert "".join(pieces) == reply.text
    assert reply.text.startswith(opening)
    assert reply.finish == "length", "so that it is not closed"
    more = reply.usage.total - plain.usage.total
    assert more == tiny.count(opening), "the model has read it"


async def test_a_form_holds_even_a_model_that_says_nothing(tiny: LlamaCppProvider) -> None:
    schema = {
        "type": "object", "properties": {"sure": {"type": "boolean"}},
        "required": ["sure"], "additionalProperties": False,
    }
    request = replace(HELLO, output=Json(schema), max_tokens=200)
    found = await ask_typed(tiny, request, schema, lambda value: value)
    assert isinstance(found, dict)
    assert isinstance(found["sure"], bool)


async def test_a_cancelled_call_ends_and_frees_the_model(tiny: LlamaCppProvider) -> None:
    await asked(tiny)
    long = replace(HELLO, max_tokens=1_500, messages=(Message("user", "a " * 50),))
    async with aclosing(tiny.stream(long)) as stream:
        await anext(stream)
        left = time.monotonic()
    ended = time.monotonic() - left
    _, reply = await asked(tiny)
    assert ended < 0.2
    assert reply.usage.output == 12


async def test_two_calls_are_answered_side_by_side(tiny: LlamaCppProvider) -> None:
    await asked(tiny)
    order: list[str] = []

    async def follow(name: str, tokens: int) -> None:
        async for _ in tiny.stream(replace(HELLO, role=name, max_tokens=tokens)):
            order.append(name)

    await asyncio.gather(follow("long", 400), follow("short", 20))
    assert "long" in order[order.index("short"):], "the short one ended while the long one went on"


async def test_providers_of_one_model_share_it(model: Path, host: Children, tmp_path: Path) -> None:
    one, two = provided(model, host), provided(model, host)
    await asyncio.gather(asked(one), asked(two))
    process = process_of(one)
    assert process is process_of(two)
    await one.close()
    await two.close()
    assert process.poll() is None, "kept for the next who asks"
    other = provided(written(tmp_path / "other.gguf"), host)
    assert process.poll() is None, "naming another model ends nothing"
    await asked(other)
    assert process.poll() is not None
    await other.close()


async def test_a_killed_process_ends_its_call_and_is_replaced(tiny: LlamaCppProvider) -> None:
    await asked(tiny)
    process = process_of(tiny)
    async with aclosing(tiny.stream(replace(HELLO, max_tokens=1_900))) as stream:
        await anext(stream)
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(LlmError):
            async for _ in stream:
                pass
    assert (await asked(tiny))[1].usage.output == 12
    assert process_of(tiny).pid != process.pid


async def test_an_estimated_count_is_marked_as_estimate(tiny: LlamaCppProvider) -> None:
    await asked(tiny)
    process_of(tiny).kill()
    process_of(tiny).wait()
    assert tiny.count("x" * 300) == 100
    assert not tiny.exact


async def test_it_leaves_memory_without_calls_and_comes_back(model: Path, host: Children) -> None:
    provider = provided(model, host, idle_s=1)
    await asked(provider)
    pid = process_of(provider).pid
    async with asyncio.timeout(20):
        while alive(pid) or "waiting" not in provider.describe():
            await asyncio.sleep(0.1)
    assert (await asked(provider))[1].usage.output == 12
    await provider.close()


async def test_its_port_needs_a_key(tiny: LlamaCppProvider) -> None:
    import httpx2

    await asked(tiny)
    address = tiny._child.loaded_address()
    assert address is not None
    async with httpx2.AsyncClient(trust_env=False) as client:
        reply = await client.post(f"{address.url}/chat/completions", json={"messages": []})
    assert reply.status_code == 401
    environment = Path(f"/proc/{process_of(tiny).pid}/environ").read_bytes()
    assert address.key.reveal().encode() not in environment


async def test_a_child_gets_no_key_of_the_environment(
    model: Path, host: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    provider = provided(model, host)
    await asked(provider)
    environment = Path(f"/proc/{process_of(provider).pid}/environ").read_bytes()
    assert b"secret" not in environment
    await provider.close()


async def test_a_question_that_is_too_long_is_refused(tiny: LlamaCppProvider) -> None:
    with pytest.raises(ContextOverflow):
        await asked(tiny, replace(HELLO, messages=(Message("user", "word " * 1_000),)))


@pytest.mark.parametrize("content", [None, b"<html>not found</html>", b"GGUF" + bytes(500)])
async def test_a_file_that_is_no_model_is_refused_with_the_next_step(
    tmp_path: Path, host: Children, content: bytes | None
) -> None:
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    provider = provided(path, host)
    with pytest.raises(UnknownModel, match="GGUF_MODEL"):
        await asked(provider)
    assert ": failed (" in provider.describe()
    await provider.close()


async def test_a_truncated_file_is_refused(tmp_path: Path, host: Children, model: Path) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(model.read_bytes()[:200_000])
    provider = provided(path, host)
    with pytest.raises(UnknownModel):
        await asked(provider)
    path.write_bytes(model.read_bytes())
    assert (await asked(provider))[1].usage.output == 12
    await provider.close()


async def test_a_model_without_a_template_uses_a_default(tmp_path: Path, host: Children) -> None:
    provider = provided(written(tmp_path / "bare.gguf", template=""), host)
    assert (await asked(provider))[1].usage.output == 12
    await provider.close()


async def test_a_model_that_memory_has_no_room_for_is_not_loaded(
    model: Path, host: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "free_mib", lambda: 300)
    provider = provided(model, host)
    with pytest.raises(NoProvider, match=r"5\d\d MiB.*300 MiB"):
        await asked(provider)
    await provider.close()


async def test_a_call_waits_for_the_model_no_longer_than_it_may(
    model: Path, host: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*given: Any) -> Path:
        given[2](30, 100)
        time.sleep(1.5)
        return fetch_file(*given)

    monkeypatch.setattr(child, "fetch_file", slow)
    provider = provided(model, host)
    with pytest.raises(TimedOut, match=r"0\.5 s.*30 ?%"):
        await asked(provider, replace(HELLO, deadline_s=0.5))
    assert (await asked(provider))[1].usage.output == 12, "the download went on"
    await provider.close()


def test_a_missing_package_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm.providers.llamacpp.provider.find_spec", lambda name: None)
    with pytest.raises(NoProvider, match=r"\.\[gguf\]"):
        open_provider(Connection("llamacpp", "a.gguf"))
