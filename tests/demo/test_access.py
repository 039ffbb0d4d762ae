"""Who is a stranger, and what is said to them."""

from __future__ import annotations

import time
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import pytest
from gradio.exceptions import ServerFailedToStartError
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

import app
from agent.core.domain import JailStatus
from agent.core.settings import Settings
from agent.iteration.models import Models
from demo.serving.access import PROXIES, Access, duplicate_link, is_loopback, is_public
from demo.serving.host import SessionHost
from demo.serving.server import run_in_thread, serve
from demo.views.bench import masthead
from demo.web import build
from sandbox.levels import SAFE_FOR_PUBLIC
from tests.demo.recorded import RecordedSession, hosting


@pytest.mark.parametrize(("names", "public"), [
    (("127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost"), False),
    (("0.0.0.0", "::", "10.0.0.1", "example.org", "localhost.example.org", "", "127"), True),
])
def test_local_and_public_addresses_are_told_apart(names: tuple[str, ...], public: bool) -> None:
    for name in names:
        assert (is_public(name, {}), is_loopback(name)) == (public, not public), name
    assert is_public("127.0.0.1", {"SPACE_ID": "someone/something"})  # wherever it listens


@pytest.mark.parametrize(("more", "has_own"), [
    ({}, True), ({"LLM_PROVIDER": "mock"}, False),
    ({"HF_MODEL": "owner/name"}, False), ({"ANTHROPIC_API_KEY": "a-key-of-the-operator"}, False),
])
def test_a_space_without_settings_has_a_small_model(more: dict[str, str], has_own: bool) -> None:
    environment = {"SPACE_ID": "owner/space", **more}
    settings = app.with_local_model(Settings.from_env(environment), environment)
    plan = Models(settings).plan()
    own = [one.words for one in plan.choices if one.provider == "llamacpp"]
    assert own == ([f"llamacpp/{app.SPACE_MODEL}"] if has_own else [])
    here = Settings.from_env({})
    assert app.with_local_model(here, {}) is here


@pytest.mark.parametrize("level", ["L1", ""])
def test_a_level_that_is_weak_or_unknown_is_refused_with_what_to_do(level: str) -> None:
    jail, weak = (
        JailStatus(words="what was seen", level=level),
        Access(public=True, allow_weak=True),
    )
    refusal = Access(public=True).refusal(jail)
    for fact in ("what was seen", "HEAL_SANDBOX", "GRADIO_SERVER_NAME", "SANDBOX_ALLOW_WEAK=1"):
        assert fact in refusal
    assert Access(public=True).warning(jail) == weak.refusal(jail) == ""
    assert "what was seen" in weak.warning(jail)
    assert Access().refusal(jail) == Access().warning(jail) == ""


@pytest.mark.parametrize("level", sorted(SAFE_FOR_PUBLIC))
def test_a_level_that_is_fit_for_strangers_is_served(level: str) -> None:
    jail = JailStatus(words="", level=level)
    for access in (Access(public=True), Access(public=True, allow_weak=True)):
        assert access.refusal(jail) == access.warning(jail) == ""


@pytest.mark.parametrize(("name", "share"), [("0.0.0.0", False), ("127.0.0.1", True)])
async def test_a_page_for_this_machine_is_not_served_to_others(name: str, share: bool) -> None:
    host = hosting(RecordedSession(lambda task: ()))
    with pytest.raises(ValueError, match=r"Access\(public=True\)"):
        serve(build(host), host, name, 1, share=share)


@pytest.mark.parametrize("wanted", ["0", "1"])
def test_a_link_is_opened_only_where_it_is_asked_for_and_makes_the_page_public(
    wanted: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    launched: list[object] = []
    seen: list[Access] = []

    class Ui:
        blocks: ClassVar[dict[int, object]] = {}

        def launch(self, **given: object) -> None:
            launched.append(given["share"])
            raise OSError("the port is taken")

    def built(host: SessionHost, **given: object) -> Ui:
        seen.append(host.access)
        return Ui()

    monkeypatch.setattr("demo.web.build", built)
    monkeypatch.setattr("signal.signal", lambda number, handler: None)
    monkeypatch.chdir(tmp_path)  # where no .env is
    for name, text in (("HEAL_SHARE", wanted), ("GRADIO_SHARE", "true")):
        monkeypatch.setenv(name, text)
    monkeypatch.delenv("GRADIO_SERVER_NAME", raising=False)

    assert app.main() == 2
    assert launched == [wanted == "1"]
    assert [one.public for one in seen] == launched


@pytest.mark.parametrize(("environment", "served"), [
    ({}, ("127.0.0.1", 7860)), ({"SPACE_ID": "owner/space"}, ("0.0.0.0", 7860)),
    ({"SPACE_ID": "owner/space", "GRADIO_SERVER_NAME": "127.0.0.1"}, ("127.0.0.1", 7860)),
    ({"GRADIO_SERVER_NAME": "10.0.0.1", "PORT": "80"}, ("10.0.0.1", 80)),
])
def test_the_page_is_served_where_it_is_asked_for(
    environment: dict[str, str], served: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SPACE_ID", "GRADIO_SERVER_NAME", "GRADIO_SERVER_PORT", "PORT"):
        monkeypatch.delenv(name, raising=False)
    for name, text in environment.items():
        monkeypatch.setenv(name, text)
    assert app.address() == served


@pytest.mark.parametrize(("client", "forwarded", "seen"), [
    ("10.16.3.80", "203.0.113.7", "203.0.113.7"),
    ("10.16.3.80", "forged, 198.51.100.1, 203.0.113.7, 10.1.1.1", "203.0.113.7"),
    ("198.51.100.1", "forged", "198.51.100.1"),
])
async def test_a_space_trusts_its_nearest_proxy(client: str, forwarded: str, seen: str) -> None:
    told: list[object] = []

    async def asked(scope: Any, _receive: object, _send: object) -> None:
        told.append(scope["client"][0])

    behind: Any = ProxyHeadersMiddleware(asked, PROXIES)
    headers = [(b"x-forwarded-for", forwarded.encode())]
    await behind({"type": "http", "client": (client, 1), "headers": headers}, None, None)
    assert told == [seen]


def test_a_taken_port_gets_advice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def taken(*_given: object, **_named: object) -> None:
        raise OSError("Cannot find empty port")

    monkeypatch.setattr("demo.web.build", lambda host, **given: None)
    monkeypatch.setattr("demo.serving.server.serve", taken)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PORT", "7861")
    assert app.main() == 2
    said = capsys.readouterr().err
    assert "127.0.0.1:7861" in said and "PORT=" in said


@pytest.mark.parametrize("starts", [True, False])
def test_a_start_waits_for_the_server(starts: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Starting:
        reloader = None
        started = False

        def run(self) -> None:
            time.sleep(0.05)
            self.started = starts

    server: Any = Starting()
    hours = count(step=3600)
    monkeypatch.setattr("time.time", lambda: next(hours))
    with nullcontext() if starts else pytest.raises(ServerFailedToStartError):
        run_in_thread(server)
    assert server.started == starts


def test_a_space_has_a_link_by_which_others_make_their_own() -> None:
    link = duplicate_link({"SPACE_ID": "owner/space"})
    assert link == "https://huggingface.co/spaces/owner/space?duplicate=true"
    assert f'<a href="{link}"' in masthead(link)
    assert duplicate_link({}) == "" and "<a " not in masthead()
