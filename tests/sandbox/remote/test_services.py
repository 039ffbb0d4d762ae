"""The backends `e2b` and `daytona`, with their own SDKs, against services on this machine.

What all remote backends have in common is tried with the contract, by `docker`.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from sandbox import Job, Limits, Sandbox, SandboxError, open_sandbox
from sandbox.contract import ECHO, GENEROUS_LIMITS, script
from sandbox.remote import link


@pytest.mark.nightly
async def test_a_job_runs_in_a_sandbox_that_is_deleted(service: Any, opened: Sandbox) -> None:
    outcome = await opened.run(script("print(input())", stdin="there"))

    assert (outcome.ended, outcome.stdout, outcome.stderr) == ("completed", "there\n", "")
    assert service.created == service.deleted == ["box0"]
    assert service.users == ["root"]


async def test_an_e2b_sandbox_is_asked_for_without_network_and_with_an_end(e2b: Any) -> None:
    await open_sandbox("e2b", e2b.settings()).run(Job("pass", limits=Limits(wall_s=7)))

    (asked,) = e2b.asked
    assert asked["templateID"] == "code-interpreter-v1"
    assert (asked["allow_internet_access"], asked["timeout"]) == (False, 127)


@pytest.mark.nightly
async def test_a_daytona_sandbox_has_no_network_and_an_end(daytona: Any) -> None:
    settings = {**daytona.settings(), "HEAL_DAYTONA_SNAPSHOT": "mine"}

    await open_sandbox("daytona", settings).run(Job("pass", limits=Limits(wall_s=7)))

    (asked,) = daytona.asked
    assert (asked["snapshot"], asked["user"]) == ("mine", "root")
    assert (asked["networkBlockAll"], asked["ttlMinutes"], asked["autoDeleteInterval"]) == (
        True, 3, 0,
    )


async def test_messages_are_answered_while_the_job_runs(service: Any, opened: Sandbox) -> None:
    large = "\u6f22\ud800" * 50_000

    async with opened.start(Job(ECHO, limits=GENEROUS_LIMITS)) as process:
        answers = []
        for value in (1, ["a", None], large):
            await process.send(value)
            answers.append(await process.receive(timeout_s=20))

    assert answers == [1, ["a", None], large]
    assert service.living == []


@pytest.mark.parametrize(
    ("status", "advice"),
    [(401, "API_KEY"), (429, "limits"), (500, "try again")],
)
async def test_a_refused_creation_says_what_to_do(
    service: Any, opened: Sandbox, status: int, advice: str
) -> None:
    service.faults["create"] = status

    with pytest.raises(SandboxError, match=advice) as caught:
        await opened.run(Job("pass"))

    assert service.created == []
    assert service.key not in _told(caught.value)


async def test_a_wrong_key_is_reported_without_it(service: Any) -> None:
    settings = {
        name: "wrong-key-987" if name.endswith("_KEY") else value
        for name, value in service.settings().items()
    }

    with pytest.raises(SandboxError, match="API_KEY") as caught:
        await open_sandbox(service.name, settings).run(Job("pass"))

    assert "wrong-key-987" not in _told(caught.value)


async def test_an_unreachable_service_is_reported(service: Any) -> None:
    settings = {
        name: value.replace(service.url, "http://127.0.0.1:1")
        for name, value in service.settings().items()
    }

    with pytest.raises(SandboxError, match="try again"):
        await open_sandbox(service.name, settings).run(Job("pass"))


@pytest.mark.parametrize("fault", ["run", "input"])
async def test_a_failed_start_deletes_the_box(service: Any, opened: Sandbox, fault: str) -> None:
    service.faults[fault] = 500

    with pytest.raises(SandboxError, match=r"could not be (started|sent)"):
        await opened.run(Job("pass"))

    assert (service.created, service.living) == (["box0"], [])


async def test_a_lost_connection_is_no_result(service: Any, opened: Sandbox) -> None:
    service.faults["drop_after"] = 20_000

    with pytest.raises(SandboxError, match="connection to the sandbox was lost"):
        await opened.run(Job("jail.send('x' * 100_000)\nwhile True: pass", limits=GENEROUS_LIMITS))

    assert (service.created, service.living) == (["box0"], [])


async def test_a_sandbox_that_says_nothing_is_given_up(
    service: Any, opened: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "_HELLO_S", 0.5)
    service.faults["silent"] = True

    with pytest.raises(SandboxError, match=r"no answer from the sandbox within 0\.5 s"):
        await opened.run(Job("pass"))

    assert service.living == []


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tried again is tried at once."""
    sleep = asyncio.sleep
    monkeypatch.setattr(asyncio, "sleep", lambda seconds: sleep(min(seconds, 0.01)))


@pytest.mark.usefixtures("impatient")
async def test_a_failed_deletion_is_tried_again(
    service: Any, opened: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.faults["delete"] = [500]

    outcome = await opened.run(Job("jail.send(1)"))

    assert outcome.messages == (1,)
    assert (service.created, service.living) == (["box0"], [])


@pytest.mark.usefixtures("impatient")
async def test_a_sandbox_that_cannot_be_deleted_is_named(service: Any, opened: Sandbox) -> None:
    service.faults["delete"] = 500

    with pytest.raises(SandboxError, match=r"box0 could not be (killed|deleted)"):
        await opened.run(Job("jail.send(1)"))


async def test_a_cancelled_job_has_no_sandbox_any_more(service: Any, opened: Sandbox) -> None:
    async def talk(heard: asyncio.Event) -> None:
        async with opened.start(Job("jail.send(1)\nwhile True: pass",
                                    limits=GENEROUS_LIMITS)) as process:
            await process.receive()
            heard.set()
            await process.receive()

    heard = asyncio.Event()
    task = asyncio.create_task(talk(heard))
    await asyncio.wait_for(heard.wait(), 60)
    task.cancel()
    await asyncio.wait([task])

    assert task.cancelled()
    assert (service.created, service.living, service.commands) == (["box0"], [], {})


async def test_a_cancelled_creation_is_deleted(service: Any, opened: Sandbox) -> None:
    service.faults["slow_create"] = 1
    task = asyncio.create_task(opened.run(Job("pass")))
    async with asyncio.timeout(60):
        while not service.asked:
            await asyncio.sleep(0.01)

    task.cancel()
    await asyncio.sleep(0.1)
    task.cancel()  # an impatient user
    await asyncio.wait([task])

    assert task.cancelled()
    assert (service.created, service.living) == (["box0"], [])


@pytest.mark.nightly
async def test_a_daytona_sandbox_that_breaks_while_it_starts_is_deleted(daytona: Any) -> None:
    daytona.faults["state"] = "error"

    with pytest.raises(SandboxError, match="no sandbox could be created"):
        await open_sandbox("daytona", daytona.settings()).run(Job("pass"))

    assert (daytona.created, daytona.living) == (["box0"], [])


async def test_the_key_stands_in_no_log_and_no_representation(
    service: Any, opened: Sandbox, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    await opened.run(Job("pass"))

    shown = [record.getMessage() for record in caplog.records]
    shown += [repr(opened), repr(vars(opened)), opened.describe()]
    assert service.key not in "\n".join(shown)


async def test_nothing_of_this_process_reaches_a_sandbox(
    service: Any, opened: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANDBOX_CANARY_KEY", "planted")

    await opened.run(Job("pass"))

    (asked,) = service.asked
    assert "planted" not in str(asked)
    assert service.key not in str(asked)


def _told(error: BaseException) -> str:
    """All that a traceback of it would show."""
    seen: list[str] = []
    while error is not None:
        seen += [str(error), repr(error), *getattr(error, "__notes__", [])]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return "\n".join(seen)
