"""What all providers behind HTTP do with keys, addresses and the words of a fault."""

import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from llm import Connection, Message, NoProvider, Provider, Request, Secret, open_provider
from llm.asking.ask import complete_reply
from llm.errors import CallFailed, NeedsKey, Overloaded, Rejected, WrongKey
from llm.provider import PROVIDERS
from llm.providers.wire import (
    BY_STATUS,
    ERROR_ADVICE,
    MAX_SHOWN,
    HttpProvider,
    place,
    redacted,
    retry_after_s,
)
from tests.llm.fakes import anthropic, ollama, openai
from tests.llm.fakes.server import FakeServer, refusing, says

QUESTION = Request("critic", "", (Message("user", "Well?"),), max_tokens=99)
NOON = datetime(2026, 11, 22, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(("headers", "seconds"), [
    ({}, None),
    ({"retry-after": "30"}, 30.0),
    ({"retry-after": " 1.5 "}, 1.5),
    ({"retry-after": "-4"}, 0.0),
    ({"retry-after": "soon"}, None),
    ({"retry-after": "nan"}, None),
    ({"retry-after": "inf"}, None),
    ({"retry-after": "30", "retry-after-ms": "1200"}, 1.2),
    ({"retry-after": "30", "retry-after-ms": "x"}, 30.0),
    ({"retry-after": "Sun, 22 Nov 2026 12:01:30 GMT"}, 90.0),
    ({"retry-after": "Sun, 22 Nov 2026 12:01:30 -0000"}, 90.0),
    ({"retry-after": "Sun, 22 Nov 2026 11:00:00 GMT"}, 0.0),
    ({"retry-after": "Sun, 99 Nov 2026 11:00:00 GMT"}, None),
])
def test_when_to_come_again(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, NOON) == seconds


def test_words_and_addresses_hold_no_secret() -> None:
    key = Secret("sk-1")

    assert redacted("key\n  sk-1 is\tnot ours: sk-1.", key) == "key *** is not ours: ***."
    assert redacted("x" * 5_000, key) == "x" * MAX_SHOWN + "…"
    assert redacted("x" * (MAX_SHOWN - 2) + "sk-1", key).endswith("x**…")  # cut after, not before
    other = "gsk_" + "a1" * 10
    assert redacted(f"use {other} or c2stMQ==", key) == "use *** or c2stMQ=="
    assert redacted("all is said", Secret("")) == "all is said"

    assert place("https://me:pw@api.x.com:8443/v1/?token=t#f") == "https://api.x.com:8443/v1"
    assert place("http://127.0.0.1") == "http://127.0.0.1"


def test_every_error_has_a_next_step() -> None:
    assert set(ERROR_ADVICE) == set(CallFailed.__subclasses__()) | {Overloaded}
    assert set(BY_STATUS.values()) <= set(ERROR_ADVICE)


# What every provider behind a server does.

KEYED = [name for name, row in PROVIDERS.items() if row.needs_key]
SERVERS = [name for name, row in PROVIDERS.items() if row.base_url or name == "custom"]
ONE_OF_EACH = ["anthropic", "openai", "vllm", "ollama"]


def opened(name: str, key: str = "k", url: str = "") -> Provider:
    return open_provider(Connection(name, "m", Secret(key), url))


@pytest.mark.parametrize("name", KEYED)
def test_a_provider_without_its_key_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PROVIDERS[name].key, "stray-key")
    with pytest.raises(NeedsKey, match=PROVIDERS[name].key) as caught:
        opened(name, key=" ")
    assert caught.value.variable == PROVIDERS[name].key


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "caf\u00e9", "“quoted”", "sk-\x00"])
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_key_that_no_header_holds_is_wrong_and_is_not_shown(name: str, key: str) -> None:
    with pytest.raises(WrongKey) as caught:
        opened(name, key)
    assert key not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("url", [
    "localhost:80", "ftp://x", "http://", "http://x:99999", "http://[", "http://host:x",
])
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_an_address_that_is_none_is_said_before_anything_is_sent(name: str, url: str) -> None:
    with pytest.raises(NoProvider, match=name):
        opened(name, url=url)


def test_what_has_no_address_or_no_row_is_not_opened() -> None:
    for name in ("custom", "nobody"):
        with pytest.raises(NoProvider, match=name):
            opened(name)


@pytest.mark.parametrize("name", [name for name in SERVERS if name != "custom"])
async def test_the_usual_address_is_fixed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "OLLAMA_HOST"):
        monkeypatch.setenv(variable, "http://192.0.2.1:9")
    provider = opened(name)
    assert isinstance(provider, HttpProvider)
    client: Any = provider._client  # type: ignore[attr-defined]  # each provider's own
    url = str(getattr(client, "base_url", "") or client._client.base_url)
    assert url.rstrip("/") == PROVIDERS[name].base_url.rstrip("/")
    await provider.close()


STRAY = {
    **dict.fromkeys((
        "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_WORKSPACE_ID",
        "ANTHROPIC_IDENTITY_TOKEN", "ANTHROPIC_FEDERATION_RULE_ID", "ANTHROPIC_ORGANIZATION_ID",
        "OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID",
        "OLLAMA_API_KEY",
    ), "stray"),
    **dict.fromkeys((
        "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "OLLAMA_HOST", "HTTP_PROXY", "ALL_PROXY",
    ), "http://127.0.0.1:9/stray"),
    **dict.fromkeys((
        "ANTHROPIC_CUSTOM_HEADERS", "OPENAI_CUSTOM_HEADERS",
    ), "X-Api-Key: stray\nAuthorization: Bearer stray\nAccept: stray"),
    "ANTHROPIC_PROFILE": "default",
}


@pytest.mark.parametrize(("name", "key"), [
    ("anthropic", "sk-own"), ("openai", "sk-own"), ("vllm", ""), ("ollama", "sk-own"),
    ("ollama", ""),
])
async def test_nothing_of_the_environment_is_sent(
    name: str, key: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    profile = tmp_path / "configs" / "default.json"
    profile.parent.mkdir()
    profile.write_text('{"base_url": "http://127.0.0.1:9", "api_key": "stray"}')
    (tmp_path / "active_config").write_text("default")
    for variable, value in {**STRAY, "ANTHROPIC_CONFIG_DIR": str(tmp_path)}.items():
        monkeypatch.setenv(variable, value)
    async with FakeServer() as server:
        ollama.healthy(server, ollama.answers())
        server.on("GET", ollama.TAGS, says(ollama.tags("m")))
        server.on("POST", anthropic.MESSAGES, anthropic.answers(anthropic.whole()))
        server.on("POST", openai.CHAT, openai.answers())
        url = server.url + ("/v1" if name in ("openai", "vllm") else "")
        provider = opened(name, key, url)
        await complete_reply(provider, QUESTION)
        await provider.close()

    said = [seen.headers.get("authorization") for seen in server.seen]
    assert {*said} == {f"Bearer {key}" if key else None}
    assert "stray" not in str(server.seen)


@pytest.mark.parametrize("name", ["anthropic", "openai", "ollama"])
async def test_loopback_uses_no_proxy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with FakeServer() as server, FakeServer() as elsewhere:
        away = says(b"", 307, {"Location": f"{elsewhere.url}/there"})
        for path in (anthropic.MESSAGES, openai.CHAT, ollama.CHAT):
            server.on("POST", path, away)
        server.on("GET", ollama.TAGS, says(ollama.tags("m")))
        server.on("POST", ollama.SHOW, says(ollama.shown()))
        with refusing() as proxy:
            monkeypatch.setenv("http_proxy", proxy)
            monkeypatch.setenv("ALL_PROXY", proxy)
            monkeypatch.delenv("no_proxy", raising=False)
            provider = opened(name, url=server.url + ("/v1" if name == "openai" else ""))
            with pytest.raises(Rejected) as caught:
                await complete_reply(provider, QUESTION)
            await provider.close()

    assert not caught.value.started
    assert (bool(server.seen), elsewhere.seen) == (True, [])
