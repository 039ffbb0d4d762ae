"""The host's end of the line, against a sandbox that says what a test wants."""

from __future__ import annotations

import asyncio
import base64
import dataclasses
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from sandbox import Job, LostItem, Outcome, SandboxError
from sandbox.contract import GENEROUS_LIMITS
from sandbox.remote import link
from sandbox.remote.backend import RemoteSandbox
from sandbox.remote.line import lines
from sandbox.remote.link import Command, SandboxRequirements


class Script(Command):
    """A host whose sandbox says these words, and then nothing."""

    name = "scripted"

    def __init__(self, *said: str, goes_on: bool = True) -> None:
        super().__init__()
        self.stderr_text = "python3: not found"
        self.send = self._dropped
        self._said = [line.encode() for words in said for line in lines(words)]
        self._goes_on = goes_on
        self.ended = 0

    def describe(self) -> str:
        return "a sandbox that says what it was told"

    @asynccontextmanager
    async def create_sandbox(self, need: SandboxRequirements) -> AsyncIterator[Command]:
        try:
            yield self
        finally:
            self.ended += 1

    async def _dropped(self, text: str) -> None:
        pass

    async def receive(self) -> bytes:
        if not self._said and self._goes_on:
            await asyncio.Event().wait()
        return self._said.pop(0) if self._said else b""


def packed(value: object) -> str:
    return base64.b64encode(json.dumps(value).encode()).decode()


def outcome(**changed: object) -> str:
    told = dataclasses.asdict(Outcome("completed", exit_code=0)) | changed
    return f"outcome {packed(told)}"


HELLO = f"hello {packed({})}"


async def run(*said: str, goes_on: bool = True) -> Outcome:
    return await RemoteSandbox(Script(HELLO, *said, goes_on=goes_on)).run(Job("",
                                                                              limits=GENEROUS_LIMITS))


async def test_an_outcome_has_the_messages_before_it() -> None:
    ended = await run(f"message {packed([1])}", outcome(stdout="out", denied=["files"]))

    assert ended == Outcome(
        "completed", messages=([1],), stdout="out", exit_code=0, denied=("files",)
    )


@pytest.mark.parametrize(
    "said",
    [
        "nonsense",
        "",
        "message no-base64",
        "message 0 " + packed(1),
        "reply x " + packed(1),
        "message " + base64.b64encode(b"{").decode(),
        "message " + base64.b64encode(b"[" * 100_000).decode(),
        "outcome " + packed(1),
        "outcome " + packed({"ended": "completed"}),
        outcome(ended="passed"),
        outcome(stdout=7),
        outcome(exit_code="0"),
        outcome(wall_s=None),
        outcome(messages=["forged"]),
        "reply 0 " + packed(1),
    ],
    ids=lambda said: said[:24],
)
async def test_what_is_no_message_is_an_error_and_no_outcome(said: str) -> None:
    with pytest.raises(SandboxError, match=r"scripted: its sandbox sent an invalid message"):
        await run(said)


async def test_a_refusal_keeps_its_words() -> None:
    with pytest.raises(SandboxError, match="scripted: <frozen runpy> is not Python"):
        await run(f"refused {packed('<frozen runpy> is not Python')}")


async def test_an_end_without_outcome_is_an_error() -> None:
    with pytest.raises(SandboxError, match=r"ended before the job did.*python3: not found"):
        await run(goes_on=False)


async def test_a_flood_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "_SPARE_BYTES", -8 * 65_000_000 + 5_000)

    with pytest.raises(SandboxError, match="scripted: its sandbox sent more than"):
        await run("message " + "A" * 100_000)


async def test_silence_past_the_deadline_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "_SILENCE_S", 0.2)
    host = Script(HELLO)
    job = Job("", limits=dataclasses.replace(GENEROUS_LIMITS, wall_s=0.1))

    with pytest.raises(SandboxError, match=r"sent nothing for 0\.2 s after its deadline"):
        await RemoteSandbox(host).run(job)

    assert host.ended == 1


async def test_a_batch_that_answers_out_of_order_is_an_error() -> None:
    host = Script(HELLO, f"reply 1 {packed('b')}", f"reply 0 {packed('a')}")

    async with RemoteSandbox(host).batch(Job("")) as batch:
        with pytest.raises(SandboxError, match="skipped a batch item"):
            [reply async for reply in batch.replies(["x", "y"], item_wall_s=1)]

    assert host.ended == 1


async def test_a_lost_item_is_returned() -> None:
    lost = LostItem("timeout", "answer time 1 s")
    host = Script(HELLO, f"lost 0 {packed(dataclasses.asdict(lost))}")

    async with RemoteSandbox(host).batch(Job("")) as batch:
        replies = [reply async for _, reply in batch.replies(["x"], item_wall_s=1)]

    assert replies == [lost]


async def test_failures_of_a_link_are_raised_once() -> None:
    async with RemoteSandbox(Script(HELLO, "nonsense")).start(Job("")) as process:
        with pytest.raises(SandboxError):
            await process.finish()

    with pytest.raises(LookupError) as caught:
        async with RemoteSandbox(Script(HELLO, "nonsense")).start(Job("")):
            await asyncio.sleep(0.05)
            raise LookupError("of the caller")

    (note,) = caught.value.__notes__
    assert note.startswith("scripted: its sandbox sent an invalid message: ")


async def test_a_bug_of_a_host_crashes_what_waits_for_it() -> None:
    class Broken(Script):
        async def receive(self) -> bytes:
            raise LookupError("a bug")

    with pytest.raises(LookupError, match="a bug"):
        await RemoteSandbox(Broken()).run(Job(""))
    with pytest.raises(LookupError, match="a bug"):
        async with RemoteSandbox(Broken()).batch(Job("")) as batch:
            [reply async for reply in batch.replies(["x"], item_wall_s=1)]


@pytest.mark.parametrize("value", [object(), {"a": object()}])
async def test_a_value_that_is_no_json_is_refused_beforehand(value: object) -> None:
    host = Script()

    with pytest.raises(SandboxError, match="JSON"):
        await RemoteSandbox(host).run(Job("", payload=value))  # type: ignore[arg-type]

    assert host.ended == 0
